/** Routes for compute endpoints. */
import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { z } from "zod";
import type { EndpointRecord } from "../../engine/records.ts";
import { Refusal } from "../../engine/refusal.ts";
import { endpointPath, errorResponses, projectPath } from "../codecs/codec.ts";
import {
  changesOf,
  createBody,
  endpointBody,
  endpointView,
  listedEndpointView,
  movingEndpointView,
  mutationBody,
  mutationView,
  unplayedSettingsAt,
  updateBody,
} from "../codecs/endpoint.ts";
import { operationView } from "../codecs/operation.ts";
import { answerDelete } from "../parts/errors.ts";
import { jsonType, ListBody } from "../parts/lists.ts";
import type { ServerParts } from "../parts/server-parts.ts";

/** Adds the routes to list, get, create, update and delete compute endpoints. */
export function endpointRoutes(app: FastifyInstance, { engine }: ServerParts): void {
  const { profile } = engine;
  const routes = app.withTypeProvider<ZodTypeProvider>();
  const list = new ListBody<EndpointRecord>({
    field: "endpoints",
    schema: endpointBody,
    view: (endpoint) => listedEndpointView(endpoint, profile),
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
      config: { summary: "Create a compute endpoint", notPlayed: unplayedSettingsAt("endpoint.settings") },
      schema: { params: projectPath, body: createBody(profile), response: { 201: mutationBody, ...errorResponses } },
    },
    async ({ params, body }, reply) => {
      const { branch_id: branchId, type, region_id: regionId } = body.endpoint;
      const region = engine.project(params.project_id).regionId;
      if (regionId !== undefined && regionId !== region) {
        throw new Refusal("Invalid", `endpoint.region_id: must be ${region}, the project's region`);
      }
      const mutation = engine.createEndpoint(params.project_id, { ...changesOf(body.endpoint), branchId, type });
      return reply.code(201).send(mutationView(mutation, profile));
    },
  );
  routes.patch(
    "/projects/:project_id/endpoints/:endpoint_id",
    {
      config: { summary: "Change or move a compute endpoint", notPlayed: unplayedSettingsAt("endpoint.settings") },
      schema: { params: endpointPath, body: updateBody(profile), response: { 200: mutationBody, ...errorResponses } },
    },
    async ({ params, body }) => {
      const changes = changesOf(body.endpoint);
      return mutationView(
        engine.updateEndpoint(params.project_id, { endpointId: params.endpoint_id, changes }),
        profile,
      );
    },
  );
  deleteRoute(app, engine);
}

function deleteRoute(app: FastifyInstance, engine: ServerParts["engine"]): void {
  const { profile } = engine;
  app.withTypeProvider<ZodTypeProvider>().delete(
    "/projects/:project_id/endpoints/:endpoint_id",
    {
      config: { summary: "Delete a compute endpoint" },
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

/** Adds the routes to start, suspend and restart a compute. */
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
