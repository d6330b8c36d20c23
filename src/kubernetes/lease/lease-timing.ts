/** The times of a Lease, in milliseconds. */
export interface LeaseTiming {
  /** A renewal counts for so long from the moment it was sent. */
  readonly durationMs: number;
  /** A leader that could not renew for so long gives up, well before another may take over. */
  readonly renewDeadlineMs: number;
  /** Between two renewals, and between two looks of a standby. */
  readonly retryPeriodMs: number;
}

/** What production uses. */
export const defaultLeaseTiming: LeaseTiming = { durationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 };

/** Pauses are up to so much longer, so that standbys do not look all at once. */
export const retryJitter = 0.2;

/**
 * Checks the times against each other and against the longest call that must end within the lease.
 *
 * @throws Error that says which two do not fit.
 */
export function checkLeaseTiming(timing: LeaseTiming, longestEffectMs: number): void {
  const { durationMs, renewDeadlineMs, retryPeriodMs } = timing;
  const mustHold: readonly (readonly [isSo: boolean, rule: string])[] = [
    [retryPeriodMs > 0, "the retry period must be longer than nothing"],
    [retryPeriodMs * (1 + retryJitter) * 2 <= renewDeadlineMs, "the renew deadline must leave room for two renewals"],
    [renewDeadlineMs < durationMs, "the renew deadline must be shorter than the lease"],
    [
      // One renewal may fail without a pause in the work.
      longestEffectMs + retryPeriodMs * (1 + retryJitter) * 2 <= durationMs,
      "the lease must cover the longest call and two retry periods",
    ],
  ];
  const broken = mustHold.filter(([isSo]) => !isSo).map(([, rule]) => rule);
  if (broken.length > 0) {
    const given = `lease ${durationMs} ms, renew deadline ${renewDeadlineMs} ms, retry period ${retryPeriodMs} ms`;
    throw new Error(`${given}, longest call ${longestEffectMs} ms: ${broken.join("; ")}`);
  }
}

/** One call to the API server: three of them in vain fit between the last good renewal and the deadline. */
export function leaseCallTimeoutMs({ renewDeadlineMs, retryPeriodMs }: LeaseTiming): number {
  return Math.max(retryPeriodMs, (renewDeadlineMs - retryPeriodMs) / 3);
}
