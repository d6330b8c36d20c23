/** Keeps a cache equal to the API server, by list and watch. */
import { KubernetesError, type StoredIdentity } from "../../domain/resource-store.ts";
import { createCallDeadline, pause } from "../../http/call-deadline.ts";
import { errorForStatus, parseStatusAnswer, retryAfterMsOf } from "../http/answer-error.ts";
import { isOutOfSync, isOverload, OutOfSyncError, type WatchEvent } from "./list-watch.ts";
import {
  createRelistBackoff,
  defaultTiming,
  followWatch,
  PageReader,
  type ReflectorOptions,
  type ReflectorStats,
  type ReflectorTiming,
} from "./reflector-parts.ts";
import { isOlder, newerOf, versionOf } from "./resource-version.ts";

/** A refusal because of overload does not count. After so many failed resumes in a row, the next step is a list. */
const maxResumes = 3;
/** After this many watches in a row that ended because no byte arrived for a time, the next step is a list. */
const maxSilentWatches = 3;

type Step = "List" | "Watch";

/** Without `pause` there is none. It lasts as long as the backoff, or as the server's retry-after if longer. */
interface Outcome {
  readonly next: Step;
  readonly pause?: { readonly atLeastMs: number };
}

/**
 * Keeps one scope of a cache equal to the API server: it lists, watches, and starts again if anything goes wrong.
 * Guarantees: no error of the server, the stream, an object or a callback stops it. A permanent failure costs a limited
 * number of requests a minute. After `stop()` it makes no further call.
 */
export class Reflector<Resource extends StoredIdentity> {
  readonly #options: ReflectorOptions<Resource>;
  readonly #timing: ReflectorTiming;
  readonly #random: () => number;
  readonly #backoff: () => number;
  readonly #pages: PageReader<Resource>;
  readonly #stopping = new AbortController();
  /** Callers that wait for a list that has not begun yet. */
  #wantedLists: PromiseWithResolvers<void>[] = [];
  /** Aborted to end a watch or a pause early, because a caller wants a list. */
  #listWanted = new AbortController();
  #running: Promise<void> | undefined;
  #resourceVersion = "";
  #listedAtMs = 0;
  #heardAtMs: number | undefined;
  #isWatching = false;
  #lists = 0;
  #watches = 0;
  #failedResumes = 0;
  #silentWatches = 0;

  constructor(options: ReflectorOptions<Resource>) {
    this.#options = options;
    this.#timing = { ...defaultTiming, ...options.timing };
    this.#random = options.random ?? Math.random;
    this.#backoff = createRelistBackoff({ clock: options.clock, random: this.#random });
    this.#pages = new PageReader({
      ...{ ...options, ...this.#timing },
      onPage: () => this.#heard(),
    });
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  hasSynced(): boolean {
    return this.#lists > 0;
  }

  stats(): ReflectorStats {
    const silentForMs = this.#heardAtMs === undefined ? undefined : this.#options.clock.monotonicMs() - this.#heardAtMs;
    return {
      hasSynced: this.hasSynced(),
      isWatching: this.#isWatching,
      silentForMs,
      lists: this.#lists,
      watches: this.#watches,
    };
  }

  /**
   * Lists everything from the API server now, and replaces the cache. The list begins after this call and reads the
   * newest state of etcd, so it shows every write that was stored before the call.
   * @throws KubernetesError when the list fails or takes longer than `timeoutMs`; the reflector itself goes on.
   */
  async listConsistently(timeoutMs: number): Promise<void> {
    const wanted = Promise.withResolvers<void>();
    this.#wantedLists.push(wanted);
    this.#listWanted.abort();
    const timer = this.#options.clock.after(timeoutMs, () =>
      wanted.reject(new KubernetesError("TimedOut", "cannot list: the list took too long")),
    );
    try {
      await wanted.promise;
    } finally {
      timer.cancel();
    }
  }

  async #run(): Promise<void> {
    let step: Step = "List";
    while (!this.#stopping.signal.aborted) {
      const outcome: Outcome = step === "List" ? await this.#list() : await this.#watch();
      if (outcome.pause !== undefined) {
        const delayMs = Math.max(this.#backoff(), outcome.pause.atLeastMs);
        await pause(this.#options.clock, delayMs, [this.#stopping.signal, this.#listWanted.signal]);
      }
      step = this.#wantedLists.length > 0 ? "List" : outcome.next;
    }
  }

  async #list(): Promise<Outcome> {
    const { scope, clock } = this.#options;
    const waiting = this.#wantedLists.splice(0);
    this.#listWanted = new AbortController();
    try {
      const list = await this.#pages.readAll(this.#stopping.signal);
      if (isOlder(list.resourceVersion, this.#resourceVersion)) {
        this.#options.onRestored?.();
        throw new OutOfSyncError("the API server's resourceVersion went backwards");
      }
      scope.replace(list.resources, this.hasSynced() ? "Changed" : "Listed");
      this.#resourceVersion = list.resourceVersion;
      this.#listedAtMs = clock.monotonicMs();
      this.#lists += 1;
      this.#failedResumes = 0;
      this.#silentWatches = 0;
      this.#options.onList?.();
      for (const { resolve } of waiting) {
        resolve();
      }
      return { next: "Watch" };
    } catch (error) {
      for (const { reject } of waiting) {
        reject(error);
      }
      return this.#afterFailure("list failed, will list again", error, "List");
    }
  }

  async #watch(): Promise<Outcome> {
    const { clock } = this.#options;
    const relistInMs = this.#listedAtMs + this.#timing.relistMs - clock.monotonicMs();
    if (relistInMs <= 0) {
      return { next: "List" };
    }
    // The reflector ends the watch itself when the next list is due. It does not count that as a failure.
    const relist = createCallDeadline(clock, relistInMs, [this.#stopping.signal, this.#listWanted.signal]);
    const openedAtMs = clock.monotonicMs();
    try {
      await this.#followWatch(relist.signal);
      return this.#afterWatch("watch was closed early, will resume", openedAtMs, undefined);
    } catch (error) {
      if (relist.isTimedOut() || this.#wantedLists.length > 0) {
        return { next: "List" };
      }
      if (isOutOfSync(error)) {
        return this.#afterFailure("watch is out of sync, will list again", error, "List");
      }
      return this.#afterWatch("watch broke off, will resume", openedAtMs, error);
    } finally {
      this.#isWatching = false;
      relist.end();
    }
  }

  /**
   * Chooses the next step after a watch has ended. A watch that lived for a while is resumed at once; a shorter one
   * counts as a failure. If several watches in a row received no byte, the next step is a list.
   */
  #afterWatch(message: string, openedAtMs: number, error: unknown): Outcome {
    const livedMs = this.#options.clock.monotonicMs() - openedAtMs;
    if (this.#isWatching && livedMs >= this.#timing.shortWatchMs) {
      this.#failedResumes = 0;
      return { next: this.#silentWatches < maxSilentWatches ? "Watch" : "List" };
    }
    this.#failedResumes += isOverload(error) ? 0 : 1;
    return this.#afterFailure(message, error, this.#failedResumes < maxResumes ? "Watch" : "List");
  }

  #afterFailure(message: string, error: unknown, next: Step): Outcome {
    if (!this.#stopping.signal.aborted) {
      this.#options.logger.warn({ err: error }, message);
    }
    return { next, pause: { atLeastMs: retryAfterMsOf(error) } };
  }

  #followWatch(signal: AbortSignal): Promise<void> {
    const { clock, listWatch } = this.#options;
    return followWatch({
      ...{ listWatch, clock, signal, random: this.#random, timing: this.#timing },
      resourceVersion: this.#resourceVersion,
      onOpen: () => {
        this.#heard();
        this.#isWatching = true;
        this.#watches += 1;
      },
      onBytes: () => {
        this.#silentWatches = 0;
        this.#heard();
      },
      onSilence: () => {
        this.#silentWatches += 1;
      },
      onEvent: (event) => this.#apply(event),
    });
  }

  #apply(event: WatchEvent): void {
    switch (event.type) {
      case "ERROR": {
        const cause = errorForStatus("watch", parseStatusAnswer(200, event.object));
        throw new OutOfSyncError("the API server ended the watch with an error", { cause });
      }
      case "BOOKMARK":
        this.#advance(event.object);
        return;
      case "ADDED":
      case "MODIFIED":
      case "DELETED":
        this.#applyObject(event);
        return;
      default:
        this.#options.logger.warn({ eventType: event.type }, "unknown type of watch event");
    }
  }

  #applyObject(event: WatchEvent): void {
    const { scope, parse } = this.#options;
    const resource = parse(event.object);
    if (resource !== undefined) {
      event.type === "DELETED" ? scope.applyDeletion(resource) : scope.applyChange(resource);
    }
    this.#advance(event.object);
  }

  /** Notes the version of an event or bookmark. The next watch resumes from the newest one. */
  #advance(object: unknown): void {
    this.#resourceVersion = newerOf(this.#resourceVersion, versionOf(object) ?? this.#resourceVersion);
  }

  #heard(): void {
    this.#heardAtMs = this.#options.clock.monotonicMs();
  }
}
