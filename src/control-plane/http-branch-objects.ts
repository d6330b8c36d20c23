/** The HTTP client for roles and databases. */
import {
  type BranchObjects,
  type BranchPath,
  type ObjectChange,
  type ObservedDatabase,
  type ObservedRole,
  Password,
  type RoleChange,
} from "../domain/branch-objects.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { HttpCaller, SuccessfulAnswer } from "./http-caller.ts";
import { expectEach, mapReading, type Reading, readAnswer } from "./read-answer.ts";
import { routes } from "./routes.ts";
import {
  type WireOperation,
  type WireRole,
  wireDatabaseChange,
  wireDatabaseList,
  wirePassword,
  wireRoleChange,
  wireRoleList,
} from "./wire.ts";
import { operationFromWire } from "./wire-mapping.ts";

type Clean = (text: string) => string;

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
        read: ({ body }, clean) => readRoleChange(body, roleName, clean),
      }),
    deleteRole: (branch, roleName) =>
      undefinedIfAbsent(
        call({
          route: routes.deleteRole,
          ids: ids(branch, roleName),
          read: (answer, clean) => readDeletion(answer, (body) => readRoleChange(body, roleName, clean)),
        }),
      ),
    revealPassword: (branch, roleName) => reveal(call, ids(branch, roleName)),
    resetPassword: (branch, roleName) =>
      call({
        route: routes.resetPassword,
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
          read: (answer, clean) => readDeletion(answer, (body) => readDatabaseChange(body, databaseName, clean)),
        }),
      ),
  };
}

const strangeBranch = (branchId: string) =>
  ({ field: "branch_id", value: branchId, otherwise: "objects of another branch" }) as const;

function readRoles(body: Uint8Array, { branchId }: BranchPath): Reading<readonly ObservedRole[]> {
  const list = expectEach(readAnswer(body, wireRoleList), ({ roles }) => roles, strangeBranch(branchId));
  return mapReading(list, ({ roles }) => roles.map(roleFromWire));
}

function readDatabases(body: Uint8Array, { branchId }: BranchPath): Reading<readonly ObservedDatabase[]> {
  const answer = readAnswer(body, wireDatabaseList);
  const list = expectEach(answer, ({ databases }) => databases, strangeBranch(branchId));
  return mapReading(list, ({ databases }) =>
    databases.map((wire) => ({ name: wire.name, ownerName: wire.owner_name })),
  );
}

function readRoleChange(body: Uint8Array, roleName: string, clean: Clean): Reading<RoleChange> {
  const expected = { field: "name", value: roleName, otherwise: "another role" } as const;
  const answer = expectEach(readAnswer(body, wireRoleChange), ({ role }) => [role], expected);
  return mapReading(answer, ({ role, operations }) => ({
    role: roleFromWire(role),
    password: typeof role.password === "string" ? new Password(role.password) : undefined,
    operations: operationsFromWire(operations, clean),
  }));
}

function readDatabaseChange(body: Uint8Array, databaseName: string, clean: Clean): Reading<ObjectChange> {
  const expected = { field: "name", value: databaseName, otherwise: "another database" } as const;
  const answer = expectEach(readAnswer(body, wireDatabaseChange), ({ database }) => [database], expected);
  return mapReading(answer, ({ operations }) => ({ operations: operationsFromWire(operations, clean) }));
}

function readDeletion(
  { status, body }: SuccessfulAnswer,
  read: (body: Uint8Array) => Reading<ObjectChange>,
): Reading<ObjectChange | undefined> {
  return status === 204 ? { isReadable: true, value: undefined } : read(body);
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
      read: ({ body }) => mapReading(readAnswer(body, wirePassword), ({ password }) => new Password(password)),
    });
  } catch (error) {
    if (error instanceof ControlPlaneError && error.reason === "PreconditionFailed") {
      return undefined;
    }
    throw error;
  }
}

/** Returns `undefined` for a documented 404, unless the branch or the project itself does not exist. */
async function undefinedIfAbsent<Value>(found: Promise<Value>): Promise<Value | undefined> {
  try {
    return await found;
  } catch (error) {
    const isAbsent = error instanceof ControlPlaneError && error.reason === "NotFound";
    if (isAbsent && error.subject !== "Project" && error.subject !== "Branch") {
      return undefined;
    }
    throw error;
  }
}
