import type { Clock } from "../../domain/clock.ts";
import type { LeaderFence } from "../../domain/leader-fence.ts";
import type { Logger } from "../../domain/logger.ts";
import type { KubernetesConnection } from "../http/connection.ts";
import { createLeaseClient } from "./lease-client.ts";
import { LeaseElector } from "./lease-elector.ts";
import type { LeaseTiming } from "./lease-timing.ts";

/** Whether this process is the one that acts. */
export interface Leadership extends LeaderFence {
  /** Begins to ask for it. */
  start(): void;
  /** `mayLead` has changed. */
  nudge(): void;
  /** Gives the permit up, and what stands behind it runs out by itself: something may still be under way. */
  stop(): Promise<void>;
  /**
   * Gives the permit up and hands over at once; nothing may be under way any more. Answers whether that is known to have
   * worked.
   */
  release(timeoutMs: number): Promise<boolean>;
}

/** What both kinds of leadership need. */
export interface LeadershipOptions {
  /** Whether this process could do the work: its cache is complete. */
  readonly mayLead: () => boolean;
  /** It leads now. Called once at most. */
  readonly onLeading: () => void;
}

/** What an election needs besides. */
export interface ElectionOptions extends LeadershipOptions {
  /** Of its own. */
  readonly connection: KubernetesConnection;
  readonly namespace: string;
  readonly name: string;
  /** Of this very process. */
  readonly identity: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
  readonly longestEffectMs: number;
  /** @default 15 s, 10 s, 2 s */
  readonly timing?: LeaseTiming | undefined;
  /** It led and does not any more. Called once at most. */
  readonly onLost: (why: string) => void;
}

/**
 * Leadership of one of several processes, agreed on by a Lease.
 *
 * @throws Error when the times of the lease and the longest call do not fit each other.
 */
export function electedLeadership({ timing, ...options }: ElectionOptions): Leadership {
  const { connection, namespace, name } = options;
  return new LeaseElector({
    ...options,
    client: createLeaseClient({ connection, namespace, name }),
    ...(timing === undefined ? {} : { timing }),
  });
}

/** Leadership of a process that is the only one, as whoever starts it promises. */
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
