import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { z } from "zod";
import { Refusal } from "../../engine/refusal.ts";
import type { RoleMutation, RolePath } from "../../engine/roles.ts";
import { newRoleView, roleView } from "../object-views.ts";
import { roleBody, roleCreateBody, roleMutationBody } from "../object-wire.ts";
import type { ServerParts } from "../server-parts.ts";
import { operationView } from "../views.ts";
import { branchPath, errorResponses, rolePath } from "../wire.ts";
import { answerDelete } from "./delete-answer.ts";

const listPath = "/projects/:project_id/branches/:branch_id/roles";
const onePath = `${listPath}/:role_name`;

const pathOf = (params: z.output<typeof rolePath>): RolePath => ({
  projectId: params.project_id,
  branchId: params.branch_id,
  roleName: params.role_name,
});

/** List, get, create and delete of a branch's roles. */
export function roleRoutes(app: FastifyInstance, parts: ServerParts): void {
  const { objects } = parts.engine;
  const routes = app.withTypeProvider<ZodTypeProvider>();
  routes.get(
    listPath,
    {
      config: { summary: "List a branch's roles" },
      schema: { params: branchPath, response: { 200: z.object({ roles: z.array(roleBody) }), ...errorResponses } },
    },
    async ({ params }) => ({ roles: objects.roles(params.project_id, params.branch_id).map(roleView) }),
  );
  routes.get(
    onePath,
    {
      config: { summary: "Get a role" },
      schema: { params: rolePath, response: { 200: z.object({ role: roleBody }), ...errorResponses } },
    },
    async ({ params }) => ({ role: roleView(objects.role(pathOf(params))) }),
  );
  routes.post(
    listPath,
    {
      config: { summary: "Create a role" },
      schema: { params: branchPath, body: roleCreateBody, response: { 201: roleMutationBody, ...errorResponses } },
    },
    async ({ params, body: { role } }, reply) => {
      const path = pathOf({ ...params, role_name: role.name });
      return reply.code(201).send(mutationView(parts, objects.createRole(path, { canLogIn: !role.no_login }), true));
    },
  );
  routes.delete(
    onePath,
    {
      config: { summary: "Delete a role", ignoresBody: true },
      schema: { params: rolePath, response: { 200: roleMutationBody, 204: z.undefined(), ...errorResponses } },
    },
    async ({ params }, reply) =>
      answerDelete(reply, parts.engine.profile, {
        remove: () => mutationView(parts, objects.deleteRole(pathOf(params)), false),
        requireParent: () => parts.engine.branch(params.project_id, params.branch_id),
      }),
  );
  passwordRoutes(app, parts);
}

function passwordRoutes(app: FastifyInstance, parts: ServerParts): void {
  const { objects } = parts.engine;
  const routes = app.withTypeProvider<ZodTypeProvider>();
  routes.get(
    `${onePath}/reveal_password`,
    {
      config: { summary: "Show a role's password", revealsSecret: true },
      schema: { params: rolePath, response: { 200: z.object({ password: z.string() }), ...errorResponses } },
    },
    async ({ params }) => {
      const { password } = objects.role(pathOf(params));
      if (password === undefined) throw new Refusal("NotAllowed", "the role cannot log in");
      return { password };
    },
  );
  routes.post(
    `${onePath}/reset_password`,
    {
      config: { summary: "Give a role a new password", ignoresBody: true },
      schema: { params: rolePath, response: { 200: roleMutationBody, ...errorResponses } },
    },
    async ({ params }) => mutationView(parts, objects.resetPassword(pathOf(params)), true),
  );
}

function mutationView({ engine }: ServerParts, { role, operations }: RoleMutation, isNew: boolean) {
  return {
    role: isNew ? newRoleView(role) : roleView(role),
    operations: operations.map((operation) => operationView(operation, engine.profile)),
  };
}
