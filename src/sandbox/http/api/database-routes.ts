import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { z } from "zod";
import type { DatabaseMutation, DatabasePath } from "../../engine/databases.ts";
import { databaseView } from "../object-views.ts";
import { databaseBody, databaseCreateBody, databaseMutationBody, databaseUpdateBody } from "../object-wire.ts";
import type { ServerParts } from "../server-parts.ts";
import { operationView } from "../views.ts";
import { branchPath, databasePath, errorResponses } from "../wire.ts";
import { answerDelete } from "./delete-answer.ts";

const listPath = "/projects/:project_id/branches/:branch_id/databases";
const onePath = `${listPath}/:database_name`;

const pathOf = (params: z.output<typeof databasePath>): DatabasePath => ({
  projectId: params.project_id,
  branchId: params.branch_id,
  databaseName: params.database_name,
});

/** List, get, create, update and delete of a branch's databases. */
export function databaseRoutes(app: FastifyInstance, parts: ServerParts): void {
  const { objects } = parts.engine;
  const routes = app.withTypeProvider<ZodTypeProvider>();
  routes.get(
    listPath,
    {
      config: { summary: "List a branch's databases" },
      schema: {
        params: branchPath,
        response: { 200: z.object({ databases: z.array(databaseBody) }), ...errorResponses },
      },
    },
    async ({ params }) => ({ databases: objects.databases(params.project_id, params.branch_id).map(databaseView) }),
  );
  routes.get(
    onePath,
    {
      config: { summary: "Get a database" },
      schema: { params: databasePath, response: { 200: z.object({ database: databaseBody }), ...errorResponses } },
    },
    async ({ params }) => ({ database: databaseView(objects.database(pathOf(params))) }),
  );
  changeRoutes(app, parts);
}

function changeRoutes(app: FastifyInstance, { engine }: ServerParts): void {
  const { objects, profile } = engine;
  const view = ({ database, operations }: DatabaseMutation): z.output<typeof databaseMutationBody> => ({
    database: databaseView(database),
    operations: operations.map((operation) => operationView(operation, profile)),
  });
  const routes = app.withTypeProvider<ZodTypeProvider>();
  routes.post(
    listPath,
    {
      config: { summary: "Create a database" },
      schema: {
        params: branchPath,
        body: databaseCreateBody,
        response: { 201: databaseMutationBody, ...errorResponses },
      },
    },
    async ({ params, body: { database } }, reply) => {
      const path = pathOf({ ...params, database_name: database.name });
      return reply.code(201).send(view(objects.createDatabase(path, database.owner_name)));
    },
  );
  routes.patch(
    onePath,
    {
      config: { summary: "Rename a database or change its owner" },
      schema: {
        params: databasePath,
        body: databaseUpdateBody,
        response: { 200: databaseMutationBody, ...errorResponses },
      },
    },
    async ({ params, body: { database } }) => {
      const changes = { name: database.name, ownerName: database.owner_name };
      return view(objects.updateDatabase(pathOf(params), changes));
    },
  );
  routes.delete(
    onePath,
    {
      config: { summary: "Delete a database", ignoresBody: true },
      schema: { params: databasePath, response: { 200: databaseMutationBody, 204: z.undefined(), ...errorResponses } },
    },
    async ({ params }, reply) =>
      answerDelete(reply, profile, {
        remove: () => view(objects.deleteDatabase(pathOf(params))),
        requireParent: () => engine.branch(params.project_id, params.branch_id),
      }),
  );
}
