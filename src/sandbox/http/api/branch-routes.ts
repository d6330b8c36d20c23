import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { z } from "zod";
import type { ServerParts } from "../server-parts.ts";
import { branchView } from "../views.ts";
import { branchBody, branchPath, errorResponses, projectPath } from "../wire.ts";

/** `annotations` is empty, and there because a client reads it; all branches are on one page, so there is no `next`. */
const listBody = z.object({ branches: z.array(branchBody), annotations: z.object({}) });

/** Reads of a project's branches. */
export function branchRoutes(app: FastifyInstance, { engine }: ServerParts): void {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  routes.get(
    "/projects/:project_id/branches",
    { schema: { params: projectPath, response: { 200: listBody, ...errorResponses } } },
    async ({ params }) => ({ branches: engine.branches(params.project_id).map(branchView), annotations: {} }),
  );
  routes.get(
    "/projects/:project_id/branches/:branch_id",
    { schema: { params: branchPath, response: { 200: z.object({ branch: branchBody }), ...errorResponses } } },
    async ({ params }) => ({ branch: branchView(engine.branch(params.project_id, params.branch_id)) }),
  );
}
