/** The steps of the demo, and what they use. */
import type { MonitoringStack } from "../../prometheus/monitoring-stack.ts";
import type { NotifiedAlert } from "../../prometheus/webhook-receiver.ts";
import { inNamespace } from "./names.ts";
import type { Processes } from "./processes.ts";
import { Shell, shellWords } from "./shell.ts";

/** A request that the demo shows and sends to the sandbox. */
export interface SandboxRequest {
  readonly method: "GET" | "POST";
  /** The path below the sandbox's origin. */
  readonly path: string;
  /** The body, sent as JSON. */
  readonly body?: object;
}

/** The shell variable that holds the API key in commands for people. */
export const keyVariable = "SANDBOX_KEY";

/** The alert that the demo shows. */
const failedAlert = "ComputeEndpointOperationFailed";

/** The API needs the key. The control API below `/sandbox` does not. */
const needsKey = (path: string) => path.startsWith("/api/");

/** Returns the request as the words of a curl command. Origin and key are shell variables. */
export function curlWords({ method, path, body }: SandboxRequest): readonly string[] {
  return [
    ...["curl", "-s"],
    ...(method === "POST" && body === undefined ? ["-X", "POST"] : []),
    ...(needsKey(path) ? ["-H", `"Authorization: Bearer $${keyVariable}"`] : []),
    ...(body === undefined ? [] : shellWords(["--json", JSON.stringify(body)])),
    path.includes("?") ? `"$SANDBOX${path}"` : `$SANDBOX${path}`,
  ];
}

/** The addresses of the running sandbox. */
export interface SandboxAddress {
  /** The URL without a path. */
  readonly origin: string;
  readonly apiKey: string;
  /** The port of the databases; `undefined`: no database servers run. */
  readonly databasePort: string | undefined;
}

/** The monitoring that runs. If its programs are not available: why, and how to get them. */
export type Monitoring =
  | { readonly kind: "Running"; readonly stack: MonitoringStack }
  | { readonly kind: "Missing"; readonly why: string };

/** The programs and addresses after the first step. */
export interface Stage {
  readonly processes: Processes;
  readonly sandbox: SandboxAddress;
  readonly kubeconfigFile: string;
  /** The URL of the operator's metrics page. */
  readonly metricsUrl: string;
  readonly monitoring: Monitoring;
}

/** Everything that a step uses. */
export class Story extends Shell {
  readonly stage: Stage;

  constructor(shell: Shell, stage: Stage) {
    super(shell);
    this.stage = stage;
  }

  /** Shows a curl command, and makes the same request to the sandbox. @returns the answer */
  async curl<Answer = unknown>({ method, path, body }: SandboxRequest): Promise<Answer> {
    this.terminal.command(curlWords({ method, path, ...(body && { body }) }));
    const { origin, apiKey } = this.stage.sandbox;
    const headers = {
      ...(needsKey(path) && { authorization: `Bearer ${apiKey}` }),
      ...(body && { "content-type": "application/json" }),
    };
    const sent = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const response = await fetch(`${origin}${path}`, { ...sent, signal: AbortSignal.timeout(10_000) });
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as Answer;
  }

  /** Lets the clock of the sandbox jump ahead. */
  async advanceClock(seconds: number): Promise<void> {
    await this.curl({ method: "POST", path: "/sandbox/v1/clock/advance", body: { milliseconds: seconds * 1000 } });
  }

  /** Shows the events of a reason, as soon as there are some, or as many as expected. */
  async events(reason: string, columns: string, count = 1): Promise<void> {
    const words = ["get", "events", `--field-selector=reason=${reason}`, `-o=custom-columns=${columns}`];
    await this.kubectlUntil(inNamespace(...words), (output) => output.split(reason).length > count);
  }

  /** Shows the lines of the metrics page that match a pattern, as soon as they are as expected. */
  async metrics(pattern: string, isWanted: (lines: readonly string[]) => boolean): Promise<void> {
    const linesOf = (page: string) => page.split("\n").filter((line) => new RegExp(pattern).test(line));
    const look = async () => {
      const answer = await fetch(this.stage.metricsUrl, { signal: AbortSignal.timeout(10_000) });
      return linesOf(await answer.text()).join("\n");
    };
    this.terminal.command(["curl", "-s", "$METRICS", "|", "grep", `'${pattern}'`]);
    await this.quoteWhen(pattern, look, (found) => isWanted(linesOf(found)));
  }

  /** The alerts that the pager has received; empty without monitoring. */
  get alerts(): readonly NotifiedAlert[] {
    const { monitoring } = this.stage;
    return monitoring.kind === "Missing" ? [] : monitoring.stack.pager.alerts;
  }

  /** Waits until the pager has received the alert about the failed operation, or its end, if there is monitoring. */
  async untilPaged(status: NotifiedAlert["status"]): Promise<void> {
    if (this.stage.monitoring.kind === "Missing") return;
    const isWanted = ({ labels, ...alert }: NotifiedAlert) =>
      labels.alertname === failedAlert && alert.status === status;
    await this.waitFor(`the pager hears of ${failedAlert}, ${status}`, () => this.alerts.some(isWanted) || undefined);
  }
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
