import { backoffMs, type Clock, withJitter } from "../../domain/clock.ts";
import type { Logger } from "../../domain/logger.ts";
import {
  boundedRetryAfterMs,
  KubernetesError,
  type ReflectorStats,
  type StoredIdentity,
} from "../../domain/resource-store.ts";
import { createCallDeadline, pause } from "../../http/call-deadline.ts";
import { errorForStatus, isTooLong, parseStatusAnswer } from "../http/answer-error.ts";
import { isOlder, metadataOf } from "../http/objects.ts";
import type { ListPage, ListWatch, WatchEvent } from "./list-watch.ts";
import type { ResourceCache } from "./resource-cache.ts";

export interface ReflectorOptions<Resource extends StoredIdentity> {
  readonly listWatch: ListWatch;
  readonly cache: ResourceCache<Resource>;
  /** The namespace that `listWatch` shows; `undefined`: all. */
  readonly namespace: string | undefined;
  /** Parses an object. `undefined`: it cannot be used and is left out. Must not throw. */
  readonly parse: (stored: unknown) => Resource | undefined;
  readonly onList?: () => void;
  /**
   * Called when a consistent list has a lower version than the reflector saw before: etcd was set back to an older
   * state, so nothing in the cache can be trusted. The process must end. Must not throw.
   */
  readonly onRestored?: (() => void) | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random?: () => number;
  /** @default those of production */
  readonly timing?: Partial<ReflectorTiming>;
}

/** Times in milliseconds. */
export interface ReflectorTiming {
  readonly pageLimit: number;
  /** A watch that receives no byte for this time counts as broken. Bookmarks come about every minute. */
  readonly inactivityMs: number;
  /** Everything is listed again this time after the last list, in case events were lost. */
  readonly relistMs: number;
  /** A watch that ends earlier than this counts as a failure, and a list follows after a pause. */
  readonly shortWatchMs: number;
}

const defaultTiming: ReflectorTiming = { pageLimit: 250, inactivityMs: 70_000, relistMs: 600_000, shortWatchMs: 5_000 };
/** The server closes a watch after a random time in this range, in seconds. */
const watchSeconds = { least: 300, most: 600 };
const retryDelays = { firstMs: 800, longestMs: 30_000 };

type Step = "List" | "Watch";

/** Events may be missing, so everything must be listed again. */
class OutOfSyncError extends Error {}

/** The maximum number of pages of one list; more than any cluster has. */
const maxPages = 10_000;

/**
 * Keeps one namespace of a cache, or all, equal to the API server: it lists, watches, and starts again if anything goes
 * wrong. Guarantees: no error of the server, the stream or an object stops it. A permanent failure costs a limited
 * number of requests a minute. After `stop()` it makes no further call.
 */
export class Reflector<Resource extends StoredIdentity> {
  readonly #options: ReflectorOptions<Resource>;
  readonly #timing: ReflectorTiming;
  readonly #random: () => number;
  readonly #stopping = new AbortController();
  /** A list that a caller wants, and that has not begun yet. */
  #wanted: PromiseWithResolvers<void> | undefined;
  /** Aborted to end a watch or a pause early, because a caller wants a list. */
  #interrupt = new AbortController();
  #running: Promise<void> | undefined;
  #resourceVersion = "";
  #listedAtMs = 0;
  #heardAtMs: number | undefined;
  #isWatching = false;
  #lists = 0;
  #watches = 0;
  #pageLimit: number;
  #failures = 0;

  constructor(options: ReflectorOptions<Resource>) {
    this.#options = options;
    this.#timing = { ...defaultTiming, ...options.timing };
    this.#pageLimit = this.#timing.pageLimit;
    this.#random = options.random ?? Math.random;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  stats(): ReflectorStats {
    return {
      hasSynced: this.#lists > 0,
      isWatching: this.#isWatching,
      silentForMs: this.#heardAtMs === undefined ? undefined : this.#nowMs() - this.#heardAtMs,
      lists: this.#lists,
      watches: this.#watches,
    };
  }

  /**
   * Lists everything from the API server now, and replaces the cache. The list begins after this call and reads the
   * newest state of etcd, so it shows every write that was stored before the call.
   * @throws KubernetesError when the list fails; the reflector itself goes on.
   */
  listConsistently(): Promise<void> {
    this.#wanted ??= Promise.withResolvers<void>();
    this.#interrupt.abort();
    return this.#wanted.promise;
  }

  async #run(): Promise<void> {
    let step: Step = "List";
    while (!this.#stopping.signal.aborted) {
      this.#interrupt = new AbortController();
      step = step === "List" || this.#wanted !== undefined ? await this.#list() : await this.#watch();
    }
  }

  async #list(): Promise<Step> {
    const wanted = this.#wanted;
    this.#wanted = undefined;
    try {
      const { resources, resourceVersion } = await this.#readPages();
      if (isOlder(resourceVersion, this.#resourceVersion)) {
        this.#options.onRestored?.();
        throw new OutOfSyncError("the API server's resourceVersion went backwards");
      }
      this.#options.cache.replace(this.#options.namespace, resources);
      this.#resourceVersion = resourceVersion;
      this.#listedAtMs = this.#nowMs();
      this.#lists += 1;
      this.#options.onList?.();
      wanted?.resolve();
      return "Watch";
    } catch (error) {
      wanted?.reject(error);
      await this.#pause("list failed, will list again", error);
      return "List";
    }
  }

  /** @throws KubernetesError; OutOfSyncError when the list has no end */
  async #readPages(): Promise<{ readonly resources: readonly Resource[]; readonly resourceVersion: string }> {
    const resources: Resource[] = [];
    let page = await this.#readPage(undefined);
    // A watch from the version of a later page would miss changes in between.
    const { resourceVersion } = page;
    for (let pages = 1; pages <= maxPages; pages += 1) {
      resources.push(...page.items.flatMap((item) => this.#options.parse(item) ?? []));
      if (page.continueToken === undefined) {
        return { resources, resourceVersion };
      }
      page = await this.#readPage(page.continueToken);
    }
    throw new OutOfSyncError("the list has no end");
  }

  /** If a page is too long, this and later pages have half as many objects: a few large ones must not hide the others. */
  async #readPage(continueToken: string | undefined): Promise<ListPage> {
    try {
      const request = { limit: this.#pageLimit, continueToken };
      const page = await this.#options.listWatch.list(request, this.#stopping.signal);
      this.#heardAtMs = this.#nowMs();
      return page;
    } catch (error) {
      if (!isTooLong(error) || this.#pageLimit <= 1) {
        throw error;
      }
      this.#pageLimit = Math.floor(this.#pageLimit / 2);
      return await this.#readPage(continueToken);
    }
  }

  async #watch(): Promise<Step> {
    const { clock } = this.#options;
    const openedAtMs = this.#nowMs();
    const silence = new AbortController();
    const relistInMs = Math.max(0, this.#listedAtMs + this.#timing.relistMs - openedAtMs);
    const ending = [this.#stopping.signal, this.#interrupt.signal, silence.signal];
    const deadline = createCallDeadline(clock, relistInMs, ending);
    const failure = await this.#follow(deadline.signal, silence).catch((error: unknown) => error);
    const isSilent = silence.signal.aborted;
    const isHealthy = this.#isWatching && !isSilent && this.#nowMs() - openedAtMs >= this.#timing.shortWatchMs;
    this.#isWatching = false;
    deadline.end();
    if (isHealthy) {
      this.#failures = 0;
    }
    if (deadline.signal.aborted && !isSilent) {
      // The reflector has ended the watch itself. That is no failure.
      return "List";
    }
    if (isHealthy && !isOutOfSync(failure)) {
      return "Watch";
    }
    await this.#pause("watch broke off, ended early or was silent, will list again", failure);
    return "List";
  }

  /** Follows one watch, and returns when the server closes it. It aborts `silence` if no byte arrives for a while. */
  async #follow(signal: AbortSignal, silence: AbortController): Promise<void> {
    const { clock, listWatch } = this.#options;
    const { least, most } = watchSeconds;
    const timeoutSeconds = Math.round(least + this.#random() * (most - least));
    const giveUp = () => silence.abort();
    let timer = clock.after(this.#timing.inactivityMs, giveUp);
    const onBytes = () => {
      timer.cancel();
      timer = clock.after(this.#timing.inactivityMs, giveUp);
      this.#heardAtMs = this.#nowMs();
    };
    try {
      const request = { resourceVersion: this.#resourceVersion, timeoutSeconds, signal, onBytes };
      const events = await listWatch.watch(request);
      onBytes();
      this.#isWatching = true;
      this.#watches += 1;
      for await (const event of events) {
        this.#apply(event);
      }
    } finally {
      timer.cancel();
    }
  }

  #apply({ type, object }: WatchEvent): void {
    const { cache, parse } = this.#options;
    if (type === "ERROR") {
      const cause = errorForStatus("watch", parseStatusAnswer(200, object));
      throw new OutOfSyncError("the API server ended the watch with an error", { cause });
    }
    const isChange = type === "ADDED" || type === "MODIFIED" || type === "DELETED";
    const resource = isChange ? parse(object) : undefined;
    if (resource !== undefined) {
      type === "DELETED" ? cache.remove(resource) : cache.apply(resource);
    }
    // The next watch resumes from the newest version of an event or bookmark.
    const { resourceVersion } = metadataOf(object);
    if (
      typeof resourceVersion === "string" &&
      resourceVersion !== "" &&
      !isOlder(resourceVersion, this.#resourceVersion)
    ) {
      this.#resourceVersion = resourceVersion;
    }
  }

  async #pause(message: string, error: unknown): Promise<void> {
    const { clock, logger } = this.#options;
    if (this.#stopping.signal.aborted) {
      return;
    }
    logger.warn({ err: error }, message);
    this.#failures += 1;
    const delayMs = Math.max(
      withJitter(backoffMs(this.#failures, retryDelays), this.#random),
      boundedRetryAfterMs(error),
    );
    await pause(clock, delayMs, [this.#stopping.signal, this.#interrupt.signal]);
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }
}

/** An unreadable line may have been an event, and a watch cannot resume from an expired version. */
function isOutOfSync(error: unknown): boolean {
  const isFatalReason =
    error instanceof KubernetesError && (error.reason === "Expired" || error.reason === "UnreadableAnswer");
  return isFatalReason || error instanceof OutOfSyncError;
}
