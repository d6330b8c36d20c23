import { backoffMs } from "../domain/backoff.ts";
import type { Acknowledged } from "../resource/status-schema.ts";

const firstDelayMs = 30_000;
const longestDelayMs = 60 * 60_000;

/**
 * The maximum number of requests without a visible effect. Each request may restart a database, so the operator stops
 * after two.
 */
const unmatchedAttemptsLimit = 2;

/**
 * Whether the operator may send the accepted values again although the control plane shows others. It may do so once as
 * a retry, after another client changed the endpoint, or after an operation of the last request failed.
 */
export function mayResend(acknowledged: Acknowledged, failedIds: ReadonlySet<string>): boolean {
  const hasFailed = (acknowledged.operationIds ?? []).some((id) => failedIds.has(id));
  return acknowledged.unmatchedAttempts < unmatchedAttemptsLimit || hasFailed;
}

/**
 * Returns the milliseconds until the values may be sent again: 0 after the first change by another client, then growing
 * to one hour.
 * @param sentAgoMs milliseconds since the last request, as far as this process knows. A wrong clock makes the wait no
 *   longer than the delay.
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

/**
 * Returns the acknowledged record after a request was accepted. Requests with the same values are counted together.
 * @param nowMs epoch milliseconds
 */
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
