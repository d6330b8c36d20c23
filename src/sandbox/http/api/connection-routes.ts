import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { z } from "zod";
import { nameText } from "../../name-text.ts";
import { connectionUri } from "../object-views.ts";
import type { ServerParts } from "../server-parts.ts";
import { errorResponses, projectPath } from "../wire.ts";

const targetQuery = z.object({
  branch_id: z.string().max(64).optional(),
  endpoint_id: z.string().max(64).optional(),
  database_name: nameText(63),
  role_name: nameText(63),
  pooled: z.enum(["true", "false"]).optional(),
});

/** How to connect to a database. */
export function connectionRoutes(app: FastifyInstance, { engine }: ServerParts): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    "/projects/:project_id/connection_uri",
    {
      config: { summary: "Get a connection string", revealsSecret: true },
      schema: {
        params: projectPath,
        querystring: targetQuery,
        response: { 200: z.object({ uri: z.string() }), ...errorResponses },
      },
    },
    async ({ params, query }) => {
      const connection = engine.objects.connection(params.project_id, {
        branchId: query.branch_id,
        endpointId: query.endpoint_id,
        databaseName: query.database_name,
        roleName: query.role_name,
      });
      return { uri: connectionUri(connection, query.pooled === "true") };
    },
  );
}
