import type { SpanExporter } from "@opentelemetry/sdk-trace";
import type { Clock } from "../domain/clock.ts";
import type { Logger } from "../domain/logger.ts";

/** What telling about an exporter needs. */
export interface ReportingOptions {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The state of an unstable receiver is logged at most once per interval. */
const quietMs = 600_000;

/**
 * The same exporter, which tells the log when spans begin to be lost and when they arrive again: one line each, and not
 * more often than every ten minutes. The line holds an HTTP status or an error code; never a text of the receiver.
 */
export function withReports(inner: SpanExporter, { clock, logger }: ReportingOptions): SpanExporter {
  let isToldLost = false;
  let quietUntilMs = Number.NEGATIVE_INFINITY;
  const arrived = () => {
    if (isToldLost) {
      isToldLost = false;
      logger.info({}, "traces arrive again");
    }
  };
  const lost = (spans: number, error: unknown) => {
    const nowMs = clock.monotonicMs();
    if (!isToldLost && nowMs >= quietUntilMs) {
      isToldLost = true;
      quietUntilMs = nowMs + quietMs;
      logger.warn({ spans, why: codeOf(error) }, "traces are lost: their receiver does not take them");
    }
  };
  return {
    export(spans, onResult) {
      inner.export(spans, (result) => {
        if (result.error === undefined && result.code === 0) {
          arrived();
        } else {
          lost(spans.length, result.error);
        }
        onResult(result);
      });
    },
    forceFlush: () => inner.forceFlush?.() ?? Promise.resolve(),
    shutdown: () => inner.shutdown(),
  };
}

/** An HTTP status, or a code of Node; else the name of the error. */
function codeOf(error: unknown): string | number {
  const { code, name, cause } = (error ?? {}) as {
    readonly code?: unknown;
    readonly name?: unknown;
    readonly cause?: unknown;
  };
  if (typeof code === "number" || typeof code === "string") {
    return code;
  }
  return cause === undefined ? String(name ?? "unknown") : codeOf(cause);
}
