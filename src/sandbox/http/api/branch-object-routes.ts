/** Roles, databases and connection strings. */
import { z } from "zod";
import type { DatabaseMutation, RoleMutation } from "../../engine/branch-contents.ts";
import { nameText } from "../../engine/records.ts";
import {
  connectionUri,
  databaseCreateBody,
  databaseUpdateBody,
  databaseView,
  newRoleView,
  roleCreateBody,
  roleView,
} from "../codecs/branch-objects.ts";
import { operationViews } from "../codecs/operation.ts";
import type { Ids } from "../specification/routes.ts";
import type { PublicApi } from "./public-api.ts";

export function roleRoutes(api: PublicApi): void {
  const { engine } = api.parts;
  const { objects, profile } = engine;
  const view = ({ role, operations }: RoleMutation, show: typeof roleView = newRoleView) => ({
    role: show(role),
    operations: operationViews(operations, profile),
  });
  const parentOf = ({ projectId, branchId }: Ids) => engine.branch(projectId, branchId);
  api.play("listProjectBranchRoles", {}, ({ ids }) => ({
    roles: objects.roles(ids.projectId, ids.branchId).map(roleView),
  }));
  api.play("getProjectBranchRole", {}, ({ ids }) => ({ role: roleView(objects.role(ids)) }));
  api.play("createProjectBranchRole", { body: roleCreateBody }, ({ ids, body: { role } }) =>
    view(objects.createRole({ ...ids, roleName: role.name }, { canLogIn: !role.no_login })),
  );
  api.play("deleteProjectBranchRole", { parentOf }, ({ ids }) => view(objects.deleteRole(ids), roleView));
  api.play("getProjectBranchRolePassword", { revealsSecret: true }, ({ ids }) => ({ password: objects.password(ids) }));
  api.play("resetProjectBranchRolePassword", {}, ({ ids }) => view(objects.resetPassword(ids)));
}

export function databaseRoutes(api: PublicApi): void {
  const { engine } = api.parts;
  const { objects, profile } = engine;
  const view = ({ database, operations }: DatabaseMutation) => ({
    database: databaseView(database),
    operations: operationViews(operations, profile),
  });
  const parentOf = ({ projectId, branchId }: Ids) => engine.branch(projectId, branchId);
  api.play("listProjectBranchDatabases", {}, ({ ids }) => ({
    databases: objects.databases(ids.projectId, ids.branchId).map(databaseView),
  }));
  api.play("getProjectBranchDatabase", {}, ({ ids }) => ({ database: databaseView(objects.database(ids)) }));
  api.play("createProjectBranchDatabase", { body: databaseCreateBody }, ({ ids, body: { database } }) =>
    view(objects.createDatabase({ ...ids, databaseName: database.name }, database.owner_name)),
  );
  api.play("updateProjectBranchDatabase", { body: databaseUpdateBody }, ({ ids, body: { database } }) =>
    view(objects.updateDatabase(ids, { name: database.name, ownerName: database.owner_name })),
  );
  api.play("deleteProjectBranchDatabase", { parentOf }, ({ ids }) => view(objects.deleteDatabase(ids)));
}

const targetQuery = z.object({
  branch_id: z.string().max(64).optional(),
  endpoint_id: z.string().max(64).optional(),
  database_name: nameText(63),
  role_name: nameText(63),
  pooled: z.enum(["true", "false"]).optional(),
});

export function connectionRoutes(api: PublicApi): void {
  const { engine, computes } = api.parts;
  api.play("getConnectionURI", { query: targetQuery, revealsSecret: true }, ({ ids, query }) => {
    const connection = engine.objects.connection(ids.projectId, {
      branchId: query.branch_id,
      endpointId: query.endpoint_id,
      databaseName: query.database_name,
      roleName: query.role_name,
    });
    return { uri: connectionUri({ ...connection, address: computes?.address }, query.pooled === "true") };
  });
}
