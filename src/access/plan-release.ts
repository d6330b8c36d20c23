import type { ObservedDatabase } from "../domain/branch-objects.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { AccessObject, DatabaseAccessSpec } from "../resource/database-access-schema.ts";

/** The deletion of a role or a database at the control plane. */
export type ReleaseMutation =
  | { readonly kind: "DeleteRole"; readonly object: AccessObject }
  | { readonly kind: "DeleteDatabase"; readonly object: AccessObject };

/** What happens with a recorded object when its resource is deleted. */
export type Release = "Delete" | "Retain";

/** A role or database that another DatabaseAccess names. */
export interface OtherUse {
  readonly type: AccessObject["type"];
  readonly name: string;
  /** The branch; `undefined`: not known yet, so it may be any branch. */
  readonly branchId: string | undefined;
}

/**
 * Decides whether a recorded object is deleted or stays. Pure.
 * It is deleted only if this resource created it and no other resource names it. A presumed object is deleted only if
 * spec says so, and a database only by an explicit policy.
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

/** Returns how the other resources of the cluster use roles and databases. */
export function usesOf(resources: readonly DatabaseAccess[], uid: string): readonly OtherUse[] {
  return resources
    .filter((resource) => resource.uid !== uid && resource.deletionTimestamp === undefined)
    .flatMap(usesBy);
}

function usesBy({ status, spec }: DatabaseAccess): readonly OtherUse[] {
  if (status.records !== undefined) {
    return status.records.objects;
  }
  return spec.kind === "Invalid"
    ? []
    : [
        { type: "Role", name: spec.spec.role.name, branchId: undefined },
        { type: "Database", name: spec.spec.database.name, branchId: undefined },
      ];
}
