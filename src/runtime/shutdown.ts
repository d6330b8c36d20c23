import type { Clock } from "../domain/clock.ts";
import type { Logger } from "../domain/logger.ts";
import { settlesWithin } from "./deadline.ts";

/** One step of a shutdown. */
export interface ShutdownStep {
  /** For the log, for instance `passes`. */
  readonly name: string;
  /** The next step begins after so long at the latest. */
  readonly limitMs: number;
  /** Answers `false` when it did not get done what it should. What it throws is logged. */
  readonly run: () => Promise<unknown>;
}

/** What a shutdown works with. */
export interface ShutdownOptions {
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Takes the steps in their order, each for its time at most, so that the whole is over when their times are.
 *
 * @returns the names of those that did not end well in their time; the log says which and why.
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
