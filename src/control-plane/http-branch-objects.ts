/** The HTTP client for roles and databases. */
import {
  type BranchObjects,
  type BranchPath,
  type ObjectChange,
  type ObservedDatabase,
  type ObservedRole,
  Password,
  type RoleChange,
} from "../domain/control-plane.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import { type Clean, type HttpCaller, undefinedIfAbsent } from "./http-caller.ts";
import { routes } from "./routes.ts";
import {
  expectEach,
  operationFromWire,
  readAnswer,
  type WireOperation,
  type WireRole,
  wireDatabaseChange,
  wireDatabaseList,
  wirePassword,
  wireRoleChange,
  wireRoleList,
} from "./wire.ts";

/** Makes the client for roles and databases. It sends calls like the rest of the client. */
export function httpBranchObjects(call: HttpCaller): BranchObjects {
  const ids = ({ projectId, branchId }: BranchPath, ...more: string[]) => [projectId, branchId, ...more];
  return {
    listRoles: (branch) =>
      call({ route: routes.listRoles, ids: ids(branch), read: ({ body }) => readRoles(body, branch) }),
    createRole: (branch, roleName) =>
      call({
        route: routes.createRole,
        ids: ids(branch),
        body: JSON.stringify({ role: { name: roleName } }),
        passwordIn: ofChange,
        read: ({ body }, clean) => readRoleChange(body, roleName, clean),
      }),
    deleteRole: (branch, roleName) =>
      undefinedIfAbsent(
        call({
          route: routes.deleteRole,
          ids: ids(branch, roleName),
          read: ({ status, body }, clean) => (status === 204 ? undefined : readRoleChange(body, roleName, clean)),
        }),
        containers,
      ),
    revealPassword: (branch, roleName) => reveal(call, ids(branch, roleName)),
    resetPassword: (branch, roleName) =>
      call({
        route: routes.resetPassword,
        passwordIn: ofChange,
        ids: ids(branch, roleName),
        read: ({ body }, clean) => readRoleChange(body, roleName, clean),
      }),
    listDatabases: (branch) =>
      call({ route: routes.listDatabases, ids: ids(branch), read: ({ body }) => readDatabases(body, branch) }),
    createDatabase: (branch, { name, ownerName }) =>
      call({
        route: routes.createDatabase,
        ids: ids(branch),
        body: JSON.stringify({ database: { name, owner_name: ownerName } }),
        read: ({ body }, clean) => readDatabaseChange(body, name, clean),
      }),
    deleteDatabase: (branch, databaseName) =>
      undefinedIfAbsent(
        call({
          route: routes.deleteDatabase,
          ids: ids(branch, databaseName),
          read: ({ status, body }, clean) =>
            status === 204 ? undefined : readDatabaseChange(body, databaseName, clean),
        }),
        containers,
      ),
  };
}

const ofChange = ({ password }: RoleChange): string | undefined => password?.reveal();

const strangeBranch = (branchId: string) =>
  ({ field: "branch_id", value: branchId, otherwise: "objects of another branch" }) as const;

function readRoles(body: Uint8Array, { branchId }: BranchPath): readonly ObservedRole[] {
  const { roles } = readAnswer(body, wireRoleList);
  expectEach(roles, strangeBranch(branchId));
  return roles.map(roleFromWire);
}

function readDatabases(body: Uint8Array, { branchId }: BranchPath): readonly ObservedDatabase[] {
  const { databases } = readAnswer(body, wireDatabaseList);
  expectEach(databases, strangeBranch(branchId));
  return databases.map((wire) => ({ name: wire.name, ownerName: wire.owner_name }));
}

function readRoleChange(body: Uint8Array, roleName: string, clean: Clean): RoleChange {
  const { role, operations } = readAnswer(body, wireRoleChange);
  expectEach([role], { field: "name", value: roleName, otherwise: "another role" });
  return {
    role: roleFromWire(role),
    password: typeof role.password === "string" ? new Password(role.password) : undefined,
    operations: operationsFromWire(operations, clean),
  };
}

function readDatabaseChange(body: Uint8Array, databaseName: string, clean: Clean): ObjectChange {
  const { database, operations } = readAnswer(body, wireDatabaseChange);
  expectEach([database], { field: "name", value: databaseName, otherwise: "another database" });
  return { operations: operationsFromWire(operations, clean) };
}

function roleFromWire(wire: WireRole): ObservedRole {
  return { name: wire.name, isProtected: wire.protected === true, updatedTime: wire.updated_at };
}

function operationsFromWire(operations: readonly WireOperation[] | null | undefined, clean: Clean) {
  return (operations ?? []).map((operation) => operationFromWire(operation, clean));
}

async function reveal(call: HttpCaller, ids: readonly string[]): Promise<Password | undefined> {
  try {
    return await call({
      route: routes.revealPassword,
      ids,
      passwordIn: (password: Password | undefined) => password?.reveal(),
      read: ({ body }) => new Password(readAnswer(body, wirePassword).password),
    });
  } catch (error) {
    if (error instanceof ControlPlaneError && error.reason === "PreconditionFailed") {
      return undefined;
    }
    throw error;
  }
}

/** A 404 about the branch or the project does not prove that a role or database is absent. */
const containers = ["Project", "Branch"] as const;
