import type { Clock } from "../../domain/clock.ts";
import type { Logger } from "../../domain/logger.ts";
import type { ListWatch } from "./list-watch.ts";
import type { CacheScope } from "./resource-cache.ts";

/** How a reflector is made. */
export interface ReflectorOptions<Resource> {
  readonly listWatch: ListWatch;
  readonly scope: CacheScope<Resource>;
  /** Answers `undefined` for an object that cannot be used; that one is left out. Must not throw. */
  readonly parse: (stored: unknown) => Resource | undefined;
  /** A complete list is in the cache. Must not throw. @default tells nobody */
  readonly onList?: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Uniform in [0, 1). @default Math.random */
  readonly random?: () => number;
  readonly timing?: Partial<ReflectorTiming>;
}

/** Every time the reflector knows, in milliseconds. */
export interface ReflectorTiming {
  /** Objects on a page of a list. */
  readonly pageLimit: number;
  /** For one page. */
  readonly pageTimeoutMs: number;
  /** Until a watch has answered. */
  readonly openTimeoutMs: number;
  /** No byte for so long: the watch is taken for dead. Bookmarks come about every minute. */
  readonly inactivityMs: number;
  /** A watch is closed by the server after a random time between these two. */
  readonly minWatchMs: number;
  readonly maxWatchMs: number;
  /** At least so often everything is listed again, against events that were lost. */
  readonly relistMs: number;
  /** A watch that ended sooner counts as a failure: the next attempt waits. */
  readonly shortWatchMs: number;
}

/** The reflector at one moment. */
export interface ReflectorStats {
  /** Whether the first list is in the cache. */
  readonly hasSynced: boolean;
  readonly isWatching: boolean;
  /** Since the API server was last heard, bookmarks included; `undefined` before the first list. */
  readonly silentForMs: number | undefined;
  /** Complete lists so far. */
  readonly lists: number;
  /** Watches opened so far. */
  readonly watches: number;
}

/** What production uses. */
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
