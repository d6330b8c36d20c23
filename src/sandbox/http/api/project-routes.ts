/** Routes for projects. */
import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { z } from "zod";
import type { ProjectRecord } from "../../engine/records.ts";
import { branchBody, branchView, newBranchView } from "../codecs/branch.ts";
import { errorResponses, objectId, projectPath } from "../codecs/codec.ts";
import { operationView } from "../codecs/operation.ts";
import {
  endpointDefaultsOf,
  newProjectBody,
  projectBody,
  projectCreateBody,
  projectMutationBody,
  projectUpdateBody,
  projectView,
  unplayedProjectFields,
} from "../codecs/project.ts";
import { pageOf, pageQuery, queryInteger } from "../parts/lists.ts";
import type { ServerParts } from "../parts/server-parts.ts";

const listBody = z.object({
  projects: z.array(projectBody),
  pagination: z.object({ cursor: z.string() }).optional(),
  applications: z.object({}),
  integrations: z.object({}),
});

/** The query of the list. The parameter `timeout` has no effect, because the sandbox answers at once. */
const sharedQuery = pageQuery(400).extend({ timeout: queryInteger(100, 30_000).optional() });

const projectQuery = sharedQuery.extend({
  org_id: objectId.optional(),
  recoverable: z.enum(["true", "false"]).optional(),
});

/** Adds the routes to list, get, create, update, delete and recover projects. */
export function projectRoutes(app: FastifyInstance, parts: ServerParts): void {
  const { engine } = parts;
  const view = (project: ProjectRecord) => projectView(project, engine);
  const routes = app.withTypeProvider<ZodTypeProvider>();
  routes.get(
    "/projects",
    {
      config: { summary: "List projects" },
      schema: { querystring: projectQuery, response: { 200: listBody, ...errorResponses } },
    },
    async ({ query, apiKey }) => {
      const { org_id: orgId, recoverable } = query;
      const only = apiKey?.projectId;
      const all = recoverable === "true" ? engine.restores.recoverableProjects() : engine.projects();
      const visible = all.filter(
        (project) => (only === undefined || project.id === only) && (orgId === undefined || project.orgId === orgId),
      );
      const { items, cursor } = pageOf(visible, { limit: engine.profile.projectsPerPage, ...query });
      const pagination = cursor === undefined ? {} : { pagination: { cursor } };
      return { projects: items.map(view), ...pagination, applications: {}, integrations: {} };
    },
  );
  routes.get(
    "/projects/shared",
    {
      config: { summary: "List projects that others share; there are never any" },
      schema: { querystring: sharedQuery, response: { 200: listBody, ...errorResponses } },
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
      config: { summary: "Create a project", isAccountWide: true, notPlayed: unplayedProjectFields },
      schema: { body: projectCreateBody(profile), response: { 201: newProjectBody, ...errorResponses } },
    },
    async ({ body: { project: asked } }, reply) => {
      const { region_id: regionId, pg_version: pgVersion, history_retention_seconds: retention, branch } = asked;
      const { autoscaling_limit_min_cu, autoscaling_limit_max_cu } = asked;
      const sizes = endpointDefaultsOf({ autoscaling_limit_min_cu, autoscaling_limit_max_cu });
      const defaults = endpointDefaultsOf(asked.default_endpoint_settings);
      const created = engine.createProject({
        name: asked.name,
        regionId,
        pgVersion,
        historyRetentionSeconds: retention,
        branchName: branch?.name,
        roleName: branch?.role_name,
        databaseName: branch?.database_name,
        annotation: branch?.annotations,
        orgId: asked.org_id,
        provisioner: asked.provisioner,
        storePasswords: asked.store_passwords,
        settings: asked.settings,
        // If the request gives a size both directly and in `default_endpoint_settings`, the direct one is used.
        endpointDefaults: sizes === undefined ? defaults : { ...defaults, ...sizes },
      });
      return reply.code(201).send({
        project: projectView(created.project, engine),
        ...newBranchView(created, engine, databaseAddress?.()),
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
      config: { summary: "Change a project's name or settings", notPlayed: unplayedProjectFields },
      schema: {
        params: projectPath,
        body: projectUpdateBody(profile),
        response: { 200: projectMutationBody, ...errorResponses },
      },
    },
    async ({ params, body: { project: asked } }) => {
      const { project, operations } = engine.updateProject(params.project_id, {
        name: asked.name,
        historyRetentionSeconds: asked.history_retention_seconds,
        settings: asked.settings,
        endpointDefaults: endpointDefaultsOf(asked.default_endpoint_settings),
      });
      return {
        project: projectView(project, engine),
        operations: operations.map((operation) => operationView(operation, profile)),
      };
    },
  );
  routes.post(
    "/projects/:project_id/recover",
    {
      config: { summary: "Recover a deleted project", ignoresBody: true, isAccountWide: true },
      schema: {
        params: projectPath,
        response: { 200: z.object({ project: projectBody, branches: z.array(branchBody) }), ...errorResponses },
      },
    },
    async ({ params }) => {
      const { project, branches } = engine.restores.recoverProject(params.project_id);
      return { project: projectView(project, engine), branches: branches.map((branch) => branchView(branch, engine)) };
    },
  );
  routes.delete(
    "/projects/:project_id",
    {
      config: { summary: "Delete a project", isAccountWide: true },
      schema: {
        params: projectPath,
        response: { 200: projectMutationBody.partial({ operations: true }), ...errorResponses },
      },
    },
    async ({ params }) => {
      const { project, operations } = engine.deleteProject(params.project_id);
      const view = projectView(project, engine);
      if (!profile.operationsOfDeletedProject) return { project: view };
      return { project: view, operations: operations.map((operation) => operationView(operation, profile)) };
    },
  );
}
