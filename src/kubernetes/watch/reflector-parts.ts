import { backoffMs, withJitter } from "../../domain/backoff.ts";
import type { Clock, Timer } from "../../domain/clock.ts";
import type { Logger } from "../../domain/logger.ts";
import type { ListWatch } from "./list-watch.ts";
import type { CacheScope } from "./resource-cache.ts";

/** How a reflector is made. */
export interface ReflectorOptions<Resource> {
  readonly listWatch: ListWatch;
  readonly scope: CacheScope<Resource>;
  /** Returns `undefined` for an object that cannot be used; it is left out. Must not throw. */
  readonly parse: (stored: unknown) => Resource | undefined;
  /** Called when a complete list is in the cache. Must not throw. @default nothing is called */
  readonly onList?: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Uniform in [0, 1). @default Math.random */
  readonly random?: () => number;
  readonly timing?: Partial<ReflectorTiming>;
}

/** The times and limits of a reflector; times in milliseconds. */
export interface ReflectorTiming {
  /** Objects on a page of a list. */
  readonly pageLimit: number;
  /** The timeout of one page. */
  readonly pageTimeoutMs: number;
  /** The timeout until the headers of a watch arrive. */
  readonly openTimeoutMs: number;
  /** A watch without a byte for this long counts as dead. Bookmarks come about every minute. */
  readonly inactivityMs: number;
  /** The server closes a watch after a random time between these two. */
  readonly minWatchMs: number;
  readonly maxWatchMs: number;
  /** The interval after which everything is listed again, in case events were lost. */
  readonly relistMs: number;
  /** A watch that ends sooner counts as a failure, and the next attempt waits. */
  readonly shortWatchMs: number;
}

/** The reflector at one moment. */
export interface ReflectorStats {
  /** Whether the first list is in the cache. */
  readonly hasSynced: boolean;
  readonly isWatching: boolean;
  /** Milliseconds since the last byte of the API server, bookmarks included; `undefined` before the first list. */
  readonly silentForMs: number | undefined;
  /** Complete lists so far. */
  readonly lists: number;
  /** Watches opened so far. */
  readonly watches: number;
}

/** The times in production. */
export const defaultTiming: ReflectorTiming = {
  pageLimit: 250,
  pageTimeoutMs: 30_000,
  openTimeoutMs: 30_000,
  inactivityMs: 70_000,
  minWatchMs: 300_000,
  maxWatchMs: 600_000,
  relistMs: 600_000,
  shortWatchMs: 5_000,
};

/** Delays between attempts of one reflector. */
export interface RelistBackoff {
  /** The delay before the next attempt, in milliseconds. */
  nextMs(): number;
}

/** How delays grow. */
interface RelistBackoffOptions {
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** @default 800 */
  readonly baseMs?: number;
  /** @default 30_000 */
  readonly maxMs?: number;
  /** Delays start over after this time without a failure, in milliseconds. @default 120_000 */
  readonly resetAfterMs?: number;
}

/** Makes the delays of one reflector. They start over after two minutes without a failure. */
export function createRelistBackoff(options: RelistBackoffOptions): RelistBackoff {
  const { clock, random, baseMs = 800, maxMs = 30_000, resetAfterMs = 120_000 } = options;
  let failures = 0;
  let delayEndsAtMs = Number.NEGATIVE_INFINITY;
  return {
    nextMs() {
      const nowMs = clock.monotonicMs();
      failures = nowMs - delayEndsAtMs > resetAfterMs ? 1 : failures + 1;
      const delayMs = withJitter(backoffMs(failures, { firstMs: baseMs, longestMs: maxMs }), random);
      delayEndsAtMs = nowMs + delayMs;
      return delayMs;
    },
  };
}

/** Detects that no byte has arrived for a while. */
interface InactivityTimer {
  /** Bytes have arrived. Cheap: it sets no timer. */
  touch(): void;
  cancel(): void;
}

/** Calls `onSilence` once, `timeoutMs` after the last `touch`, or after now if there is none. */
export function createInactivityTimer(clock: Clock, timeoutMs: number, onSilence: () => void): InactivityTimer {
  let heardAtMs = clock.monotonicMs();
  let timer: Timer;
  const check = () => {
    const leftMs = heardAtMs + timeoutMs - clock.monotonicMs();
    if (leftMs > 0) {
      timer = clock.after(leftMs, check);
      return;
    }
    onSilence();
  };
  timer = clock.after(timeoutMs, check);
  return {
    touch() {
      heardAtMs = clock.monotonicMs();
    },
    cancel() {
      timer.cancel();
    },
  };
}
