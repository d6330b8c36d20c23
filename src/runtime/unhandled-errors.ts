import type { EventEmitter } from "node:events";
import type { Logger } from "../domain/logger.ts";

/** How unhandled errors end a process. */
export interface UnhandledErrorsOptions {
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
