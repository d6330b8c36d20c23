/** What the reflector is made of: options and times, delays after failures, one watch, and lists page by page. */
import { backoffMs, type Clock, type Timer, withJitter } from "../../domain/clock.ts";
import type { Logger } from "../../domain/logger.ts";
import type { WatchStats } from "../../domain/resource-store.ts";
import { createCallDeadline, itemsUntilAborted, untilAborted } from "../../http/call-deadline.ts";
import { isTooLong } from "../http/answer-error.ts";
import { type ListPage, type ListWatch, OutOfSyncError, type WatchEvent } from "./list-watch.ts";
import type { CacheScope } from "./resource-cache.ts";

export interface ReflectorOptions<Resource> {
  readonly listWatch: ListWatch;
  readonly scope: CacheScope<Resource>;
  /** Parses an object. `undefined`: it cannot be used and is left out. Must not throw. */
  readonly parse: (stored: unknown) => Resource | undefined;
  /** Called when a complete list is in the cache. Must not throw. @default none */
  readonly onList?: () => void;
  /**
   * Called when a consistent list has a lower version than the reflector saw before: etcd was set back to an older
   * state, so nothing in the cache can be trusted. The process must end. Must not throw.
   * @default nothing is called
   */
  readonly onRestored?: (() => void) | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a random number from 0 up to 1. @default Math.random */
  readonly random?: () => number;
  /** The times and limits; tests use shorter times. @default those of production */
  readonly timing?: Partial<ReflectorTiming>;
}

/** The times and limits of a reflector; times in milliseconds. */
export interface ReflectorTiming {
  readonly pageLimit: number;
  readonly pageTimeoutMs: number;
  /** The time limit until the headers of a watch arrive. */
  readonly openTimeoutMs: number;
  /** A watch that receives no byte for this time counts as broken. Bookmarks come about every minute. */
  readonly inactivityMs: number;
  /** The server closes a watch after a random time from `minWatchMs` to `maxWatchMs`. */
  readonly minWatchMs: number;
  readonly maxWatchMs: number;
  /** Everything is listed again this time after the last list, in case events were lost. */
  readonly relistMs: number;
  /** A watch that ends earlier than this counts as a failure, and the next attempt waits. */
  readonly shortWatchMs: number;
}

export type ReflectorStats = Omit<WatchStats, "unlistedNamespaces" | "resources">;

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

const relistDelays = { firstMs: 800, longestMs: 30_000 };
/** After this many milliseconds without a failure since the last delay, delays start again with the shortest. */
const resetAfterMs = 120_000;

/** @returns a function that returns the next of growing delays between failed attempts, in milliseconds */
export function createRelistBackoff({ clock, random }: Pick<FollowOptions, "clock" | "random">): () => number {
  let failures = 0;
  let delayEndsAtMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMs = clock.monotonicMs();
    failures = nowMs - delayEndsAtMs > resetAfterMs ? 1 : failures + 1;
    const delayMs = withJitter(backoffMs(failures, relistDelays), random);
    delayEndsAtMs = nowMs + delayMs;
    return delayMs;
  };
}

interface FollowOptions {
  readonly listWatch: Pick<ListWatch, "watch">;
  readonly clock: Clock;
  readonly random: () => number;
  readonly timing: Pick<ReflectorTiming, "minWatchMs" | "maxWatchMs" | "openTimeoutMs" | "inactivityMs">;
  readonly resourceVersion: string;
  readonly signal: AbortSignal;
  readonly onOpen: () => void;
  readonly onBytes: () => void;
  /** Called when the watch ends because no byte has arrived for `inactivityMs`. */
  readonly onSilence: () => void;
  readonly onEvent: (event: WatchEvent) => void;
}

/** Follows one watch, and returns when the server closes it. @throws if the watch ends in any other way */
export async function followWatch(options: FollowOptions): Promise<void> {
  const { listWatch, clock, random, resourceVersion, signal, onEvent } = options;
  const { minWatchMs, maxWatchMs, openTimeoutMs, inactivityMs } = options.timing;
  const inactive = new AbortController();
  const opening = createCallDeadline(clock, openTimeoutMs, [signal, inactive.signal]);
  const silence = createInactivityTimer(clock, inactivityMs, () => {
    options.onSilence();
    inactive.abort();
  });
  const onBytes = () => {
    silence.touch();
    options.onBytes();
  };
  const timeoutSeconds = Math.round((minWatchMs + random() * (maxWatchMs - minWatchMs)) / 1000);
  try {
    const request = { resourceVersion, timeoutSeconds, signal: opening.signal, onBytes };
    const events = await untilAborted(opening.signal, listWatch.watch(request));
    opening.endTimer();
    silence.touch();
    options.onOpen();
    for await (const event of itemsUntilAborted(opening.signal, events)) {
      onEvent(event);
    }
  } finally {
    silence.cancel();
    opening.end();
  }
}

/**
 * Makes a timer that calls `onSilence` once, `timeoutMs` after the last `touch`. Without a `touch` the time counts from
 * now. A `touch` is cheap, because it sets no timer.
 */
function createInactivityTimer(clock: Clock, timeoutMs: number, onSilence: () => void) {
  let heardAtMs = clock.monotonicMs();
  let timer: Timer;
  const check = () => {
    const leftMs = heardAtMs + timeoutMs - clock.monotonicMs();
    if (leftMs > 0) {
      timer = clock.after(leftMs, check);
    } else {
      onSilence();
    }
  };
  timer = clock.after(timeoutMs, check);
  return {
    touch() {
      heardAtMs = clock.monotonicMs();
    },
    cancel: () => timer.cancel(),
  };
}

/** The maximum number of pages of one list; more than any cluster has. */
const maxPages = 10_000;

interface PageReaderOptions<Resource>
  extends Pick<ReflectorOptions<Resource>, "parse" | "clock">,
    Pick<ReflectorTiming, "pageLimit" | "pageTimeoutMs"> {
  readonly listWatch: Pick<ListWatch, "list">;
  readonly onPage: () => void;
}

interface CompleteList<Resource> {
  readonly resources: readonly Resource[];
  readonly resourceVersion: string;
}

/**
 * Reads complete lists page by page.
 * If the answer with a page is too long, the page is requested again with half as many objects, and later pages stay
 * that small. So a few very large objects do not hide all the others.
 */
export class PageReader<Resource> {
  readonly #options: PageReaderOptions<Resource>;
  #limit: number;

  constructor(options: PageReaderOptions<Resource>) {
    this.#options = options;
    this.#limit = options.pageLimit;
  }

  /**
   * Reads all pages of one list.
   * @throws KubernetesError; OutOfSyncError when the list repeats a page or has no end; GivenUpError when `signal`
   *   fires or a page takes too long
   */
  async readAll(signal: AbortSignal): Promise<CompleteList<Resource>> {
    const resources: Resource[] = [];
    let continueToken: string | undefined;
    // The resourceVersion of the first page. A watch from the version of a later page would miss changes in between.
    let resourceVersion: string | undefined;
    for (let pages = 0; pages < maxPages; pages += 1) {
      const page = await this.#readPageThatFits(continueToken, signal);
      for (const item of page.items) {
        const resource = this.#options.parse(item);
        if (resource !== undefined) {
          resources.push(resource);
        }
      }
      resourceVersion ??= page.resourceVersion;
      if (page.continueToken === undefined) {
        return { resources, resourceVersion };
      }
      if (page.continueToken === continueToken) {
        throw new OutOfSyncError("the list repeats a page");
      }
      continueToken = page.continueToken;
    }
    throw new OutOfSyncError("the list has no end");
  }

  async #readPageThatFits(continueToken: string | undefined, signal: AbortSignal): Promise<ListPage> {
    for (;;) {
      try {
        return await this.#readPage(continueToken, signal);
      } catch (error) {
        if (!isTooLong(error) || this.#limit <= 1) {
          throw error;
        }
        this.#limit = Math.floor(this.#limit / 2);
      }
    }
  }

  async #readPage(continueToken: string | undefined, signal: AbortSignal): Promise<ListPage> {
    const { clock, listWatch, pageTimeoutMs, onPage } = this.#options;
    const deadline = createCallDeadline(clock, pageTimeoutMs, [signal]);
    try {
      const page = await untilAborted(
        deadline.signal,
        listWatch.list({ limit: this.#limit, continueToken }, deadline.signal),
      );
      onPage();
      return page;
    } finally {
      deadline.end();
    }
  }
}
