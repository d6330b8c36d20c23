/** Watches the custom resources of one kind. */
import type { LeaderFence } from "../domain/leader-fence.ts";
import type { ResourceKey, ResourceStore, StoredIdentity, WatchStats } from "../domain/resource-store.ts";
import type { KubernetesConnection } from "./http/connection.ts";
import { metadataOf, objectPath } from "./http/objects.ts";
import { KindStore } from "./store/kind-store.ts";
import { KindParser, type ResourceKind, type StoredResource } from "./store/resource-kinds.ts";
import { createListWatch } from "./watch/list-watch.ts";
import { Reflector } from "./watch/reflector.ts";
import { defaultTiming, type ReflectorOptions } from "./watch/reflector-parts.ts";
import { type ChangeOrigin, ResourceCache } from "./watch/resource-cache.ts";
import { isOlder } from "./watch/tombstones.ts";

export interface KindWatchOptions
  extends Pick<ReflectorOptions<never>, "onList" | "onListFailed" | "clock" | "logger" | "random" | "timing"> {
  readonly connection: KubernetesConnection;
  /** The namespaces to watch. Empty: all namespaces. */
  readonly namespaces: readonly string[];
  /** Called for each change, sometimes more than once. It should only add the key to a queue. */
  readonly onChange: (key: ResourceKey, origin: ChangeOrigin) => void;
  readonly fence: LeaderFence;
}

/** The time limit of `listConsistently`, in milliseconds. Thousands of resources take seconds. */
const consistentListTimeoutMs = 60_000;

/** Watches the custom resources of one kind, keeps them in a cache, and reports each change. */
export class KindWatch<Resource extends StoredResource<Status>, Status extends object> {
  readonly store: ResourceStore<Resource, Status>;
  readonly #options: KindWatchOptions;
  readonly #cache: ResourceCache<Resource>;
  /** One reflector for each namespace, or one for all; the key is then `undefined`. */
  readonly #reflectors: ReadonlyMap<string | undefined, Reflector<Resource>>;
  #isRelisting = false;

  constructor(kind: ResourceKind<Resource, Status>, options: KindWatchOptions) {
    const { connection, logger, fence, namespaces } = options;
    this.#options = options;
    this.#cache = new ResourceCache<Resource>({
      indexesOf: kind.indexesOf,
      onChange: options.onChange,
      onHandlerError: ({ namespace, name }, error) =>
        logger.error(
          { namespace, name, err: error },
          "the handler of a change threw an error, which is a bug; the watch goes on",
        ),
    });
    const parser = new KindParser(kind, logger);
    const scopes = namespaces.length === 0 ? [undefined] : namespaces;
    this.#reflectors = new Map(scopes.map((namespace) => [namespace, this.#reflectorOf(namespace, kind, parser)]));
    const onRestored = () => void this.#relist();
    this.store = new KindStore({ kind, connection, cache: this.#cache, parser, fence, onRestored });
  }

  start(): void {
    for (const reflector of this.#reflectors.values()) {
      reflector.start();
    }
  }

  /** Closes the watches and opens no new ones. The store can still write while the leader fence is open. */
  async stop(): Promise<void> {
    await Promise.all([...this.#reflectors.values()].map((reflector) => reflector.stop()));
  }

  /**
   * Lists the resources of every watched namespace from the API server now, and replaces the cache. A new leader calls
   * it before its first effect, because its watch may have missed writes of the previous leader.
   * @throws KubernetesError when a list fails or takes longer than one minute.
   */
  async listConsistently(): Promise<void> {
    await Promise.all(
      [...this.#reflectors.values()].map((reflector) => reflector.listConsistently(consistentListTimeoutMs)),
    );
  }

  /** Whether the resources of every watched namespace have been listed once. */
  hasSynced(): boolean {
    return [...this.#reflectors.values()].every((reflector) => reflector.hasSynced());
  }

  stats(): WatchStats {
    const all = [...this.#reflectors].map(([namespace, reflector]) => ({ namespace, ...reflector.stats() }));
    const longestMs = Math.max(...all.map(({ silentForMs }) => silentForMs ?? Number.POSITIVE_INFINITY));
    return {
      hasSynced: all.every(({ hasSynced }) => hasSynced),
      unlistedNamespaces: all.flatMap(({ namespace, hasSynced }) => (hasSynced ? [] : (namespace ?? []))),
      isWatching: all.every(({ isWatching }) => isWatching),
      silentForMs: Number.isFinite(longestMs) ? longestMs : undefined,
      lists: all.reduce((sum, { lists }) => sum + lists, 0),
      watches: all.reduce((sum, { watches }) => sum + watches, 0),
      resources: this.#cache.size,
    };
  }

  #reflectorOf(
    namespace: string | undefined,
    { many, plural }: ResourceKind<Resource, Status>,
    parser: KindParser<Resource, Status>,
  ): Reflector<Resource> {
    const timing = { ...defaultTiming, ...this.#options.timing };
    const listWatch = createListWatch({
      connection: this.#options.connection,
      path: objectPath(plural, namespace),
      what: namespace === undefined ? many : `${many} of namespace ${namespace}`,
      listTimeoutMs: timing.pageTimeoutMs,
      openTimeoutMs: timing.openTimeoutMs,
    });
    return new Reflector({
      ...this.#options,
      ...{ listWatch, timing, scope: this.#cache.scope(namespace) },
      parse: (object) => knownTwin(this.#cache, object) ?? parser.parseOrSkip(object),
      isOutdated: (object) => isOutdated(this.#cache, object),
    });
  }

  /**
   * Lists again and replaces the cache, because a read has shown that etcd was restored. A watch notices a restore only
   * after minutes. Until then the API server would refuse every write. While one call runs, further calls do nothing.
   */
  async #relist(): Promise<void> {
    if (this.#isRelisting) {
      return;
    }
    this.#isRelisting = true;
    try {
      await this.listConsistently();
    } catch (error) {
      this.#options.logger.warn({ err: error }, "etcd was restored, and the list that replaces the cache failed");
    } finally {
      this.#isRelisting = false;
    }
  }
}

/**
 * Returns the cached resource if an event shows the same version. In a burst, most events repeat our own writes, whose
 * answers are in the cache already.
 */
function knownTwin<Resource extends StoredIdentity>(
  cache: ResourceCache<Resource>,
  object: unknown,
): Resource | undefined {
  const known = knownOf(cache, object);
  return known?.resourceVersion === metadataOf(object).resourceVersion ? known : undefined;
}

/**
 * Whether the cache holds a newer version of the object. The cache ignores an older version anyway. In a burst, many
 * events show an own write that a later own write has replaced already.
 */
function isOutdated<Resource extends StoredIdentity>(cache: ResourceCache<Resource>, object: unknown): boolean {
  const { resourceVersion } = metadataOf(object);
  const known = knownOf(cache, object);
  return known !== undefined && typeof resourceVersion === "string" && isOlder(resourceVersion, known.resourceVersion);
}

/** Returns the cached version of the same object, if there is one. */
function knownOf<Resource extends StoredIdentity>(
  cache: ResourceCache<Resource>,
  object: unknown,
): Resource | undefined {
  const { namespace, name, uid } = metadataOf(object);
  const known = typeof namespace === "string" && typeof name === "string" ? cache.get({ namespace, name }) : undefined;
  return known?.uid === uid ? known : undefined;
}
