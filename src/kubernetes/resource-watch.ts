/** Watches the custom resources of one kind. */
import type { Clock } from "../domain/clock.ts";
import type { LeaderFence } from "../domain/leader-fence.ts";
import type { Logger } from "../domain/logger.ts";
import type { ResourceKey, ResourceStore, StoredIdentity, WatchStats } from "../domain/resource-store.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";
import type { KubernetesConnection } from "./http/connection.ts";
import { resourcesPath } from "./http/paths.ts";
import { createKindParser, type KindParser, type ResourceKind, type StoredResource } from "./store/kind-parser.ts";
import { createKindStore } from "./store/kind-store.ts";
import { computeEndpointKind } from "./store/resource-kinds.ts";
import { createListWatch } from "./watch/list-watch.ts";
import { Reflector } from "./watch/reflector.ts";
import { defaultTiming, type ReflectorTiming } from "./watch/reflector-parts.ts";
import { type ChangeOrigin, ResourceCache } from "./watch/resource-cache.ts";

/** What to watch, and what to call. */
export interface ResourceWatchOptions {
  readonly connection: KubernetesConnection;
  /** The namespaces to watch. Empty: all namespaces. */
  readonly namespaces: readonly string[];
  /** Called for each change, sometimes more than once. It should only add the key to a queue. */
  readonly onChange: (key: ResourceKey, origin: ChangeOrigin) => void;
  /**
   * Called when a namespace was listed completely; `hasSynced` may be true now. Must not throw. @default nothing is
   * called
   */
  readonly onList?: () => void;
  readonly fence: LeaderFence;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a random number from 0 up to 1. @default Math.random */
  readonly random?: () => number;
  /** The times and limits; tests use shorter times. */
  readonly timing?: Partial<ReflectorTiming>;
}

/** The custom resources of one kind, kept up to date, and every change of them. */
export interface KindWatch<Resource extends StoredResource<Status>, Status extends object> {
  readonly store: ResourceStore<Resource, Status>;
  start(): void;
  /** Closes the watches and opens no new ones. The store can still write while the leader fence is open. */
  stop(): Promise<void>;
  /**
   * Lists every namespace from the API server now, and replaces the cache. A new leader calls it before its first
   * effect, because its watch may have missed writes of the previous leader.
   * @throws KubernetesError when a list fails or takes longer than one minute.
   */
  listConsistently(): Promise<void>;
  /** Whether every namespace has been listed once. */
  hasSynced(): boolean;
  stats(): WatchStats;
}

/**
 * The time limit of `listConsistently`, in milliseconds. Thousands of resources take seconds; after a minute the list
 * counts as failed.
 */
const consistentListTimeoutMs = 60_000;

/** The watch of ComputeEndpoints. */
export type ResourceWatch = KindWatch<ComputeEndpoint, ComputeEndpointStatus>;

/** Watches ComputeEndpoints. */
export function createResourceWatch(options: ResourceWatchOptions): ResourceWatch {
  return createKindWatch(computeEndpointKind, options);
}

/** Makes the watch of one kind: one reflector for each namespace, or one for all. They share a cache and a store. */
export function createKindWatch<Resource extends StoredResource<Status>, Status extends object>(
  kind: ResourceKind<Resource, Status>,
  options: ResourceWatchOptions,
): KindWatch<Resource, Status> {
  const { connection, logger, fence } = options;
  const parser = createKindParser(kind, logger);
  const cache = new ResourceCache<Resource>({
    projectsOf: kind.projectsOf,
    onChange: options.onChange,
    onHandlerError: ({ namespace, name }, error) =>
      logger.error({ namespace, name, err: error }, "a callback for changes failed"),
  });
  const scopes = options.namespaces.length === 0 ? [undefined] : [...new Set(options.namespaces)];
  const reflectors = scopes.map((namespace) => createReflector(options, cache, { namespace, parser, kind }));
  const listAll = async () => {
    await Promise.all(reflectors.map((reflector) => reflector.listConsistently(consistentListTimeoutMs)));
  };
  return {
    store: createKindStore({ kind, connection, cache, parser, fence, onRestored: relistOnRestore(listAll, logger) }),
    start() {
      for (const reflector of reflectors) {
        reflector.start();
      }
    },
    async stop() {
      await Promise.all(reflectors.map((reflector) => reflector.stop()));
    },
    listConsistently: listAll,
    hasSynced: () => reflectors.every((reflector) => reflector.hasSynced()),
    stats: () => ({
      ...statsOf(reflectors, cache),
      unlistedNamespaces: scopes.flatMap((namespace, at) => (reflectors[at]?.hasSynced() ? [] : (namespace ?? []))),
    }),
  };
}

/**
 * Returns what to do when a read shows that etcd was restored: list again, one list at a time. A watch notices a restore
 * only after minutes, and until then the API server would refuse every write.
 */
function relistOnRestore(listAll: () => Promise<void>, logger: Pick<Logger, "warn">): () => void {
  let isListing = false;
  const list = async () => {
    isListing = true;
    try {
      await listAll();
    } catch (error) {
      logger.warn({ err: error }, "etcd was restored, and the list that replaces the cache failed");
    } finally {
      isListing = false;
    }
  };
  return () => {
    if (!isListing) {
      void list();
    }
  };
}

interface WatchScope<Resource> {
  readonly namespace: string | undefined;
  readonly parser: KindParser<Resource>;
  readonly kind: { readonly many: string; readonly plural: string };
}

function createReflector<Resource extends StoredIdentity>(
  options: ResourceWatchOptions,
  cache: ResourceCache<Resource>,
  { namespace, parser, kind }: WatchScope<Resource>,
): Reflector<Resource> {
  const { connection, clock, logger, random = Math.random } = options;
  const timing = { ...defaultTiming, ...options.timing };
  const listWatch = createListWatch({
    connection,
    path: resourcesPath(kind.plural, namespace),
    what: namespace === undefined ? kind.many : `${kind.many} of namespace ${namespace}`,
    listTimeoutMs: timing.pageTimeoutMs,
    openTimeoutMs: timing.openTimeoutMs,
  });
  const { parseOrSkip } = parser;
  return new Reflector({
    listWatch,
    scope: cache.scope(namespace),
    parse: (object) => knownTwin(cache, object) ?? parseOrSkip(object),
    ...(options.onList === undefined ? {} : { onList: options.onList }),
    clock,
    logger,
    random,
    timing,
  });
}

/**
 * Returns the cached resource if an event shows the same version. In a burst, most events repeat our own writes, whose
 * answers are in the cache already.
 */
function knownTwin<Resource extends StoredIdentity>(
  cache: ResourceCache<Resource>,
  object: unknown,
): Resource | undefined {
  const { namespace, name, uid, resourceVersion } = metadataOf(object);
  const known = typeof namespace === "string" && typeof name === "string" ? cache.get({ namespace, name }) : undefined;
  return known?.uid === uid && known?.resourceVersion === resourceVersion ? known : undefined;
}

function metadataOf(object: unknown): Readonly<Record<string, unknown>> {
  const metadata = (object as { readonly metadata?: unknown } | null)?.metadata;
  return typeof metadata === "object" && metadata !== null ? (metadata as Readonly<Record<string, unknown>>) : {};
}

function statsOf<Resource extends StoredIdentity>(
  reflectors: readonly Reflector<Resource>[],
  cache: ResourceCache<Resource>,
): Omit<WatchStats, "unlistedNamespaces"> {
  const all = reflectors.map((reflector) => reflector.stats());
  const silences = all.map((stats) => stats.silentForMs ?? Number.POSITIVE_INFINITY);
  const longestMs = Math.max(...silences);
  return {
    hasSynced: all.every((stats) => stats.hasSynced),
    isWatching: all.every((stats) => stats.isWatching),
    silentForMs: Number.isFinite(longestMs) ? longestMs : undefined,
    lists: all.reduce((sum, stats) => sum + stats.lists, 0),
    watches: all.reduce((sum, stats) => sum + stats.watches, 0),
    resources: cache.size,
  };
}
