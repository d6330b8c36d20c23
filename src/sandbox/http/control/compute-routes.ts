/**
 * Routes that imitate a client of a database, for tests without real computes: it connects to an endpoint, and reads the
 * size and statistics of its compute.
 */
import { z } from "zod";
import { computeSizeOf, maxConnectionsOf, pooledConnections, sharedBuffersMb } from "../../engine/compute-sizes.ts";
import { type FileCacheUse, fileCacheHitRatio } from "../../engine/file-cache.ts";
import { movingEndpointView } from "../codecs/endpoint.ts";
import { operationViews } from "../codecs/operation.ts";
import type { ControlApi } from "./control-api.ts";

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

export function computeRoutes(control: ControlApi): void {
  const { engine, pacemaker } = control.parts;
  const { profile } = engine;
  const connecting = {
    summary: "Imitate a connection, which wakes an idle compute",
    body: connectBody,
    answer: { $ref: "EndpointOperations" },
  };
  control.add("POST /endpoints/{endpoint_id}/connect", connecting, ({ ids, body }) => {
    const { endpoint, operations } = engine.connect(ids.endpointId, body?.fileCache);
    pacemaker.look();
    return { endpoint: movingEndpointView(endpoint, profile), operations: operationViews(operations, profile) };
  });
  const reading = { summary: "Get a compute's size, limits and file cache statistics", answer: computeBody };
  control.add("GET /endpoints/{endpoint_id}/compute", reading, ({ ids }) => {
    const { endpoint, fileCache } = engine.compute(ids.endpointId);
    return {
      minimum: sizeBody.parse(computeSizeOf(endpoint.minUnits)),
      maximum: sizeBody.parse(computeSizeOf(endpoint.maxUnits)),
      maxConnections: maxConnectionsOf(endpoint.minUnits, profile.name),
      pooledConnections,
      sharedBuffersMb,
      statistics: fileCache && statisticsView(fileCache),
    };
  });
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
