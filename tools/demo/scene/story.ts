/** The steps of the demo, and what they use. */
import type { MonitoringStack } from "../../prometheus/monitoring-stack.ts";
import type { NotifiedAlert } from "../../prometheus/webhook-receiver.ts";
import type { Computes } from "./computes.ts";
import { shop } from "./names.ts";
import type { Processes } from "./processes.ts";
import type { Shell } from "./shell.ts";

/** The monitoring that runs. If its programs are not available: why, and how to get them. */
export type Monitoring =
  | { readonly kind: "Running"; readonly stack: MonitoringStack }
  | { readonly kind: "Missing"; readonly why: string };

/** Everything that a step uses. */
export interface Story {
  readonly shell: Shell;
  readonly processes: Processes;
  readonly monitoring: Monitoring;
  readonly computes: Computes;
}

/** One step of the demo, after everything runs. */
export interface Step {
  readonly title: string;
  /**
   * Prints what the step does, does it, and waits for the expected result.
   * @returns the sentence that says what was shown, if there is one
   * @throws Error when the result does not come
   */
  readonly play: (story: Story) => Promise<string | undefined>;
}

/** Lets the clock of the sandbox jump ahead. */
export async function advanceClock({ shell }: Story, seconds: number): Promise<void> {
  await shell.do(`curl -sf --json '{"milliseconds":${seconds * 1000}}' $SANDBOX/sandbox/v1/clock/advance`);
}

/** Shows the events of a reason, as soon as there are as many as expected. */
export async function showEvents({ shell }: Story, reason: string, columns: string): Promise<void> {
  const words = `--field-selector=reason=${reason} -o=custom-columns=${columns}`;
  await shell.until(`kubectl ${shop} get events ${words}`, (output) => output.includes(reason));
}

/** Returns the alerts that the pager has received; empty without monitoring. */
export function alertsOf({ monitoring }: Story): readonly NotifiedAlert[] {
  return monitoring.kind === "Missing" ? [] : monitoring.stack.pager.alerts;
}
