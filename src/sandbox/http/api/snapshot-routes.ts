/** Snapshots of branches. A snapshot of `/sandbox/v1` holds the whole sandbox instead. */
import { z } from "zod";
import { nameText, type SnapshotRecord } from "../../engine/records.ts";
import { newBranchView } from "../codecs/branch.ts";
import { givenTime, optionalTime, timeOf, timeText } from "../codecs/codec.ts";
import { operationViews } from "../codecs/operation.ts";
import type { PublicApi } from "./public-api.ts";

function view({ id, name, timestampMs, branchId, createdMs, expiresMs }: SnapshotRecord) {
  return {
    id,
    name,
    timestamp: timeText(timestampMs),
    source_branch_id: branchId,
    created_at: timeText(createdMs),
    expires_at: optionalTime(expiresMs),
    manual: true,
  };
}

const name = nameText(256).optional();
const creationQuery = z.object({ name, timestamp: givenTime.optional(), expires_at: givenTime.optional() });

export function snapshotRoutes(api: PublicApi): void {
  const { engine, computes } = api.parts;
  const { restores, profile } = engine;
  api.play("listSnapshots", {}, ({ ids }) => ({ snapshots: restores.snapshots(ids.projectId).map(view) }));
  api.play("createSnapshot", { query: creationQuery }, ({ ids, query }) => {
    const times = { timestampMs: timeOf(query.timestamp), expiresMs: timeOf(query.expires_at) };
    const { snapshot, operations } = restores.createSnapshot(ids, { name: query.name, ...times });
    return { snapshot: view(snapshot), operations: operationViews(operations, profile) };
  });
  const renaming = z.object({ snapshot: z.object({ name }) });
  api.play("updateSnapshot", { body: renaming }, ({ ids, body }) => ({
    snapshot: view(restores.renameSnapshot(ids, body.snapshot.name)),
  }));
  api.play("deleteSnapshot", {}, ({ ids }) => {
    restores.deleteSnapshot(ids.projectId, ids.snapshotId);
    return { operations: [] };
  });
  const target = z.object({ name });
  api.play("restoreSnapshot", { query: target, body: target.nullish() }, ({ ids, query, body }) =>
    newBranchView(restores.restoreSnapshot(ids, body?.name ?? query.name), engine, computes?.address),
  );
}
