import type { Clock } from "../../domain/clock.ts";
import type { Logger } from "../../domain/logger.ts";
import type { StoredLease } from "./lease-client.ts";

/** What the record of a Lease needs. */
export interface ObservedLeaseOptions {
  readonly identity: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The minimum duration of a lease, whatever duration the Lease contains. */
  readonly leastMs: number;
}

/** The observed record of the Lease: what a candidate read last, and when it saw the last change. */
export class ObservedLease {
  readonly #options: ObservedLeaseOptions;
  #seen: { readonly lease: StoredLease; readonly sinceMs: number } | undefined;

  constructor(options: ObservedLeaseOptions) {
    this.#options = options;
  }

  /**
   * Records what was read just now.
   *
   * A Lease that is gone counts as it was last read: its holder may not know yet, and may still act.
   *
   * @returns whether this process may take the Lease.
   */
  isFree(found: StoredLease | undefined): boolean {
    if (found !== undefined) {
      this.#note(found);
    }
    const runsOutAtMs = this.runsOutAtMs();
    return runsOutAtMs === undefined || runsOutAtMs <= this.#options.clock.monotonicMs();
  }

  /** When the lease of another holder expires, in monotonic milliseconds; `undefined` when no other process holds it. */
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
