import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { z } from "zod";
import type { ServerParts } from "../server-parts.ts";
import { projectView } from "../views.ts";
import { errorResponses, projectBody, projectPath } from "../wire.ts";

/** Reads of projects. */
export function projectRoutes(app: FastifyInstance, { engine }: ServerParts): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  routes.get(
    "/projects",
    { schema: { response: { 200: z.object({ projects: z.array(projectBody) }), ...errorResponses } } },
    async () => ({ projects: engine.projects().map((project) => projectView(project, engine.proxyHost(project))) }),
  );
  routes.get(
    "/projects/:project_id",
    { schema: { params: projectPath, response: { 200: z.object({ project: projectBody }), ...errorResponses } } },
    async ({ params }) => {
      const project = engine.project(params.project_id);
      return { project: projectView(project, engine.proxyHost(project)) };
    },
  );
}
