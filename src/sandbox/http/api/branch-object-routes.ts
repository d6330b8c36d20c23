/** Routes for roles, databases and connection strings. */
import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { z } from "zod";
import type { DatabaseMutation, DatabasePath, RoleMutation, RolePath } from "../../engine/branch-contents.ts";
import { nameText } from "../../engine/records.ts";
import {
  connectionUri,
  databaseBody,
  databaseCreateBody,
  databaseMutationBody,
  databaseUpdateBody,
  databaseView,
  newRoleView,
  roleBody,
  roleCreateBody,
  roleMutationBody,
  roleView,
} from "../codecs/branch-objects.ts";
import { branchPath, databasePath, errorResponses, projectPath, rolePath } from "../codecs/codec.ts";
import { operationView } from "../codecs/operation.ts";
import { answerDelete } from "../parts/errors.ts";
import type { ServerParts } from "../parts/server-parts.ts";

const rolesPath = "/projects/:project_id/branches/:branch_id/roles";
const oneRolePath = `${rolesPath}/:role_name`;

const rolePathOf = (params: z.output<typeof rolePath>): RolePath => ({
  projectId: params.project_id,
  branchId: params.branch_id,
  roleName: params.role_name,
});

/** Adds the routes to list, get, create and delete roles, and to show or reset their passwords. */
export function roleRoutes(app: FastifyInstance, parts: ServerParts): void {
  const { objects } = parts.engine;
  const routes = app.withTypeProvider<ZodTypeProvider>();
  routes.get(
    rolesPath,
    {
      config: { summary: "List a branch's roles" },
      schema: { params: branchPath, response: { 200: z.object({ roles: z.array(roleBody) }), ...errorResponses } },
    },
    async ({ params }) => ({ roles: objects.roles(params.project_id, params.branch_id).map(roleView) }),
  );
  routes.get(
    oneRolePath,
    {
      config: { summary: "Get a role" },
      schema: { params: rolePath, response: { 200: z.object({ role: roleBody }), ...errorResponses } },
    },
    async ({ params }) => ({ role: roleView(objects.role(rolePathOf(params))) }),
  );
  routes.post(
    rolesPath,
    {
      config: { summary: "Create a role" },
      schema: { params: branchPath, body: roleCreateBody, response: { 201: roleMutationBody, ...errorResponses } },
    },
    async ({ params, body: { role } }, reply) => {
      const path = rolePathOf({ ...params, role_name: role.name });
      return reply
        .code(201)
        .send(roleMutationView(parts, objects.createRole(path, { canLogIn: !role.no_login }), true));
    },
  );
  routes.delete(
    oneRolePath,
    {
      config: { summary: "Delete a role" },
      schema: { params: rolePath, response: { 200: roleMutationBody, 204: z.undefined(), ...errorResponses } },
    },
    async ({ params }, reply) =>
      answerDelete(reply, parts.engine.profile, {
        remove: () => roleMutationView(parts, objects.deleteRole(rolePathOf(params)), false),
        requireParent: () => parts.engine.branch(params.project_id, params.branch_id),
      }),
  );
  passwordRoutes(app, parts);
}

function passwordRoutes(app: FastifyInstance, parts: ServerParts): void {
  const { objects } = parts.engine;
  const routes = app.withTypeProvider<ZodTypeProvider>();
  routes.get(
    `${oneRolePath}/reveal_password`,
    {
      config: { summary: "Show a role's password", revealsSecret: true },
      schema: { params: rolePath, response: { 200: z.object({ password: z.string() }), ...errorResponses } },
    },
    async ({ params }) => {
      const password = objects.password(rolePathOf(params));
      return { password };
    },
  );
  routes.post(
    `${oneRolePath}/reset_password`,
    {
      config: { summary: "Give a role a new password", ignoresBody: true },
      schema: { params: rolePath, response: { 200: roleMutationBody, ...errorResponses } },
    },
    async ({ params }) => roleMutationView(parts, objects.resetPassword(rolePathOf(params)), true),
  );
}

function roleMutationView({ engine }: ServerParts, { role, operations }: RoleMutation, isNew: boolean) {
  return {
    role: isNew ? newRoleView(role) : roleView(role),
    operations: operations.map((operation) => operationView(operation, engine.profile)),
  };
}

const databasesPath = "/projects/:project_id/branches/:branch_id/databases";
const oneDatabasePath = `${databasesPath}/:database_name`;

const databasePathOf = (params: z.output<typeof databasePath>): DatabasePath => ({
  projectId: params.project_id,
  branchId: params.branch_id,
  databaseName: params.database_name,
});

/** Adds the routes to list, get, create, update and delete databases. */
export function databaseRoutes(app: FastifyInstance, parts: ServerParts): void {
  const { objects } = parts.engine;
  const routes = app.withTypeProvider<ZodTypeProvider>();
  routes.get(
    databasesPath,
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
    oneDatabasePath,
    {
      config: { summary: "Get a database" },
      schema: { params: databasePath, response: { 200: z.object({ database: databaseBody }), ...errorResponses } },
    },
    async ({ params }) => ({ database: databaseView(objects.database(databasePathOf(params))) }),
  );
  databaseChangeRoutes(app, parts);
}

function databaseChangeRoutes(app: FastifyInstance, { engine }: ServerParts): void {
  const { objects, profile } = engine;
  const view = ({ database, operations }: DatabaseMutation): z.output<typeof databaseMutationBody> => ({
    database: databaseView(database),
    operations: operations.map((operation) => operationView(operation, profile)),
  });
  const routes = app.withTypeProvider<ZodTypeProvider>();
  routes.post(
    databasesPath,
    {
      config: { summary: "Create a database" },
      schema: {
        params: branchPath,
        body: databaseCreateBody,
        response: { 201: databaseMutationBody, ...errorResponses },
      },
    },
    async ({ params, body: { database } }, reply) => {
      const path = databasePathOf({ ...params, database_name: database.name });
      return reply.code(201).send(view(objects.createDatabase(path, database.owner_name)));
    },
  );
  routes.patch(
    oneDatabasePath,
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
      return view(objects.updateDatabase(databasePathOf(params), changes));
    },
  );
  routes.delete(
    oneDatabasePath,
    {
      config: { summary: "Delete a database" },
      schema: { params: databasePath, response: { 200: databaseMutationBody, 204: z.undefined(), ...errorResponses } },
    },
    async ({ params }, reply) =>
      answerDelete(reply, profile, {
        remove: () => view(objects.deleteDatabase(databasePathOf(params))),
        requireParent: () => engine.branch(params.project_id, params.branch_id),
      }),
  );
}

const targetQuery = z.object({
  branch_id: z.string().max(64).optional(),
  endpoint_id: z.string().max(64).optional(),
  database_name: nameText(63),
  role_name: nameText(63),
  pooled: z.enum(["true", "false"]).optional(),
});

export function connectionRoutes(app: FastifyInstance, { engine, databaseAddress }: ServerParts): void {
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
      return { uri: connectionUri({ ...connection, address: databaseAddress?.() }, query.pooled === "true") };
    },
  );
}
