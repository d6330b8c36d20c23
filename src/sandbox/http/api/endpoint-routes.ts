import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { z } from "zod";
import type { EndpointRecord } from "../../engine/records.ts";
import { jsonType, ListBody } from "../list-body.ts";
import type { ServerParts } from "../server-parts.ts";
import { changesOf, endpointView, movingEndpointView, mutationView, operationView } from "../views.ts";
import {
  createBody,
  endpointBody,
  endpointPath,
  errorResponses,
  mutationBody,
  projectPath,
  updateBody,
} from "../wire.ts";
import { answerDelete } from "./delete-answer.ts";

/** List, get, create, update and delete of compute endpoints. @see seed part 4 */
export function endpointRoutes(app: FastifyInstance, { engine }: ServerParts): void {
  const { profile } = engine;
  const routes = app.withTypeProvider<ZodTypeProvider>();
  const listView = profile.pendingStateInLists ? movingEndpointView : endpointView;
  const list = new ListBody<EndpointRecord>({
    field: "endpoints",
    schema: endpointBody,
    view: (endpoint) => listView(endpoint, profile),
  });
  routes.get(
    "/projects/:project_id/endpoints",
    {
      config: { summary: "List compute endpoints" },
      schema: {
        params: projectPath,
        response: { 200: z.object({ endpoints: z.array(endpointBody) }), ...errorResponses },
      },
    },
    async ({ params }, reply) => reply.type(jsonType).send(list.of(engine.endpoints(params.project_id)) as never),
  );
  routes.get(
    "/projects/:project_id/endpoints/:endpoint_id",
    {
      config: { summary: "Get a compute endpoint" },
      schema: { params: endpointPath, response: { 200: z.object({ endpoint: endpointBody }), ...errorResponses } },
    },
    async ({ params }) => {
      return { endpoint: movingEndpointView(engine.endpoint(params.project_id, params.endpoint_id), profile) };
    },
  );
  routes.post(
    "/projects/:project_id/endpoints",
    {
      config: { summary: "Create a compute endpoint" },
      schema: { params: projectPath, body: createBody(profile), response: { 201: mutationBody, ...errorResponses } },
    },
    async ({ params, body }, reply) => {
      const { branch_id: branchId, type } = body.endpoint;
      const mutation = engine.createEndpoint(params.project_id, { ...changesOf(body.endpoint), branchId, type });
      return reply.code(201).send(mutationView(mutation, profile));
    },
  );
  routes.patch(
    "/projects/:project_id/endpoints/:endpoint_id",
    {
      config: { summary: "Change or move a compute endpoint" },
      schema: { params: endpointPath, body: updateBody(profile), response: { 200: mutationBody, ...errorResponses } },
    },
    async ({ params, body }) => {
      const changes = changesOf(body.endpoint);
      return mutationView(engine.updateEndpoint(params.project_id, params.endpoint_id, changes), profile);
    },
  );
  deleteRoute(app, engine);
}

function deleteRoute(app: FastifyInstance, engine: ServerParts["engine"]): void {
  const { profile } = engine;
  app.withTypeProvider<ZodTypeProvider>().delete(
    "/projects/:project_id/endpoints/:endpoint_id",
    {
      config: { summary: "Delete a compute endpoint", ignoresBody: true },
      schema: { params: endpointPath, response: { 200: mutationBody, 204: z.undefined(), ...errorResponses } },
    },
    async ({ params }, reply) =>
      answerDelete(reply, profile, {
        remove: () => {
          const { endpoint, operations } = engine.deleteEndpoint(params.project_id, params.endpoint_id);
          return {
            endpoint: endpointView(endpoint, profile),
            operations: operations.map((operation) => operationView(operation, profile)),
          };
        },
        requireParent: () => engine.project(params.project_id),
      }),
  );
}
