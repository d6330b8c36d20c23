/** The times of a Lease, in milliseconds. */
export interface LeaseTiming {
  /** How long a renewal counts, from the moment it was sent. */
  readonly durationMs: number;
  /** A leader stops after this time without a renewal, well before another process may take over. */
  readonly renewDeadlineMs: number;
  /** The interval between two renewals, and between two reads of a standby. */
  readonly retryPeriodMs: number;
}

/** The times in production. */
export const defaultLeaseTiming: LeaseTiming = { durationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 };

/** Pauses are longer by up to this factor, so that standbys do not read all at once. */
export const retryJitter = 0.2;

/**
 * Checks the times against each other and against the longest call that must end within the lease.
 *
 * @throws Error that names the rules that do not hold.
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

/** The timeout of one call: three failed calls fit between the last good renewal and the deadline. */
export function leaseCallTimeoutMs({ renewDeadlineMs, retryPeriodMs }: LeaseTiming): number {
  return Math.max(retryPeriodMs, (renewDeadlineMs - retryPeriodMs) / 3);
}
