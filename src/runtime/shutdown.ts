import type { EventEmitter } from "node:events";
import type { Clock } from "../domain/clock.ts";
import type { Logger } from "../domain/logger.ts";
import { settlesWithin } from "./deadline.ts";

/** One step of a shutdown. */
interface ShutdownStep {
  /** For the log, for instance `events`. */
  readonly name: string;
  /** The next step begins after this time at the latest. */
  readonly limitMs: number;
  /** Resolves to `false` when the step did not reach its goal. An error is logged. */
  readonly run: () => Promise<unknown>;
}

/** What a shutdown needs. */
interface ShutdownOptions {
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

/** How unhandled errors end a process. */
interface UnhandledErrorsOptions {
  /** The process whose unhandled errors are reported. */
  readonly emitter: Pick<EventEmitter, "on">;
  /** Writes each line before it returns, or the last one would be lost. */
  readonly logger: Logger;
  /** Ends the process as failed. */
  readonly exit: () => void;
}

/**
 * Ends the process on an unhandled error: the operator's own code has failed in an unforeseen place, so its memory may be
 * wrong. The last line of the log gives the reason; a restart reads everything else again.
 */
export function endOnUnhandledErrors({ emitter, logger, exit }: UnhandledErrorsOptions): void {
  for (const event of ["uncaughtException", "unhandledRejection"] as const) {
    emitter.on(event, (error: unknown) => {
      try {
        logger.error({ err: error, event }, "the process ends because of an unhandled error");
      } finally {
        exit();
      }
    });
  }
}
