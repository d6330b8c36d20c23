/** The interface of leader election, the leadership of an operator that runs alone, and the times of a Lease. */
import type { LeaderFence } from "../../domain/leader-fence.ts";

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
  readonly onLeading: () => void;
}

/** Makes the leadership of the only process. The user must not start a second one. */
export function soleLeadership({ mayLead, onLeading }: LeadershipOptions): Leadership {
  let state: "Waiting" | "Leading" | "Over" = "Waiting";
  const lead = () => {
    if (state === "Waiting" && mayLead()) {
      state = "Leading";
      onLeading();
    }
  };
  const stop = async () => {
    state = "Over";
  };
  const release = () => stop().then(() => true);
  return { mayStartEffect: () => state === "Leading", start: lead, nudge: lead, stop, release };
}

/** Times in milliseconds. */
export const leaseTiming = {
  /** How long a renewal counts after it was sent. */
  durationMs: 15_000,
  /** A leader stops leading after this time without a renewal, well before another process may take over. */
  renewDeadlineMs: 10_000,
  /** The interval between two renewals, and between two reads of a standby. */
  retryPeriodMs: 2_000,
} as const;
