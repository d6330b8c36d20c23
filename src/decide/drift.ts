import { backoffMs } from "../domain/backoff.ts";
import type { Acknowledged } from "../resource/status-schema.ts";

const firstDelayMs = 30_000;
const longestDelayMs = 60 * 60_000;

/** Two requests that had no visible effect are enough: each may restart a database. */
const unmatchedAttemptsLimit = 2;

/**
 * Whether the operator may send accepted values that the control plane does not show once more: as the one retry, after
 * an outside change (the values had matched before), or after an operation of the last request failed.
 */
export function mayResend(acknowledged: Acknowledged, failedIds: ReadonlySet<string>): boolean {
  const hasFailed = (acknowledged.operationIds ?? []).some((id) => failedIds.has(id));
  return acknowledged.unmatchedAttempts < unmatchedAttemptsLimit || hasFailed;
}

/**
 * Milliseconds until the values may be sent again: none after a first outside change, then growing to an hour.
 *
 * @param sentAgoMs since the last request, as far as this process can tell; a wrong clock makes the wait no longer than
 * the delay.
 */
export function resendWaitMs({ attempts, unmatchedAttempts }: Acknowledged, sentAgoMs: number): number {
  const isFirstOutsideChange = unmatchedAttempts === 0 && attempts <= 1;
  const delayMs = isFirstOutsideChange ? 0 : backoffMs(attempts, { firstMs: firstDelayMs, longestMs: longestDelayMs });
  return Math.min(delayMs, delayMs - sentAgoMs);
}

/** A request that the control plane accepted. */
export type AcceptedRequest = Pick<Acknowledged, "generation" | "hash" | "fields"> & {
  readonly operationIds: readonly string[];
};

/** The record after a request was accepted. Requests with the same values form a row. @param nowMs epoch milliseconds */
export function acknowledge(
  previous: Acknowledged | undefined,
  accepted: AcceptedRequest,
  nowMs: number,
): Acknowledged {
  const row = previous?.hash === accepted.hash ? previous : { attempts: 0, unmatchedAttempts: 0 };
  return {
    ...accepted,
    fields: [...accepted.fields],
    attempts: row.attempts + 1,
    unmatchedAttempts: row.unmatchedAttempts + 1,
    time: new Date(nowMs).toISOString(),
    operationIds: [...accepted.operationIds],
  };
}
