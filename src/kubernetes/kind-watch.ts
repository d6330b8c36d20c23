import type { LeaderFence } from "../domain/leader-fence.ts";
import type { KindGap, KindGaps, ResourceKey, StoredIdentity, WatchStats } from "../domain/resource-store.ts";
import type { KubernetesConnection } from "./http/connection.ts";
import { isOlder, metadataOf, objectPath } from "./http/objects.ts";
import { KindStore } from "./store/kind-store.ts";
import type { ResourceKind, StoredResource } from "./store/resource-kinds.ts";
import { createListWatch, createObjectReader } from "./watch/list-watch.ts";
import { Reflector, type ReflectorOptions } from "./watch/reflector.ts";
import type { ResourceCache } from "./watch/resource-cache.ts";

export interface KindWatchOptions
  extends Pick<ReflectorOptions<never>, "onList" | "onRestored" | "clock" | "logger" | "random" | "timing"> {
  readonly connection: KubernetesConnection;
  /** The namespaces to watch. Empty: all namespaces. */
  readonly namespaces: readonly string[];
  /** Where the kind is not watched. @default nowhere */
  readonly gaps?: KindGaps | undefined;
  /** Called for each change, sometimes more than once. It should only add the key to a queue. Must not throw. */
  readonly onChange: (key: ResourceKey) => void;
  readonly fence: LeaderFence;
}

export class KindWatch<Resource extends StoredResource<Status>, Status extends object> {
  readonly store: KindStore<Resource, Status>;
  readonly #kind: ResourceKind<Resource, Status>;
  readonly #options: KindWatchOptions;
  /** One reflector for each namespace, or one for all; the key is then `undefined`. */
  readonly #reflectors: ReadonlyMap<string | undefined, Reflector<Resource>>;

  constructor(kind: ResourceKind<Resource, Status>, options: KindWatchOptions) {
    const { connection, fence, namespaces, onChange } = options;
    this.#kind = kind;
    this.#options = options;
    this.store = new KindStore({ kind, connection, fence, onChange });
    const scopes = (namespaces.length === 0 ? [undefined] : namespaces).filter((scope) => !options.gaps?.has(scope));
    this.#reflectors = new Map(scopes.map((namespace) => [namespace, this.#reflectorOf(namespace)]));
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

  /** A new leader calls it before its first effect, because its watch may have missed writes of the previous leader. */
  async listConsistently(): Promise<void> {
    await Promise.all([...this.#reflectors.values()].map((reflector) => reflector.listConsistently()));
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
    };
  }

  #reflectorOf(namespace: string | undefined): Reflector<Resource> {
    const { connection } = this.#options;
    const { kind, plural } = this.#kind;
    const many = `${kind}${plural.slice(kind.length)}`;
    const listWatch =
      namespace !== undefined && plural === "namespaces"
        ? // The rights in a namespace do not allow to list Namespaces, only to read this one.
          createObjectReader({ connection, path: objectPath(plural, "", namespace), what: `namespace ${namespace}` })
        : createListWatch({
            connection,
            path: objectPath(plural, namespace),
            what: namespace === undefined ? many : `${many} of namespace ${namespace}`,
          });
    const cache = this.store;
    const parse = (object: unknown) => knownOf(cache, object) ?? this.#parseOrSkip(object);
    return new Reflector({ ...this.#options, listWatch, cache, namespace, parse });
  }

  #parseOrSkip(stored: unknown): Resource | undefined {
    try {
      return this.#kind.parse(stored);
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
  const { namespace = "", name = "", uid, resourceVersion = "" } = metadataOf(object) as Record<string, string>;
  const known = cache.get({ namespace, name });
  const isSame = known !== undefined && known.uid === uid;
  const isKnown =
    isSame && (resourceVersion === known.resourceVersion || isOlder(resourceVersion, known.resourceVersion));
  return isKnown ? known : undefined;
}
