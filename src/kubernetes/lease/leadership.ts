import type { Clock } from "../../domain/clock.ts";
import type { LeaderFence } from "../../domain/leader-fence.ts";
import type { Logger } from "../../domain/logger.ts";
import type { KubernetesConnection } from "../http/connection.ts";
import { createLeaseClient } from "./lease-client.ts";
import { LeaseElector } from "./lease-elector.ts";
import type { LeaseTiming } from "./lease-timing.ts";

/** Leadership of this process: the leader fence, and the way to get and release the Lease. */
export interface Leadership extends LeaderFence {
  /** Starts to compete for the Lease. */
  start(): void;
  /** The result of `mayLead` may have changed. */
  nudge(): void;
  /** Closes the fence and lets the lease expire by itself, because some work may still be in progress. */
  stop(): Promise<void>;
  /**
   * Closes the fence and releases the Lease at once. No work may be in progress any more.
   *
   * @returns whether the Lease is known to be released.
   */
  release(timeoutMs: number): Promise<boolean>;
}

/** Callbacks of both kinds of leadership. */
export interface LeadershipOptions {
  /** Whether this process is able to lead: its cache is complete. */
  readonly mayLead: () => boolean;
  /** This process leads now. Called at most once. */
  readonly onLeading: () => void;
}

/** What an election needs. */
export interface ElectionOptions extends LeadershipOptions {
  /** A separate connection, so that no other call delays the Lease. */
  readonly connection: KubernetesConnection;
  readonly namespace: string;
  readonly name: string;
  /** Unique for this process. */
  readonly identity: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
  readonly longestEffectMs: number;
  /** @default 15 s, 10 s, 2 s */
  readonly timing?: LeaseTiming | undefined;
  /** This process led and does not lead any more. Called at most once. */
  readonly onLost: (why: string) => void;
}

/**
 * Leadership of one of several processes, by a Lease.
 *
 * @throws Error when the times of the lease do not cover the longest call.
 */
export function electedLeadership({ timing, ...options }: ElectionOptions): Leadership {
  const { connection, namespace, name } = options;
  return new LeaseElector({
    ...options,
    client: createLeaseClient({ connection, namespace, name }),
    ...(timing === undefined ? {} : { timing }),
  });
}

/** Leadership of the only process. With this, the user must not start a second one. */
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
