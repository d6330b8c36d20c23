/** Computes when a failed call is tried again. */
import { backoffMs } from "../domain/backoff.ts";
import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import { patienceMs } from "./failure-reasons.ts";
import type { FailureRow, Policy } from "./resource-memory.ts";

const longestBackoffMs = 60_000;

/**
 * Returns the time until a failed call is tried again. Only this function turns a failure reason into a delay.
 * @param row `count` failures, the first one `forMs` milliseconds ago; `needsPerson`: a 409 that lasts until a person
 *   acts.
 * @returns milliseconds, without jitter.
 */
export function retryDelayMs(
  error: ControlPlaneError,
  row: { readonly count: number; readonly forMs: number; readonly needsPerson: boolean },
  policy: Policy,
): number {
  const delayFrom = (firstMs: number) => backoffMs(row.count, { firstMs, longestMs: longestBackoffMs });
  const isPatienceOver = row.forMs >= patienceMs;
  switch (error.reason) {
    case "Locked":
      return isPatienceOver ? longestBackoffMs : Math.min(policy.operationPollMs, delayFrom(250));
    case "Forbidden":
    case "Malformed":
      return policy.resyncMs;
    case "Conflict":
      return row.needsPerson || isPatienceOver ? policy.resyncMs : delayFrom(1_000);
    case "NotFound":
    case "Rejected":
      return isPatienceOver ? policy.resyncMs : delayFrom(5_000);
    case "Unauthorized":
      return delayFrom(2_000);
    default:
      return Math.max(error.retryAfterMs ?? 0, delayFrom(1_000));
  }
}

/** Adds one failure to a series. A failure with another reason or generation starts a new series. */
export function nextRow(
  previous: Pick<FailureRow, "error" | "generation" | "sinceMs" | "count"> | undefined,
  latest: { readonly error: ControlPlaneError; readonly generation: number; readonly nowMs: number },
): Pick<FailureRow, "error" | "generation" | "sinceMs" | "count"> {
  const isSameRow = previous?.error.reason === latest.error.reason && previous.generation === latest.generation;
  return {
    error: latest.error,
    generation: latest.generation,
    sinceMs: isSameRow ? previous.sinceMs : latest.nowMs,
    count: isSameRow ? previous.count + 1 : 1,
  };
}
