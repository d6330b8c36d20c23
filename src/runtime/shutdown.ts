import type { Clock } from "../domain/clock.ts";
import type { Logger } from "../domain/logger.ts";
import { settlesWithin } from "./deadline.ts";

/** One step of a shutdown. */
export interface ShutdownStep {
  /** For the log, for instance `events`. */
  readonly name: string;
  /** The next step begins after this time at the latest. */
  readonly limitMs: number;
  /** Resolves to `false` when the step did not reach its goal. An error is logged. */
  readonly run: () => Promise<unknown>;
}

/** What a shutdown needs. */
export interface ShutdownOptions {
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Runs the steps in their order, each within its time limit. The whole takes at most the sum of the limits.
 *
 * @returns the names of the steps that failed or did not end in time; the log has the reasons.
 */
export async function shutDown(
  steps: readonly ShutdownStep[],
  { clock, logger }: ShutdownOptions,
): Promise<readonly string[]> {
  const unfinished: string[] = [];
  for (const { name, limitMs, run } of steps) {
    let isDone = false;
    const outcome = run().then(
      (answer) => {
        isDone = answer !== false;
      },
      (error: unknown) => logger.error({ step: name, err: error }, "a step of the shutdown failed"),
    );
    await settlesWithin(clock, limitMs, outcome);
    if (!isDone) {
      unfinished.push(name);
      logger.warn({ step: name, limitMs }, "a step of the shutdown was not finished");
    }
  }
  return unfinished;
}
