import type { Acknowledged, ComputeEndpointStatus } from "../resource/status-schema.ts";

const firstDelayMs = 30_000;
const longestDelayMs = 60 * 60_000;

/** Two sends that never showed are enough: each may restart a database. */
const unmatchedAttemptsLimit = 2;

/**
 * Whether values that the service accepted and does not show may be sent once more: after an outside change (they had
 * matched before), after a failed operation, or as the one retry.
 */
export function mayResend(acknowledged: Acknowledged, failedActions: ComputeEndpointStatus["failedActions"]): boolean {
  const hasFailedSince = (failedActions ?? []).some(
    (failure) => Date.parse(failure.time) >= Date.parse(acknowledged.time),
  );
  return acknowledged.unmatchedAttempts < unmatchedAttemptsLimit || hasFailedSince;
}

/** Milliseconds from the last send to the next: none for a first outside change, then growing up to an hour. */
export function resendDelayMs({ attempts, unmatchedAttempts }: Acknowledged): number {
  const isFirstOutsideChange = unmatchedAttempts === 0 && attempts <= 1;
  return isFirstOutsideChange ? 0 : Math.min(firstDelayMs * 2 ** (attempts - 1), longestDelayMs);
}

/** The record after a send was accepted: a streak of sends ends after an hour of quiet. */
export function acknowledge(
  previous: Acknowledged | undefined,
  accepted: Pick<Acknowledged, "generation" | "hash" | "fields">,
  nowMs: number,
): Acknowledged {
  const isStreak = previous?.hash === accepted.hash && nowMs - Date.parse(previous.time) < 2 * longestDelayMs;
  return {
    ...accepted,
    fields: [...accepted.fields],
    attempts: (isStreak ? previous.attempts : 0) + 1,
    unmatchedAttempts: (isStreak ? previous.unmatchedAttempts : 0) + 1,
    time: new Date(nowMs).toISOString(),
  };
}
