/** The interface of leader election, the leadership of an operator that runs alone, and the times of a Lease. */
import type { Clock } from "../../domain/clock.ts";
import type { LeaderFence } from "../../domain/leader-fence.ts";
import type { Logger } from "../../domain/logger.ts";
import type { StoredLease } from "./lease-client.ts";

export interface Leadership extends LeaderFence {
  start(): void;
  /** Makes a candidate compete for the Lease at once, because the result of `mayLead` may have changed. */
  nudge(): void;
  /** Closes the fence. Work may still be in progress, so the Lease is not released: it expires by itself. */
  stop(): Promise<void>;
  /**
   * Closes the fence and releases the Lease at once. No work may be in progress any more.
   * @returns `true`: the Lease is released, or was lost or never held before. `false`: the release failed, so the Lease
   *   may still name this process until it expires.
   */
  release(timeoutMs: number): Promise<boolean>;
}

export interface LeadershipOptions {
  /** Whether this process is able to lead: its cache is complete. */
  readonly mayLead: () => boolean;
  /** Called when this process becomes the leader, at most once. */
  readonly onLeading: () => void;
}

/** Makes the leadership of the only process. The user must not start a second one. */
export function soleLeadership({ mayLead, onLeading }: LeadershipOptions): Leadership {
  let state: "New" | "Waiting" | "Leading" | "Over" = "New";
  const lead = () => {
    if (state === "Waiting" && mayLead()) {
      state = "Leading";
      onLeading();
    }
  };
  return {
    mayStartEffect: () => state === "Leading",
    start() {
      state = state === "New" ? "Waiting" : state;
      lead();
    },
    nudge: lead,
    async stop() {
      state = "Over";
    },
    async release() {
      state = "Over";
      return true;
    },
  };
}

export interface LeaseTiming {
  /** How long a renewal counts after it was sent. */
  readonly durationMs: number;
  /** A leader stops leading after this time without a renewal, well before another process may take over. */
  readonly renewDeadlineMs: number;
  /** The interval between two renewals, and between two reads of a standby. */
  readonly retryPeriodMs: number;
}

export const defaultLeaseTiming: LeaseTiming = { durationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 };

/**
 * Each pause between two attempts is longer by a random part of the retry period, at most by this share, so that
 * standbys do not read at the same time.
 */
export const retryJitter = 0.2;

/** Checks the times against each other and the longest call. @throws Error */
export function checkLeaseTiming(timing: LeaseTiming, longestEffectMs: number): void {
  const { durationMs, renewDeadlineMs, retryPeriodMs } = timing;
  const twoRetriesMs = retryPeriodMs * (1 + retryJitter) * 2;
  // If one renewal fails, the work must go on without an interruption.
  const isLongEnough = longestEffectMs + twoRetriesMs <= durationMs;
  if (retryPeriodMs <= 0 || twoRetriesMs > renewDeadlineMs || renewDeadlineMs >= durationMs || !isLongEnough) {
    throw new Error(
      `lease ${durationMs} ms, renew deadline ${renewDeadlineMs} ms, retry period ${retryPeriodMs} ms and the longest call ${longestEffectMs} ms do not fit together`,
    );
  }
}

/**
 * Returns the time limit of one call, in milliseconds: at least one retry period. With the times of production, three
 * failed calls fit between the last successful renewal and the renew deadline.
 */
export function leaseCallTimeoutMs({ renewDeadlineMs, retryPeriodMs }: LeaseTiming): number {
  return Math.max(retryPeriodMs, (renewDeadlineMs - retryPeriodMs) / 3);
}

interface ObservedLeaseOptions {
  readonly identity: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The shortest duration that a lease is assumed to have, in milliseconds, whatever the Lease contains. */
  readonly leastMs: number;
}

export class ObservedLease {
  readonly #options: ObservedLeaseOptions;
  #seen: { readonly lease: StoredLease; readonly sinceMs: number } | undefined;

  constructor(options: ObservedLeaseOptions) {
    this.#options = options;
  }

  /**
   * Records the Lease that was just read. If the Lease was deleted, the last read one still counts: its holder may not
   * know of the deletion, and may still act.
   * @returns whether this process may take the Lease: no other process holds it, or the other's lease has expired.
   */
  isFree(found: StoredLease | undefined): boolean {
    if (found !== undefined) {
      this.#note(found);
    }
    const runsOutAtMs = this.runsOutAtMs();
    return runsOutAtMs === undefined || runsOutAtMs <= this.#options.clock.monotonicMs();
  }

  /** In monotonic milliseconds; `undefined`: no other process holds the Lease. */
  runsOutAtMs(): number | undefined {
    const { identity, leastMs } = this.#options;
    const seen = this.#seen;
    if (seen === undefined || seen.lease.holder === "" || seen.lease.holder === identity) {
      return undefined;
    }
    return seen.sinceMs + Math.max(leastMs, seen.lease.durationMs);
  }

  #note(found: StoredLease): void {
    const before = this.#seen?.lease;
    if (before?.uid === found.uid && before.resourceVersion === found.resourceVersion) {
      return;
    }
    const { clock, logger, identity } = this.#options;
    this.#seen = { lease: found, sinceMs: clock.monotonicMs() };
    if (before?.holder !== found.holder && found.holder !== "" && found.holder !== identity) {
      logger.info({ identity, holder: found.holder }, "standing by");
    }
  }
}
