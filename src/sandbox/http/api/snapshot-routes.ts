/**
 * Routes for snapshots of branches, as in the public API. A snapshot of `/sandbox/v1` holds the whole sandbox instead.
 */
import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { z } from "zod";
import { nameText, type SnapshotRecord } from "../../engine/records.ts";
import { newBranchBody, newBranchView } from "../codecs/branch.ts";
import {
  branchPath,
  codecOf,
  errorResponses,
  fieldsOf,
  givenTime,
  optionalTime,
  projectPath,
  timeOf,
  timestamp,
  timeText,
} from "../codecs/codec.ts";
import { operationBody, operationView } from "../codecs/operation.ts";
import type { ServerParts } from "../parts/server-parts.ts";

const field = fieldsOf<SnapshotRecord>();

const snapshot = codecOf<SnapshotRecord>()({
  id: field(z.string(), ({ id }) => id),
  name: field(z.string(), ({ name }) => name),
  timestamp: field(timestamp, ({ timestampMs }) => timeText(timestampMs)),
  source_branch_id: field(z.string(), ({ branchId }) => branchId),
  created_at: field(timestamp, ({ createdMs }) => timeText(createdMs)),
  expires_at: field(timestamp.optional(), ({ expiresMs }) => optionalTime(expiresMs)),
  manual: field(z.boolean(), () => true),
});

const view = snapshot.viewer();
const operations = z.array(operationBody);
const snapshotPath = projectPath.extend({ snapshot_id: z.string() });
const name = nameText(256).optional();

/** Adds the routes to list, create, rename, delete and restore branch snapshots. */
export function snapshotRoutes(app: FastifyInstance, parts: ServerParts): void {
  const { restores } = parts.engine;
  const routes = app.withTypeProvider<ZodTypeProvider>();
  routes.get(
    "/projects/:project_id/snapshots",
    {
      config: { summary: "List a project's snapshots" },
      schema: {
        params: projectPath,
        response: { 200: z.object({ snapshots: z.array(snapshot.body) }), ...errorResponses },
      },
    },
    async ({ params }) => ({ snapshots: restores.snapshots(params.project_id).map(view) }),
  );
  routes.post(
    "/projects/:project_id/branches/:branch_id/snapshot",
    {
      config: { summary: "Take a snapshot of a branch", notPlayed: ["lsn"], ignoresBody: true },
      schema: {
        params: branchPath,
        querystring: z.object({ name, timestamp: givenTime.optional(), expires_at: givenTime.optional() }),
        response: { 200: z.object({ snapshot: snapshot.body, operations }), ...errorResponses },
      },
    },
    async ({ params, query }) => {
      const { snapshot: made, operations: started } = restores.createSnapshot(
        { projectId: params.project_id, branchId: params.branch_id },
        {
          name: query.name,
          timestampMs: timeOf(query.timestamp),
          expiresMs: timeOf(query.expires_at),
        },
      );
      return {
        snapshot: view(made),
        operations: started.map((operation) => operationView(operation, parts.engine.profile)),
      };
    },
  );
  changeRoutes(app, parts);
}

function changeRoutes(app: FastifyInstance, { engine, databaseAddress }: ServerParts): void {
  const { restores } = engine;
  const routes = app.withTypeProvider<ZodTypeProvider>();
  routes.patch(
    "/projects/:project_id/snapshots/:snapshot_id",
    {
      config: { summary: "Rename a snapshot" },
      schema: {
        params: snapshotPath,
        body: z.object({ snapshot: z.object({ name }) }),
        response: { 200: z.object({ snapshot: snapshot.body }), ...errorResponses },
      },
    },
    async ({ params, body }) => ({
      snapshot: view(restores.renameSnapshot(idsOf(params), body.snapshot.name)),
    }),
  );
  routes.delete(
    "/projects/:project_id/snapshots/:snapshot_id",
    {
      config: { summary: "Delete a snapshot" },
      schema: { params: snapshotPath, response: { 202: z.object({ operations }), ...errorResponses } },
    },
    async ({ params }, reply) => {
      restores.deleteSnapshot(params.project_id, params.snapshot_id);
      return reply.code(202).send({ operations: [] });
    },
  );
  routes.post(
    "/projects/:project_id/snapshots/:snapshot_id/restore",
    {
      config: {
        summary: "Restore a snapshot to a new branch",
        notPlayed: ["target_branch_id", "finalize_restore"],
      },
      schema: {
        params: snapshotPath,
        querystring: z.object({ name }),
        body: z.object({ name }).nullish(),
        response: { 200: newBranchBody, ...errorResponses },
      },
    },
    async ({ params, query, body }) => {
      const restored = restores.restoreSnapshot(idsOf(params), body?.name ?? query.name);
      return newBranchView(restored, engine, databaseAddress?.());
    },
  );
}

function idsOf({ project_id: projectId, snapshot_id: snapshotId }: z.output<typeof snapshotPath>) {
  return { projectId, snapshotId };
}
