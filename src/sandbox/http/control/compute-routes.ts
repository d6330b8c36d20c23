/**
 * Routes that imitate a client of a database, for tests without real computes: it connects to an endpoint, and reads the
 * size and statistics of its compute.
 */
import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { z } from "zod";
import { computeSizeOf, maxConnectionsOf, pooledConnections, sharedBuffersMb } from "../../engine/compute-sizes.ts";
import { type FileCacheUse, fileCacheHitRatio } from "../../engine/file-cache.ts";
import { errorResponses } from "../codecs/codec.ts";
import { endpointBody, movingEndpointView } from "../codecs/endpoint.ts";
import { operationBody, operationView } from "../codecs/operation.ts";
import type { ServerParts } from "../parts/server-parts.ts";

const computePath = z.object({ endpoint_id: z.string() });

const count = z.int().min(0).max(1_000_000_000);

const connectBody = z
  .object({ fileCache: z.object({ hits: count, misses: count, writes: count, used: count }).optional() })
  .nullish();

const sizeBody = z.object({ units: z.number(), vcpu: z.number(), ramGb: z.number(), fileCacheGb: z.number() });

const computeBody = z.object({
  minimum: sizeBody,
  maximum: sizeBody,
  maxConnections: z.int(),
  pooledConnections: z.int(),
  sharedBuffersMb: z.int(),
  statistics: z
    .object({
      file_cache_misses: z.int(),
      file_cache_hits: z.int(),
      file_cache_used: z.int(),
      file_cache_writes: z.int(),
      file_cache_hit_ratio: z.number().nullable(),
    })
    .optional(),
});

/**
 * Adds the routes of the imitated client: it connects to an endpoint, and reads the size and statistics of the compute.
 */
export function computeRoutes(app: FastifyInstance, { engine, pacemaker }: ServerParts): void {
  const { profile } = engine;
  const routes = app.withTypeProvider<ZodTypeProvider>();
  routes.post(
    "/endpoints/:endpoint_id/connect",
    {
      config: { summary: "Imitate a connection, which wakes an idle compute" },
      schema: {
        params: computePath,
        body: connectBody,
        response: { 200: z.object({ endpoint: endpointBody, operations: z.array(operationBody) }), ...errorResponses },
      },
    },
    async ({ params, body }) => {
      const { endpoint, operations } = engine.connect(params.endpoint_id, body?.fileCache);
      pacemaker.look();
      return {
        endpoint: movingEndpointView(endpoint, profile),
        operations: operations.map((operation) => operationView(operation, profile)),
      };
    },
  );
  routes.get(
    "/endpoints/:endpoint_id/compute",
    {
      config: { summary: "Get a compute's size, limits and file cache statistics" },
      schema: { params: computePath, response: { 200: computeBody, ...errorResponses } },
    },
    async ({ params }) => {
      const { endpoint, fileCache } = engine.compute(params.endpoint_id);
      return {
        minimum: computeSizeOf(endpoint.minUnits),
        maximum: computeSizeOf(endpoint.maxUnits),
        maxConnections: maxConnectionsOf(endpoint.minUnits, profile.name),
        pooledConnections,
        sharedBuffersMb,
        ...(fileCache === undefined ? {} : { statistics: statisticsView(fileCache) }),
      };
    },
  );
}

function statisticsView(use: FileCacheUse): NonNullable<z.output<typeof computeBody>["statistics"]> {
  return {
    file_cache_misses: use.misses,
    file_cache_hits: use.hits,
    file_cache_used: use.used,
    file_cache_writes: use.writes,
    file_cache_hit_ratio: fileCacheHitRatio(use) ?? null,
  };
}
