import type { Clock } from "../domain/clock.ts";
import type { LeaderFence } from "../domain/leader-fence.ts";
import type { Logger } from "../domain/logger.ts";
import type { ResourceKey } from "../domain/resource-store.ts";
import { type ComputeEndpoint, projectsOf } from "../resource/compute-endpoint.ts";
import { createComputeEndpointParser } from "./compute-endpoint-parser.ts";
import { type ComputeEndpointStore, createComputeEndpointStore } from "./compute-endpoint-store.ts";
import type { KubernetesConnection } from "./connection.ts";
import { createListWatch } from "./list-watch.ts";
import { computeEndpointsPath } from "./paths.ts";
import { Reflector } from "./reflector.ts";
import { defaultTiming, type ReflectorTiming } from "./reflector-options.ts";
import { type ChangeOrigin, ResourceCache } from "./resource-cache.ts";

/** What to watch, and whom to tell. */
export interface ResourceWatchOptions {
  readonly connection: KubernetesConnection;
  /** Empty: all namespaces. */
  readonly namespaces: readonly string[];
  /** Should only put the key into a queue. A key may be told of more than once for one change. */
  readonly onChange: (key: ResourceKey, origin: ChangeOrigin) => void;
  /** A namespace was listed completely; `hasSynced` may be true now. Must not throw. @default tells nobody */
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
  /** Which ones, by name, no list was had of yet; empty when all namespaces are watched at once. */
  readonly unlistedNamespaces: readonly string[];
  /** Whether every reflector has an open watch. */
  readonly isWatching: boolean;
  /** Silence of the reflector that was silent longest; `undefined` until each has a list. */
  readonly silentForMs: number | undefined;
  /** Complete lists, over all reflectors. */
  readonly lists: number;
  /** Watches opened, over all reflectors. */
  readonly watches: number;
  /** Resources in the cache. */
  readonly resources: number;
}

/** The custom resources of the cluster as they are now, and every change of them. */
export interface ResourceWatch {
  readonly store: ComputeEndpointStore;
  start(): void;
  /** Opens nothing any more and closes what is open. The store's writes go on as long as the permit lets them. */
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

/** One reflector per namespace, or one for all; they share a cache and a store. */
export function createResourceWatch(options: ResourceWatchOptions): ResourceWatch {
  const { connection, logger, fence } = options;
  const parser = createComputeEndpointParser(logger);
  const cache = new ResourceCache<ComputeEndpoint>({
    projectsOf,
    onChange: options.onChange,
    onHandlerError: ({ namespace, name }, error) =>
      logger.error({ namespace, name, err: error }, "a handler of changes failed"),
  });
  const scopes = options.namespaces.length === 0 ? [undefined] : [...new Set(options.namespaces)];
  const reflectors = scopes.map((namespace) => createReflector(options, cache, { namespace, parser }));
  return {
    store: createComputeEndpointStore({ connection, cache, parser, fence }),
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

function createReflector(
  options: ResourceWatchOptions,
  cache: ResourceCache<ComputeEndpoint>,
  scope: { readonly namespace: string | undefined; readonly parser: ReturnType<typeof createComputeEndpointParser> },
): Reflector<ComputeEndpoint> {
  const { connection, clock, logger, random = Math.random } = options;
  const timing = { ...defaultTiming, ...options.timing };
  const listWatch = createListWatch({
    connection,
    path: computeEndpointsPath(scope.namespace),
    what: scope.namespace === undefined ? "ComputeEndpoints" : `ComputeEndpoints of namespace ${scope.namespace}`,
    listTimeoutMs: timing.pageTimeoutMs,
    openTimeoutMs: timing.openTimeoutMs,
  });
  const { parseOrSkip } = scope.parser;
  return new Reflector({
    listWatch,
    scope: cache.scope(scope.namespace),
    parse: (object) => knownTwin(cache, object) ?? parseOrSkip(object),
    ...(options.onList === undefined ? {} : { onList: options.onList }),
    clock,
    logger,
    random,
    timing,
  });
}

/** Most events of a busy time are the echo of our own writes, whose answers were read and checked already. */
function knownTwin(cache: ResourceCache<ComputeEndpoint>, object: unknown): ComputeEndpoint | undefined {
  const { namespace, name, uid, resourceVersion } = metadataOf(object);
  const known = typeof namespace === "string" && typeof name === "string" ? cache.get({ namespace, name }) : undefined;
  return known?.uid === uid && known?.resourceVersion === resourceVersion ? known : undefined;
}

function metadataOf(object: unknown): Readonly<Record<string, unknown>> {
  const metadata = (object as { readonly metadata?: unknown } | null)?.metadata;
  return typeof metadata === "object" && metadata !== null ? (metadata as Readonly<Record<string, unknown>>) : {};
}

function statsOf(
  reflectors: readonly Reflector<ComputeEndpoint>[],
  cache: ResourceCache<ComputeEndpoint>,
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
