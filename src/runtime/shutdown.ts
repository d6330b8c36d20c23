/** Ends the process in order: a shutdown in steps, and the end after an unhandled error. */
import type { Clock } from "../domain/clock.ts";
import type { Logger } from "../domain/logger.ts";

export interface ShutdownStep {
  readonly name: string;
  /** After this many milliseconds the next step begins, even if this one has not ended. */
  readonly limitMs: number;
  /**
   * Runs the step. It resolves to `false` if the step did not reach its goal. An error is logged.
   * @param unfinished the names of earlier steps that did not end in time or reach their goal
   */
  readonly run: (unfinished: readonly string[]) => Promise<unknown>;
}

interface ShutdownOptions {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** @returns the names of the steps that failed or did not end in time; the log has the reasons */
export async function shutDown(
  steps: readonly ShutdownStep[],
  { clock, logger }: ShutdownOptions,
): Promise<readonly string[]> {
  const unfinished: string[] = [];
  for (const { name, limitMs, run } of steps) {
    const outcome = run(unfinished).catch((error: unknown) => {
      logger.error({ step: name, err: error }, "a step of the shutdown failed");
      return false;
    });
    const isInTime = await settlesWithin(clock, limitMs, outcome);
    if (!isInTime || (await outcome) === false) {
      unfinished.push(name);
      logger.warn({ step: name, limitMs }, "a step of the shutdown did not end in time; the next step begins");
    }
  }
  return unfinished;
}

/**
 * The operator's own code has failed in an unforeseen place, so its memory may be wrong.
 * @param logger must write an error before it returns, because the process ends right after
 */
export function endOnUnhandledErrors(logger: Logger, exit: () => void): void {
  const end = (event: string) => (error: unknown) => {
    logger.error({ err: error, event }, "the process ends because of an unhandled error");
    exit();
  };
  process.on("uncaughtException", end("uncaughtException"));
  process.on("unhandledRejection", end("unhandledRejection"));
}

/** @returns true when it has settled, resolved or rejected; false when the time ran out first */
export async function settlesWithin(clock: Clock, timeoutMs: number, promise: Promise<unknown>): Promise<boolean> {
  const { promise: timeout, resolve } = Promise.withResolvers<boolean>();
  const timer = clock.after(timeoutMs, () => resolve(false));
  const settled = promise.then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([settled, timeout]);
  } finally {
    timer.cancel();
  }
}
