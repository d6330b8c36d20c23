import type { Clock } from "../../domain/clock.ts";
import type { Logger } from "../../domain/logger.ts";
import type { StoredLease } from "./lease-client.ts";

/** How a sighting is made. */
export interface ObservedLeaseOptions {
  readonly identity: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** A lease counts at least for so long, whatever it says itself. */
  readonly leastMs: number;
}

/** What a candidate has seen of the Lease, and since when it has not changed. */
export class ObservedLease {
  readonly #options: ObservedLeaseOptions;
  #seen: { readonly lease: StoredLease; readonly sinceMs: number } | undefined;

  constructor(options: ObservedLeaseOptions) {
    this.#options = options;
  }

  /**
   * Takes note of what was read just now, and tells whether it may be taken over.
   *
   * A Lease that is gone counts as it was last seen: whoever held it does not know yet, and goes on acting.
   */
  isFree(found: StoredLease | undefined): boolean {
    if (found !== undefined) {
      this.#note(found);
    }
    const runsOutAtMs = this.runsOutAtMs();
    return runsOutAtMs === undefined || runsOutAtMs <= this.#options.clock.monotonicMs();
  }

  /** When the lease of its holder has run out, in monotonic milliseconds; `undefined` when nobody else holds it. */
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
