import type { Clock } from "../../domain/clock.ts";
import type { LeaderFence } from "../../domain/leader-fence.ts";
import type { Logger } from "../../domain/logger.ts";
import { KubernetesError } from "../../domain/resource-store.ts";
import { pause } from "../../http/call-deadline.ts";
import type { LeaseCallBounds, LeaseClient, StoredLease } from "./lease-client.ts";

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

/** Times in milliseconds. */
const leaseTiming = {
  /** How long a renewal counts after it was sent. */
  durationMs: 15_000,
  /** A leader stops leading after this time without a renewal, well before another process may take over. */
  renewDeadlineMs: 10_000,
  /** The interval between two renewals, and between two reads of a standby. */
  retryPeriodMs: 2_000,
} as const;

interface LeaseElectorOptions extends LeadershipOptions {
  readonly client: LeaseClient;
  /** A name that is unique for this process. A restarted process has another one. */
  readonly identity: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when this process loses the leadership without a stop, at most once. This process never leads again. */
  readonly onLost: (why: string) => void;
}

type State = "Candidate" | "Leader" | "Lost" | "Stopped";

/**
 * Competes with other processes for one Lease, and leads while it holds the Lease.
 * Guarantees: the fence is open only while a successful renewal was sent less than the lease's duration ago. It allows
 * only calls that end before that duration is over. Only the monotonic clock of this process counts. The lease of
 * another process has expired when this process saw it unchanged for its whole duration, and at least for `durationMs`.
 * Each attempt reads the Lease first, so a renewal whose answer is lost counts neither as success nor as loss.
 * Assumption: the monotonic clocks of two machines differ in rate by at most a few parts in a thousand.
 */
export class LeaseElector implements Leadership {
  readonly #options: LeaseElectorOptions;
  readonly #stopping = new AbortController();
  /** The last Lease that was read, and since when this process has seen it unchanged. */
  #seen: { readonly lease: StoredLease; readonly sinceMs: number } | undefined;
  #state: State = "Candidate";
  #running: Promise<void> | undefined;
  #interrupt = new AbortController();
  /** When our last successful write was sent, in monotonic milliseconds. */
  #renewedAtMs = Number.NEGATIVE_INFINITY;
  #mayHold = false;
  #problem = "";

  constructor(options: LeaseElectorOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  mayStartEffect(timeoutMs: number): boolean {
    const leftMs = this.#renewedAtMs + leaseTiming.durationMs - this.#nowMs();
    return this.#state === "Leader" && leftMs > 0 && timeoutMs <= leftMs;
  }

  nudge(): void {
    if (this.#state === "Candidate") {
      this.#interrupt.abort();
    }
  }

  async stop(): Promise<void> {
    this.#state = this.#state === "Lost" ? "Lost" : "Stopped";
    this.#stopping.abort();
    await this.#running;
  }

  async release(timeoutMs: number): Promise<boolean> {
    const dueMs = this.#nowMs() + timeoutMs;
    await this.stop();
    if (!this.#mayHold || this.#state === "Lost") {
      return true;
    }
    const { client, logger, identity, clock } = this.#options;
    const bounds = (): LeaseCallBounds => ({ timeoutMs: Math.max(1, dueMs - this.#nowMs()) });
    try {
      const found = await client.read(bounds());
      if (found?.holder === identity) {
        const claim = { holder: "", durationMs: 1_000, transitions: found.transitions, renewTimeMs: clock.nowMs() };
        await client.write({ ...claim, acquireTimeMs: undefined }, found, bounds());
      }
      logger.info({ identity }, "lease released");
      return true;
    } catch (error) {
      logger.warn({ identity, err: error }, "the lease could not be released; it expires by itself");
      return false;
    }
  }

  async #run(): Promise<void> {
    while (this.#state === "Candidate" || this.#state === "Leader") {
      const startedMs = this.#nowMs();
      if (this.#state === "Leader" && this.#deadlineInMs() <= 0) {
        this.#lose(`the lease could not be renewed for ${leaseTiming.renewDeadlineMs} ms`);
        return;
      }
      try {
        await this.#attempt();
        this.#problem = "";
      } catch (error) {
        this.#note(error);
      }
      await this.#pause(startedMs);
    }
  }

  /**
   * Reads the Lease, and takes or renews it if no other process holds it. The Lease may have changed by a renewal of ours
   * whose answer was lost. @throws KubernetesError
   */
  async #attempt(): Promise<void> {
    const { client, mayLead, onLeading, identity, logger } = this.#options;
    const found = await client.read(this.#bounds());
    this.#see(found);
    const runsOutAtMs = this.#runsOutAtMs();
    const isFree = runsOutAtMs === undefined || runsOutAtMs <= this.#nowMs();
    if (this.#state === "Leader" && found !== undefined && found.holder !== "" && found.holder !== identity) {
      this.#lose(`the lease is held by ${found.holder}`);
    }
    const mayWrite = this.#state === "Leader" || (this.#state === "Candidate" && isFree && mayLead());
    if (!mayWrite || this.#stopping.signal.aborted) {
      return;
    }
    await this.#write(found);
    // If the process was paused during the write, the renewal may be too old to lead. The next attempt finds that this
    // process holds the Lease, and renews it.
    if (this.#deadlineInMs() > 0 && this.#state === "Candidate") {
      this.#state = "Leader";
      logger.info({ identity, transitions: found?.transitions }, "leading");
      onLeading();
    }
  }

  /** If the Lease was deleted, the last one still counts: its holder may not know of the deletion, and may still act. */
  #see(found: StoredLease | undefined): void {
    const before = this.#seen?.lease;
    if (found === undefined || (before?.uid === found.uid && before.resourceVersion === found.resourceVersion)) {
      return;
    }
    const { logger, identity } = this.#options;
    this.#seen = { lease: found, sinceMs: this.#nowMs() };
    if (before?.holder !== found.holder && found.holder !== "" && found.holder !== identity) {
      logger.info({ identity, holder: found.holder }, "standing by");
    }
  }

  /** In monotonic milliseconds; `undefined`: no other process holds the Lease. */
  #runsOutAtMs(): number | undefined {
    const { holder, durationMs } = this.#seen?.lease ?? { holder: "", durationMs: 0 };
    return holder === "" || holder === this.#options.identity
      ? undefined
      : (this.#seen?.sinceMs ?? 0) + Math.max(leaseTiming.durationMs, durationMs);
  }

  async #write(over: StoredLease | undefined): Promise<void> {
    const { client, identity, clock } = this.#options;
    const sentMs = this.#nowMs();
    const renewTimeMs = clock.nowMs();
    const isNewHolder = over !== undefined && over.holder !== identity;
    const claim = {
      holder: identity,
      durationMs: leaseTiming.durationMs,
      transitions: (over?.transitions ?? 0) + (isNewHolder ? 1 : 0),
      renewTimeMs,
      acquireTimeMs: this.#state === "Leader" ? undefined : renewTimeMs,
    };
    this.#mayHold = true;
    await client.write(claim, over, this.#bounds());
    this.#renewedAtMs = sentMs;
  }

  #lose(why: string): void {
    if (this.#state === "Leader") {
      this.#state = "Lost";
      this.#options.onLost(why);
    }
  }

  /**
   * Logs a failure unless its message equals the last one, because a lasting failure would be logged every two seconds.
   * A conflict is not logged, because it only means that another process wrote first.
   */
  #note(error: unknown): void {
    const problem = error instanceof Error ? error.message : String(error);
    const isRace = error instanceof KubernetesError && error.reason === "Conflict";
    if (problem !== this.#problem && !this.#stopping.signal.aborted && !isRace) {
      this.#problem = problem;
      this.#options.logger.warn(
        { identity: this.#options.identity, err: error },
        "the lease was not taken or renewed, will try again",
      );
    }
  }

  async #pause(startedMs: number): Promise<void> {
    this.#interrupt = new AbortController();
    if (this.#state !== "Lost") {
      const delayMs = Math.max(0, this.#nextAttemptMs(startedMs) - this.#nowMs());
      await pause(this.#options.clock, delayMs, [this.#stopping.signal, this.#interrupt.signal]);
    }
  }

  #nextAttemptMs(startedMs: number): number {
    const regularMs = startedMs + leaseTiming.retryPeriodMs;
    if (this.#state === "Leader") {
      return Math.min(regularMs, this.#nowMs() + this.#deadlineInMs());
    }
    const runsOutMs = this.#runsOutAtMs();
    return runsOutMs !== undefined && runsOutMs > this.#nowMs() ? Math.min(regularMs, runsOutMs) : regularMs;
  }

  #deadlineInMs(): number {
    return this.#renewedAtMs + leaseTiming.renewDeadlineMs - this.#nowMs();
  }

  /** Returns the limits of the next call. A call of a leader ends at the renew deadline at the latest. */
  #bounds(): LeaseCallBounds {
    const { renewDeadlineMs, retryPeriodMs } = leaseTiming;
    // Three failed calls fit between the last successful renewal and the renew deadline.
    const callMs = Math.max(retryPeriodMs, (renewDeadlineMs - retryPeriodMs) / 3);
    const timeoutMs = this.#state === "Leader" ? Math.max(1, Math.min(callMs, this.#deadlineInMs())) : callMs;
    return { timeoutMs, signal: this.#stopping.signal };
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }
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
