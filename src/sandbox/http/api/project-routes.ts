import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { z } from "zod";
import type { BranchEndpoint } from "../../engine/branches.ts";
import type { ProjectRecord } from "../../engine/records.ts";
import { newBranchView } from "../codecs/branch.ts";
import { errorResponses, projectPath } from "../codecs/codec.ts";
import { changesOf } from "../codecs/endpoint.ts";
import { operationView } from "../codecs/operation.ts";
import {
  newProjectBody,
  projectBody,
  projectCreateBody,
  projectMutationBody,
  projectUpdateBody,
  projectView,
} from "../codecs/project.ts";
import { pageOf, pageQuery } from "../parts/lists.ts";
import type { ServerParts } from "../parts/server-parts.ts";

const listBody = z.object({
  projects: z.array(projectBody),
  pagination: z.object({ cursor: z.string() }).optional(),
  applications: z.object({}),
  integrations: z.object({}),
});

/** List, get, create, update and delete of projects. */
export function projectRoutes(app: FastifyInstance, parts: ServerParts): void {
  const { engine } = parts;
  const view = (project: ProjectRecord) => projectView({ ...project, proxyHost: engine.proxyHost(project) });
  const routes = app.withTypeProvider<ZodTypeProvider>();
  routes.get(
    "/projects",
    {
      config: { summary: "List projects" },
      schema: { querystring: pageQuery(400), response: { 200: listBody, ...errorResponses } },
    },
    async ({ query, apiKey }) => {
      const only = apiKey?.projectId;
      const visible = engine.projects().filter(({ id }) => only === undefined || id === only);
      const { items, cursor } = pageOf(visible, { limit: engine.profile.projectsPerPage, ...query });
      const pagination = cursor === undefined ? {} : { pagination: { cursor } };
      return { projects: items.map(view), ...pagination, applications: {}, integrations: {} };
    },
  );
  routes.get(
    "/projects/shared",
    {
      config: { summary: "List projects that others share; there are never any" },
      schema: { querystring: pageQuery(400), response: { 200: listBody, ...errorResponses } },
    },
    async () => ({ projects: [], applications: {}, integrations: {} }),
  );
  routes.get(
    "/projects/:project_id",
    {
      config: { summary: "Get a project" },
      schema: { params: projectPath, response: { 200: z.object({ project: projectBody }), ...errorResponses } },
    },
    async ({ params }) => ({ project: view(engine.project(params.project_id)) }),
  );
  createRoute(app, parts);
  changeRoutes(app, parts);
}

function createRoute(app: FastifyInstance, { engine, databaseAddress }: ServerParts): void {
  const { profile } = engine;
  app.withTypeProvider<ZodTypeProvider>().post(
    "/projects",
    {
      config: { summary: "Create a project", isAccountWide: true },
      schema: { body: projectCreateBody(profile), response: { 201: newProjectBody, ...errorResponses } },
    },
    async ({ body: { project: asked } }, reply) => {
      const { name, region_id: regionId, pg_version: pgVersion, history_retention_seconds: retention, branch } = asked;
      // What stands next to the name counts more than what stands in the defaults.
      const given = Object.entries(changesOf(asked)).filter(([, value]) => value !== undefined);
      const endpoint = { ...changesOf(asked.default_endpoint_settings ?? {}), ...Object.fromEntries(given) };
      const created = engine.createProject({
        name,
        regionId,
        pgVersion,
        historyRetentionSeconds: retention,
        branchName: branch?.name,
        roleName: branch?.role_name,
        databaseName: branch?.database_name,
        endpoint: { ...endpoint, name: undefined } as Omit<BranchEndpoint, "type">,
      });
      return reply.code(201).send({
        project: projectView({ ...created.project, proxyHost: engine.proxyHost(created.project) }),
        ...newBranchView(created, profile, databaseAddress?.()),
      });
    },
  );
}

function changeRoutes(app: FastifyInstance, { engine }: ServerParts): void {
  const { profile } = engine;
  const routes = app.withTypeProvider<ZodTypeProvider>();
  routes.patch(
    "/projects/:project_id",
    {
      config: { summary: "Change a project's name or history retention" },
      schema: {
        params: projectPath,
        body: projectUpdateBody,
        response: { 200: projectMutationBody, ...errorResponses },
      },
    },
    async ({ params, body: { project: asked } }) => {
      const { project, operations } = engine.updateProject(params.project_id, {
        name: asked.name,
        historyRetentionSeconds: asked.history_retention_seconds,
      });
      return {
        project: projectView({ ...project, proxyHost: engine.proxyHost(project) }),
        operations: operations.map((operation) => operationView(operation, profile)),
      };
    },
  );
  routes.delete(
    "/projects/:project_id",
    {
      config: { summary: "Delete a project", ignoresBody: true, isAccountWide: true },
      schema: {
        params: projectPath,
        response: { 200: projectMutationBody.partial({ operations: true }), ...errorResponses },
      },
    },
    async ({ params }) => {
      const { project, operations } = engine.deleteProject(params.project_id);
      const view = projectView({ ...project, proxyHost: engine.proxyHost(project) });
      if (!profile.operationsOfDeletedProject) return { project: view };
      return { project: view, operations: operations.map((operation) => operationView(operation, profile)) };
    },
  );
}
