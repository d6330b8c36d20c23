/** Watches the objects of one kind. */
import type { LeaderFence } from "../domain/leader-fence.ts";
import type {
  KindGap,
  KindGaps,
  ResourceKey,
  ResourceStore,
  StoredIdentity,
  WatchStats,
} from "../domain/resource-store.ts";
import type { KubernetesConnection } from "./http/connection.ts";
import { metadataOf, objectPath } from "./http/objects.ts";
import { KindStore } from "./store/kind-store.ts";
import type { ResourceKind, StoredResource } from "./store/resource-kinds.ts";
import { createListWatch } from "./watch/list-watch.ts";
import { Reflector } from "./watch/reflector.ts";
import { defaultTiming, type ReflectorOptions } from "./watch/reflector-parts.ts";
import { type ChangeOrigin, ResourceCache } from "./watch/resource-cache.ts";
import { isOlder } from "./watch/resource-version.ts";

export interface KindWatchOptions
  extends Pick<ReflectorOptions<never>, "onList" | "onRestored" | "clock" | "logger" | "random" | "timing"> {
  readonly connection: KubernetesConnection;
  /** The namespaces to watch. Empty: all namespaces. */
  readonly namespaces: readonly string[];
  /** Where the kind is not watched. @default nowhere */
  readonly gaps?: KindGaps | undefined;
  /** Called for each change, sometimes more than once. It should only add the key to a queue. */
  readonly onChange: (key: ResourceKey, origin: ChangeOrigin) => void;
  readonly fence: LeaderFence;
}

/** The time limit of `listConsistently`, in milliseconds. Thousands of resources take seconds. */
const consistentListTimeoutMs = 60_000;

export class KindWatch<Resource extends StoredResource<Status>, Status extends object> {
  readonly store: ResourceStore<Resource, Status>;
  readonly #options: KindWatchOptions;
  readonly #cache: ResourceCache<Resource>;
  /** One reflector for each namespace, or one for all; the key is then `undefined`. */
  readonly #reflectors: ReadonlyMap<string | undefined, Reflector<Resource>>;

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
    const scopes = (namespaces.length === 0 ? [undefined] : namespaces).filter((scope) => !options.gaps?.has(scope));
    this.#reflectors = new Map(scopes.map((namespace) => [namespace, this.#reflectorOf(namespace, kind)]));
    this.store = new KindStore({ kind, connection, cache: this.#cache, fence });
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

  hasSynced(): boolean {
    return [...this.#reflectors.values()].every((reflector) => reflector.hasSynced());
  }

  gapIn(namespace: string | undefined): KindGap | undefined {
    const { gaps } = this.#options;
    return gaps?.get(undefined) ?? gaps?.get(namespace);
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

  #reflectorOf(namespace: string | undefined, kind: ResourceKind<Resource, Status>): Reflector<Resource> {
    const { many, plural } = kind;
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
      parse: (object) => knownOf(this.#cache, object) ?? this.#parseOrSkip(kind, object),
    });
  }

  #parseOrSkip(kind: ResourceKind<Resource, Status>, stored: unknown): Resource | undefined {
    try {
      return kind.parse(stored);
    } catch (error) {
      this.#options.logger.error({ err: error }, "a stored object cannot be parsed, so the operator ignores it");
      return undefined;
    }
  }
}

/**
 * Returns the cached resource if an object from the API server is the same version of it, or an older one. In a burst,
 * most events repeat our own writes, whose answers are in the cache already. So they are not parsed again.
 */
function knownOf<Resource extends StoredIdentity>(
  cache: ResourceCache<Resource>,
  object: unknown,
): Resource | undefined {
  const { namespace, name, uid, resourceVersion } = metadataOf(object);
  if (typeof namespace !== "string" || typeof name !== "string" || typeof resourceVersion !== "string") {
    return undefined;
  }
  const known = cache.get({ namespace, name });
  if (known === undefined || known.uid !== uid) {
    return undefined;
  }
  const isKnown = resourceVersion === known.resourceVersion || isOlder(resourceVersion, known.resourceVersion);
  return isKnown ? known : undefined;
}
