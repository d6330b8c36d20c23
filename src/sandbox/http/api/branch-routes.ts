/** Branches. */
import { z } from "zod";
import {
  annotationView,
  branchCreateBody,
  branchMutationView,
  branchRestoreBody,
  branchUpdateBody,
  branchView,
  newBranchView,
} from "../codecs/branch.ts";
import { timeOf } from "../codecs/codec.ts";
import { changesOf } from "../codecs/endpoint.ts";
import { pageQuery, sortedPage } from "../parts/lists.ts";
import type { PublicApi } from "./public-api.ts";

const listQuery = pageQuery(10_000).extend({
  cursor: z
    .string()
    .regex(/^[\w-]{1,400}$/, "is not the cursor of an earlier page of this list")
    .optional(),
  sort_by: z.enum(["name", "created_at", "updated_at"]).optional(),
  sort_order: z.enum(["asc", "desc"]).optional(),
});

const countQuery = z.object({ search: z.string().max(256).optional() });

export function branchRoutes(api: PublicApi): void {
  const { engine, computes } = api.parts;
  const { branchAnnotations } = engine.profile;
  api.play("listProjectBranches", { query: listQuery }, ({ ids, query }) => {
    const { items, pagination } = sortedPage(engine.branches(ids.projectId), query);
    const annotated = items.filter(({ annotation }) => annotation !== undefined);
    return {
      branches: items.map((branch) => branchView(branch, engine)),
      ...(branchAnnotations && {
        annotations: Object.fromEntries(annotated.map((branch) => [branch.id, annotationView(branch)])),
      }),
      pagination,
    };
  });
  api.play("countProjectBranches", { query: countQuery }, ({ ids, query: { search = "" } }) => ({
    count: engine.branches(ids.projectId).filter(({ name }) => name.includes(search)).length,
  }));
  api.play("getProjectBranch", {}, ({ ids }) => {
    const branch = engine.branch(ids.projectId, ids.branchId);
    return { branch: branchView(branch, engine), ...(branchAnnotations && { annotation: annotationView(branch) }) };
  });
  api.play("createProjectBranch", { body: branchCreateBody(engine.profile) }, ({ ids, body }) => {
    const { branch, endpoints = [] } = body ?? {};
    const created = engine.createBranch(ids.projectId, {
      name: branch?.name,
      parentId: branch?.parent_id === "" ? undefined : branch?.parent_id,
      protected: branch?.protected ?? false,
      parentTimestampMs: timeOf(branch?.parent_timestamp),
      initSource: branch?.init_source,
      expiresMs: timeOf(branch?.expires_at),
      annotation: body?.annotation_value,
      endpoints: endpoints.map(({ type, ...fields }) => ({ ...changesOf(fields), type })),
    });
    return newBranchView(created, engine, computes?.address);
  });
  changeRoutes(api);
}

function changeRoutes(api: PublicApi): void {
  const { engine } = api.parts;
  api.play("updateProjectBranch", { body: branchUpdateBody }, ({ ids, body: { branch } }) => {
    const { name, protected: isProtected, expires_at: expires } = branch;
    const changes = { name, protected: isProtected, expiresMs: expires === null ? null : timeOf(expires) };
    return branchMutationView(engine.updateBranch(ids, changes), engine);
  });
  api.play("setDefaultProjectBranch", {}, ({ ids }) =>
    branchMutationView(engine.makePrimary(ids.projectId, ids.branchId), engine),
  );
  api.play("restoreProjectBranch", { body: branchRestoreBody }, ({ ids, body }) => {
    const restored = engine.restores.restoreBranch(ids, {
      sourceBranchId: body.source_branch_id,
      sourceMs: timeOf(body.source_timestamp),
      preserveUnderName: body.preserve_under_name,
    });
    return branchMutationView(restored, engine);
  });
  // A deleted branch cannot be recovered.
  const query = z.object({ hard_delete: z.enum(["true"]).optional() });
  const parentOf = ({ projectId }: { readonly projectId: string }) => engine.project(projectId);
  api.play("deleteProjectBranch", { query, parentOf }, ({ ids }) =>
    branchMutationView(engine.deleteBranch(ids.projectId, ids.branchId), engine),
  );
}
