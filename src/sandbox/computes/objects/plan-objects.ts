/** Compares the roles and databases of the API with those last applied to a server, and plans the changes. */
import { createHash } from "node:crypto";
import type { DatabaseRecord, RoleRecord } from "../../engine/records.ts";

export interface AppliedObjects {
  readonly roles: readonly { readonly name: string; readonly passwordHash: string | null }[];
  readonly databases: readonly { readonly id: string; readonly name: string; readonly ownerName: string }[];
}

export interface WantedObjects {
  readonly roles: readonly Pick<RoleRecord, "name" | "password">[];
  readonly databases: readonly Pick<DatabaseRecord, "id" | "name" | "ownerName">[];
}

export type ObjectStep =
  | { readonly kind: "CreateRole" | "SetPassword"; readonly name: string; readonly password: string | undefined }
  | { readonly kind: "DropRole"; readonly name: string }
  | { readonly kind: "CreateDatabase" | "SetOwner"; readonly name: string; readonly ownerName: string }
  | { readonly kind: "RenameDatabase"; readonly from: string; readonly to: string }
  | { readonly kind: "DropDatabase"; readonly name: string };

export const nothingApplied: AppliedObjects = { roles: [], databases: [] };

/** Hashes stand in place of passwords. */
export function appliedForm({ roles, databases }: WantedObjects): AppliedObjects {
  return {
    roles: roles.map(({ name, password }) => ({ name, passwordHash: hashOf(password) })),
    databases: databases.map(({ id, name, ownerName }) => ({ id, name, ownerName })),
  };
}

/** Passwords are long and random, so a plain hash does not reveal them. */
function hashOf(password: string | undefined): string | null {
  return password === undefined ? null : createHash("sha256").update(password).digest("hex");
}

/** Each step is possible after the one before. What a client made by SQL is in neither list, and stays. */
export function planObjects(applied: AppliedObjects, wanted: WantedObjects): readonly ObjectStep[] {
  const goal = appliedForm(wanted);
  return [
    ...roleSteps(applied, wanted),
    ...databaseSteps(applied, goal),
    ...applied.roles
      .filter(({ name }) => !goal.roles.some((role) => role.name === name))
      .map(({ name }): ObjectStep => ({ kind: "DropRole", name })),
  ];
}

function roleSteps(applied: AppliedObjects, { roles }: WantedObjects): readonly ObjectStep[] {
  return roles.flatMap(({ name, password }): ObjectStep[] => {
    const before = applied.roles.find((role) => role.name === name);
    if (before === undefined) return [{ kind: "CreateRole", name, password }];
    return before.passwordHash === hashOf(password) ? [] : [{ kind: "SetPassword", name, password }];
  });
}

function databaseSteps(applied: AppliedObjects, goal: AppliedObjects): readonly ObjectStep[] {
  const byId = new Map(applied.databases.map((database) => [database.id, database]));
  const dropped = applied.databases.filter(({ id }) => !goal.databases.some((database) => database.id === id));
  const changed = goal.databases.flatMap(({ id, name, ownerName }): ObjectStep[] => {
    const before = byId.get(id);
    if (before === undefined) return [{ kind: "CreateDatabase", name, ownerName }];
    return [
      ...(before.name === name ? [] : [{ kind: "RenameDatabase", from: before.name, to: name } as const]),
      ...(before.ownerName === ownerName ? [] : [{ kind: "SetOwner", name, ownerName } as const]),
    ];
  });
  return [...dropped.map(({ name }): ObjectStep => ({ kind: "DropDatabase", name })), ...changed];
}
