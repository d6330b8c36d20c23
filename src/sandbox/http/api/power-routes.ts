import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import type { ServerParts } from "../server-parts.ts";
import { mutationView } from "../views.ts";
import { endpointPath, errorResponses, mutationBody } from "../wire.ts";

/** Start, suspend and restart of a compute: no body, the answer of an update. */
export function powerRoutes(app: FastifyInstance, { engine }: ServerParts): void {
  const schema = { params: endpointPath, response: { 200: mutationBody, ...errorResponses } };
  const calls = {
    start: (projectId: string, endpointId: string) => engine.startEndpoint(projectId, endpointId),
    suspend: (projectId: string, endpointId: string) => engine.suspendEndpoint(projectId, endpointId),
    restart: (projectId: string, endpointId: string) => engine.restartEndpoint(projectId, endpointId),
  };
  for (const [verb, call] of Object.entries(calls)) {
    app
      .withTypeProvider<ZodTypeProvider>()
      .post(
        `/projects/:project_id/endpoints/:endpoint_id/${verb}`,
        { schema, config: { summary: `${verb[0]?.toUpperCase()}${verb.slice(1)} a compute`, ignoresBody: true } },
        async ({ params }) => mutationView(call(params.project_id, params.endpoint_id), engine.profile),
      );
  }
}
