import type { Clock } from "../domain/clock.ts";
import type { LeaderFence } from "../domain/leader-fence.ts";
import type { Logger } from "../domain/logger.ts";
import type { ResourceKey, ResourceStore, StoredIdentity } from "../domain/resource-store.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";
import type { KubernetesConnection } from "./http/connection.ts";
import { resourcesPath } from "./http/paths.ts";
import { computeEndpointKind } from "./store/compute-endpoint-kind.ts";
import { createKindParser, type KindParser, type ResourceKind, type StoredResource } from "./store/kind-parser.ts";
import { createKindStore } from "./store/kind-store.ts";
import { createListWatch } from "./watch/list-watch.ts";
import { Reflector } from "./watch/reflector.ts";
import { defaultTiming, type ReflectorTiming } from "./watch/reflector-parts.ts";
import { type ChangeOrigin, ResourceCache } from "./watch/resource-cache.ts";

/** What to watch, and what to call. */
export interface ResourceWatchOptions {
  readonly connection: KubernetesConnection;
  /** Empty: all namespaces. */
  readonly namespaces: readonly string[];
  /** Should only put the key into a queue. It may be called more than once for one change. */
  readonly onChange: (key: ResourceKey, origin: ChangeOrigin) => void;
  /** A namespace was listed completely; `hasSynced` may be true now. Must not throw. @default nothing is called */
  readonly onList?: () => void;
  readonly fence: LeaderFence;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Uniform in [0, 1). @default Math.random */
  readonly random?: () => number;
  /** Shortened by tests. */
  readonly timing?: Partial<ReflectorTiming>;
}

/** All reflectors together, at one moment. */
export interface ResourceWatchStats {
  readonly hasSynced: boolean;
  /** The namespaces without a list so far; empty when all namespaces are watched at once. */
  readonly unlistedNamespaces: readonly string[];
  /** Whether every reflector has an open watch. */
  readonly isWatching: boolean;
  /** Milliseconds without a byte, of the longest silent reflector; `undefined` until each has a list. */
  readonly silentForMs: number | undefined;
  /** Complete lists, over all reflectors. */
  readonly lists: number;
  /** Watches opened, over all reflectors. */
  readonly watches: number;
  /** Resources in the cache. */
  readonly resources: number;
}

/** The custom resources of one kind as they are now, and every change of them. */
export interface KindWatch<Resource extends StoredResource<Status>, Status extends object> {
  readonly store: ResourceStore<Resource, Status>;
  start(): void;
  /** Closes the watches and opens no new ones. The store can still write while the leader fence is open. */
  stop(): Promise<void>;
  /**
   * Lists every namespace from the API server now, and replaces the cache. A new leader calls it before its first effect:
   * its watch may have been silent while the leader before it wrote.
   *
   * @throws KubernetesError when a list fails or takes longer than a minute.
   */
  listConsistently(): Promise<void>;
  /** Whether every namespace has been listed once. */
  hasSynced(): boolean;
  stats(): ResourceWatchStats;
}

/** Thousands of resources take seconds; after a minute it is better to report the failure. */
const consistentListTimeoutMs = 60_000;

/** The watch of ComputeEndpoints. */
export type ResourceWatch = KindWatch<ComputeEndpoint, ComputeEndpointStatus>;

/** Watches ComputeEndpoints. */
export function createResourceWatch(options: ResourceWatchOptions): ResourceWatch {
  return createKindWatch(computeEndpointKind, options);
}

/** One reflector per namespace, or one for all; they share a cache and a store. */
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
      logger.error({ namespace, name, err: error }, "a handler of changes failed"),
  });
  const scopes = options.namespaces.length === 0 ? [undefined] : [...new Set(options.namespaces)];
  const reflectors = scopes.map((namespace) => createReflector(options, cache, { namespace, parser, kind }));
  return {
    store: createKindStore({ kind, connection, cache, parser, fence }),
    start() {
      for (const reflector of reflectors) {
        reflector.start();
      }
    },
    async stop() {
      await Promise.all(reflectors.map((reflector) => reflector.stop()));
    },
    async listConsistently() {
      await Promise.all(reflectors.map((reflector) => reflector.listConsistently(consistentListTimeoutMs)));
    },
    hasSynced: () => reflectors.every((reflector) => reflector.hasSynced()),
    stats: () => ({
      ...statsOf(reflectors, cache),
      unlistedNamespaces: scopes.flatMap((namespace, at) => (reflectors[at]?.hasSynced() ? [] : (namespace ?? []))),
    }),
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

/** In a burst most events repeat our own writes, whose answers are in the cache already. */
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
): Omit<ResourceWatchStats, "unlistedNamespaces"> {
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
