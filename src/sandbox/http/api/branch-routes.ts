import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { z } from "zod";
import type { BranchMutation } from "../../engine/branches.ts";
import {
  branchBody,
  branchCreateBody,
  branchMutationBody,
  branchUpdateBody,
  branchView,
  newBranchBody,
  newBranchView,
} from "../codecs/branch.ts";
import { branchPath, errorResponses, projectPath } from "../codecs/codec.ts";
import { changesOf, endpointBody, listedEndpointView } from "../codecs/endpoint.ts";
import { operationView } from "../codecs/operation.ts";
import { answerDelete } from "../parts/errors.ts";
import { pageOf, pageQuery } from "../parts/lists.ts";
import type { ServerParts } from "../parts/server-parts.ts";

/** `annotations` is empty, and there because a client reads it. `next` is not there on the last page. */
const listBody = z.object({
  branches: z.array(branchBody),
  annotations: z.object({}),
  pagination: z.object({ next: z.string() }).optional(),
});

/** List, get, create, update and delete of a project's branches. */
export function branchRoutes(app: FastifyInstance, parts: ServerParts): void {
  const { engine } = parts;
  const routes = app.withTypeProvider<ZodTypeProvider>();
  routes.get(
    "/projects/:project_id/branches",
    {
      config: { summary: "List a project's branches" },
      schema: { params: projectPath, querystring: pageQuery(10_000), response: { 200: listBody, ...errorResponses } },
    },
    async ({ params, query }) => {
      const { items, cursor, isLast } = pageOf(engine.branches(params.project_id), query);
      const pagination = isLast || cursor === undefined ? {} : { pagination: { next: cursor } };
      return { branches: items.map(branchView), annotations: {}, ...pagination };
    },
  );
  routes.get(
    "/projects/:project_id/branches/:branch_id",
    {
      config: { summary: "Get a branch" },
      schema: {
        params: branchPath,
        response: { 200: z.object({ branch: branchBody }), ...errorResponses },
      },
    },
    async ({ params }) => ({ branch: branchView(engine.branch(params.project_id, params.branch_id)) }),
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
      config: { summary: "Create a branch, with or without compute endpoints" },
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
        endpoints: endpoints.map(({ type, ...fields }) => ({ ...changesOf(fields), type })),
      });
      return reply.code(201).send(newBranchView(created, profile, databaseAddress?.()));
    },
  );
}

function changeRoutes(app: FastifyInstance, { engine }: ServerParts): void {
  const { profile } = engine;
  const view = ({ branch, operations }: BranchMutation): z.output<typeof branchMutationBody> => ({
    branch: branchView(branch),
    operations: operations.map((operation) => operationView(operation, profile)),
  });
  const routes = app.withTypeProvider<ZodTypeProvider>();
  const response = { 200: branchMutationBody, ...errorResponses };
  routes.patch(
    "/projects/:project_id/branches/:branch_id",
    {
      config: { summary: "Rename or protect a branch" },
      schema: { params: branchPath, body: branchUpdateBody, response },
    },
    async ({ params, body: { branch } }) => view(engine.updateBranch(params.project_id, params.branch_id, branch)),
  );
  routes.post(
    "/projects/:project_id/branches/:branch_id/set_as_default",
    {
      config: { summary: "Make a branch the project's primary one", ignoresBody: true },
      schema: { params: branchPath, response },
    },
    async ({ params }) => view(engine.makePrimary(params.project_id, params.branch_id)),
  );
  routes.delete(
    "/projects/:project_id/branches/:branch_id",
    {
      config: { summary: "Delete a branch with its compute endpoints", ignoresBody: true },
      schema: { params: branchPath, response: { ...response, 204: z.undefined() } },
    },
    async ({ params }, reply) =>
      answerDelete(reply, profile, {
        remove: () => view(engine.deleteBranch(params.project_id, params.branch_id)),
        requireParent: () => engine.project(params.project_id),
      }),
  );
}
