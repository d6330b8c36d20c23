/** Routes for branches. */
import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { z } from "zod";
import type { BranchMutation } from "../../engine/branches.ts";
import {
  annotationBody,
  annotationView,
  branchBody,
  branchCreateBody,
  branchMutationBody,
  branchRestoreBody,
  branchUpdateBody,
  branchView,
  newBranchBody,
  newBranchView,
} from "../codecs/branch.ts";
import { branchPath, errorResponses, projectPath, timeOf } from "../codecs/codec.ts";
import { changesOf, endpointBody, listedEndpointView, unplayedSettingsAt } from "../codecs/endpoint.ts";
import { operationView } from "../codecs/operation.ts";
import { answerDelete } from "../parts/errors.ts";
import { pageQuery, sortedPage } from "../parts/lists.ts";
import type { ServerParts } from "../parts/server-parts.ts";

/**
 * The answer to a list of branches. `annotations` has the branches with an annotation, by id. `next` is missing on the
 * last page.
 */
const listBody = z.object({
  branches: z.array(branchBody),
  annotations: z.record(z.string(), annotationBody),
  pagination: z.object({ next: z.string(), sort_by: z.string(), sort_order: z.string() }).partial().optional(),
});

const listQuery = pageQuery(10_000).extend({
  cursor: z
    .string()
    .regex(/^[\w-]{1,400}$/, "is not the cursor of an earlier page of this list")
    .optional(),
  sort_by: z.enum(["name", "created_at", "updated_at"]).optional(),
  sort_order: z.enum(["asc", "desc"]).optional(),
});

/** Adds the routes to list, count, get, create, update, restore and delete branches, and to make one primary. */
export function branchRoutes(app: FastifyInstance, parts: ServerParts): void {
  const { engine } = parts;
  const routes = app.withTypeProvider<ZodTypeProvider>();
  routes.get(
    "/projects/:project_id/branches",
    {
      config: { summary: "List a project's branches", notPlayed: ["include_deleted"] },
      schema: { params: projectPath, querystring: listQuery, response: { 200: listBody, ...errorResponses } },
    },
    async ({ params, query }) => {
      const { items, next, sorting } = sortedPage(engine.branches(params.project_id), query);
      const pagination = { ...sorting, ...(next === undefined ? {} : { next }) };
      return {
        branches: items.map((branch) => branchView(branch, engine)),
        annotations: Object.fromEntries(
          items
            .filter(({ annotation }) => annotation !== undefined)
            .map((branch) => [branch.id, annotationView(branch)]),
        ),
        ...(Object.keys(pagination).length === 0 ? {} : { pagination }),
      };
    },
  );
  routes.get(
    "/projects/:project_id/branches/count",
    {
      config: { summary: "Count a project's branches" },
      schema: {
        params: projectPath,
        querystring: z.object({ search: z.string().max(256).optional() }),
        response: { 200: z.object({ count: z.int() }), ...errorResponses },
      },
    },
    async ({ params, query: { search = "" } }) => {
      return { count: engine.branches(params.project_id).filter(({ name }) => name.includes(search)).length };
    },
  );
  routes.get(
    "/projects/:project_id/branches/:branch_id",
    {
      config: { summary: "Get a branch" },
      schema: {
        params: branchPath,
        response: { 200: z.object({ branch: branchBody, annotation: annotationBody }), ...errorResponses },
      },
    },
    async ({ params }) => {
      const branch = engine.branch(params.project_id, params.branch_id);
      return { branch: branchView(branch, engine), annotation: annotationView(branch) };
    },
  );
  endpointsRoute(app, parts);
  createRoute(app, parts);
  changeRoutes(app, parts);
}

function endpointsRoute(app: FastifyInstance, { engine }: ServerParts): void {
  const { profile } = engine;
  app.withTypeProvider<ZodTypeProvider>().get(
    "/projects/:project_id/branches/:branch_id/endpoints",
    {
      config: { summary: "List a branch's compute endpoints" },
      schema: {
        params: branchPath,
        response: { 200: z.object({ endpoints: z.array(endpointBody) }), ...errorResponses },
      },
    },
    async ({ params }) => {
      const { id } = engine.branch(params.project_id, params.branch_id);
      const endpoints = engine.endpoints(params.project_id).filter(({ branchId }) => branchId === id);
      return { endpoints: endpoints.map((endpoint) => listedEndpointView(endpoint, profile)) };
    },
  );
}

function createRoute(app: FastifyInstance, { engine, databaseAddress }: ServerParts): void {
  const { profile } = engine;
  app.withTypeProvider<ZodTypeProvider>().post(
    "/projects/:project_id/branches",
    {
      config: {
        summary: "Create a branch, with or without compute endpoints",
        notPlayed: ["branch.parent_lsn", "branch.archived", ...unplayedSettingsAt("endpoints.*.settings")],
      },
      schema: {
        params: projectPath,
        body: branchCreateBody(profile),
        response: { 201: newBranchBody, ...errorResponses },
      },
    },
    async ({ params, body }, reply) => {
      const { branch, endpoints = [] } = body ?? {};
      const created = engine.createBranch(params.project_id, {
        name: branch?.name,
        parentId: branch?.parent_id === "" ? undefined : branch?.parent_id,
        protected: branch?.protected ?? false,
        parentTimestampMs: timeOf(branch?.parent_timestamp),
        initSource: branch?.init_source,
        expiresMs: timeOf(branch?.expires_at),
        annotation: body?.annotation_value,
        endpoints: endpoints.map(({ type, ...fields }) => ({ ...changesOf(fields), type })),
      });
      return reply.code(201).send(newBranchView(created, engine, databaseAddress?.()));
    },
  );
}

function changeRoutes(app: FastifyInstance, { engine }: ServerParts): void {
  const { profile } = engine;
  const view = ({ branch, operations }: BranchMutation): z.output<typeof branchMutationBody> => ({
    branch: branchView(branch, engine),
    operations: operations.map((operation) => operationView(operation, profile)),
  });
  const routes = app.withTypeProvider<ZodTypeProvider>();
  const response = { 200: branchMutationBody, ...errorResponses };
  routes.patch(
    "/projects/:project_id/branches/:branch_id",
    {
      config: { summary: "Rename or protect a branch, or set when it expires" },
      schema: { params: branchPath, body: branchUpdateBody, response },
    },
    async ({ params, body: { branch } }) => {
      const { name, protected: isProtected, expires_at: expires } = branch;
      const changes = { name, protected: isProtected, expiresMs: expires === null ? null : timeOf(expires) };
      return view(engine.updateBranch(idsOf(params), changes));
    },
  );
  routes.post(
    "/projects/:project_id/branches/:branch_id/set_as_default",
    {
      config: { summary: "Make a branch the project's primary one", ignoresBody: true },
      schema: { params: branchPath, response },
    },
    async ({ params }) => view(engine.makePrimary(params.project_id, params.branch_id)),
  );
  routes.post(
    "/projects/:project_id/branches/:branch_id/restore",
    {
      config: {
        summary: "Restore a branch from another one, or from an earlier time",
        notPlayed: ["source_lsn"],
      },
      schema: { params: branchPath, body: branchRestoreBody, response },
    },
    async ({ params, body }) =>
      view(
        engine.restores.restoreBranch(idsOf(params), {
          sourceBranchId: body.source_branch_id,
          sourceMs: timeOf(body.source_timestamp),
          preserveUnderName: body.preserve_under_name,
        }),
      ),
  );
  routes.delete(
    "/projects/:project_id/branches/:branch_id",
    {
      config: { summary: "Delete a branch with its compute endpoints", notPlayed: ["hard_delete=false"] },
      schema: { params: branchPath, response: { ...response, 204: z.undefined() } },
    },
    async ({ params }, reply) =>
      answerDelete(reply, profile, {
        remove: () => view(engine.deleteBranch(params.project_id, params.branch_id)),
        requireParent: () => engine.project(params.project_id),
      }),
  );
}

function idsOf({ project_id: projectId, branch_id: branchId }: z.output<typeof branchPath>) {
  return { projectId, branchId };
}
