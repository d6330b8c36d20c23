/** Decides what is deleted together with a DatabaseAccess. */
import type { ObservedDatabase } from "../domain/branch-objects.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { AccessObject, DatabaseAccessSpec } from "../resource/database-access-schema.ts";

/** The deletion of a role or a database in the control plane. */
export type ReleaseMutation =
  | { readonly kind: "DeleteRole"; readonly object: AccessObject }
  | { readonly kind: "DeleteDatabase"; readonly object: AccessObject };

/** What the operator does with a recorded object when the resource is deleted. */
export type Release = "Delete" | "Retain";

/** A role or database that another DatabaseAccess names. */
export interface OtherUse {
  readonly type: AccessObject["type"];
  readonly name: string;
  /**
   * The branch on which the other DatabaseAccess uses the role or database. `undefined`: the operator does not know it,
   * and assumes the same branch.
   */
  readonly branchId: string | undefined;
}

/**
 * Decides whether a recorded object is deleted or stays. Pure.
 * It is deleted only if this resource created it and no other resource names it. A presumed object is deleted only if
 * spec says so. A database is deleted only by an explicit policy.
 */
export function releaseOf(
  object: AccessObject,
  spec: DatabaseAccessSpec | undefined,
  others: readonly OtherUse[],
): Release {
  const isUsed = others.some(
    ({ type, name, branchId }) =>
      type === object.type && name === object.name && (branchId ?? object.branchId) === object.branchId,
  );
  if (isUsed || spec === undefined || object.origin === "Existing") {
    return "Retain";
  }
  const asked = object.type === "Role" ? spec.role.deletionPolicy : spec.database.deletionPolicy;
  const usual = object.type === "Role" && object.origin === "Created" ? "Delete" : "Retain";
  return asked ?? usual;
}

/** Whether spec allows the deletion of a role or a database, apart from what status records. Pure. */
export function mayDelete(spec: DatabaseAccessSpec | undefined): boolean {
  return spec !== undefined && (spec.role.deletionPolicy !== "Retain" || spec.database.deletionPolicy === "Delete");
}

/** Returns the objects to delete: databases before the roles that own them. */
export function objectsToDelete(
  objects: readonly AccessObject[],
  spec: DatabaseAccessSpec | undefined,
  others: readonly OtherUse[],
): readonly AccessObject[] {
  const doomed = objects.filter((object) => releaseOf(object, spec, others) === "Delete");
  return [...doomed].sort((a, b) => (a.type === b.type ? 0 : a.type === "Database" ? -1 : 1));
}

/**
 * Returns the databases of the branch that a role owns and that stay. The control plane does not delete such a role.
 */
export function ownedDatabases(object: AccessObject, databases: readonly ObservedDatabase[]): readonly string[] {
  return object.type === "Role"
    ? databases.filter(({ ownerName }) => ownerName === object.name).map(({ name }) => name)
    : [];
}

/**
 * Returns how the other resources of the cluster use roles and databases.
 * @param branchOf returns the branch that the ComputeEndpoint of a resource asks for
 */
export function usesOf(
  resources: readonly DatabaseAccess[],
  uid: string,
  branchOf: (resource: DatabaseAccess) => string | undefined,
): readonly OtherUse[] {
  return resources
    .filter((resource) => resource.uid !== uid && resource.deletionTimestamp === undefined)
    .flatMap((resource) => usesBy(resource, branchOf(resource)));
}

function usesBy({ status: { records }, spec }: DatabaseAccess, branchId: string | undefined): readonly OtherUse[] {
  const recorded = records?.objects ?? [];
  if (spec.kind === "Invalid" || (records !== undefined && branchId === undefined)) {
    return recorded;
  }
  // The endpoint may have moved to a branch on which nothing is recorded yet.
  const place = records === undefined ? undefined : branchId;
  return [
    ...recorded,
    { type: "Role", name: spec.spec.role.name, branchId: place },
    { type: "Database", name: spec.spec.database.name, branchId: place },
  ];
}
