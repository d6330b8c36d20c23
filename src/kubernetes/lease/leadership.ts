/** What leadership is, and the leadership of an operator that runs alone. */
import type { LeaderFence } from "../../domain/leader-fence.ts";

/** Leadership of this process: the leader fence, and the way to get and release the Lease. */
export interface Leadership extends LeaderFence {
  /** Starts to compete for the Lease. */
  start(): void;
  /** Makes a candidate compete for the Lease at once, because the result of `mayLead` may have changed. */
  nudge(): void;
  /** Closes the fence. The lease expires by itself, because some work may still be in progress. */
  stop(): Promise<void>;
  /**
   * Closes the fence and releases the Lease at once. No work may be in progress any more.
   * @returns whether the Lease is known to be released.
   */
  release(timeoutMs: number): Promise<boolean>;
}

/** The callbacks of both kinds of leadership. */
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
