/** What a deletion of a DatabaseAccess deletes, and in which order. */
import type { Reads } from "../../engine/kind.ts";
import type { Wording } from "../../engine/summary.ts";
import { namespaceOfPlane } from "../../resource/control-plane-resource.ts";
import type { DatabaseAccess } from "../../resource/database-access.ts";
import type { AccessObject } from "../../resource/database-access-schema.ts";
import { isBeingDeleted } from "../../resource/stored-object.ts";
import { recordedObjects } from "./access-records.ts";
import { type AccessContext, type AccessReads, type AccessTypes, type Plan, validSpecOf } from "./access-types.ts";
import { wantedBranchOf } from "./endpoint-reference.ts";

export const accessWording: Wording = {
  deleting: "The operator deletes what this resource created, and then the Secret.",
  deletionRemedy:
    "To remove this resource without deleting role and database, set both deletionPolicy fields to Retain.",
};

export function decideDeletion(context: AccessContext, resource: DatabaseAccess, reads: Reads<AccessTypes>): Plan {
  const { project, own } = reads;
  if (project === undefined) {
    return { kind: "Look", at: "Project" };
  }
  if (own?.kind !== "Contents") {
    return { kind: "Look", at: "Own" };
  }
  const object = nextToDelete(deletedWith(context, resource), own.byBranch);
  return object === undefined ? { kind: "RemoveFinalizer", cause: "Gone" } : { kind: "DeleteObject", object };
}

export function deletionWork(context: AccessContext, resource: DatabaseAccess): "Nothing" | "Something" {
  return deletedWith(context, resource).length === 0 ? "Nothing" : "Something";
}

/** Returns the recorded objects that go with the resource: databases before the roles that own them. */
export function deletedWith(context: AccessContext, resource: DatabaseAccess): readonly AccessObject[] {
  const deleted = recordedObjects(resource, context.identity).filter((object) =>
    isDeletedWithResource(object, context, resource),
  );
  return deleted.sort((a, b) => (a.type === b.type ? 0 : a.type === "Database" ? -1 : 1));
}

type Contents = Extract<AccessReads, { kind: "Contents" }>["byBranch"];

/**
 * Returns the next role or database to delete. What was in a deleted branch or project is gone too. The control plane
 * keeps a role that owns a database, so a role stays if its database stays.
 */
export function nextToDelete(objects: readonly AccessObject[], contents: Contents): AccessObject | undefined {
  return objects.find((object) => isThere(object, contents) && ownedBy(object, contents).length === 0);
}

export function retainedRoles(objects: readonly AccessObject[], contents: Contents) {
  return objects
    .map((object) => ({ role: object.name, databases: ownedBy(object, contents) }))
    .filter(({ databases }) => databases.length > 0);
}

function isThere({ type, name, branchId }: AccessObject, contents: Contents): boolean {
  const { roles = [], databases = [] } = contents.get(branchId) ?? {};
  return (type === "Role" ? roles : databases).some((each) => each.name === name);
}

function ownedBy({ type, name, branchId }: AccessObject, contents: Contents): readonly string[] {
  const { databases = [] } = contents.get(branchId) ?? {};
  return databases.filter(({ ownerName }) => type === "Role" && ownerName === name).map((each) => each.name);
}

/**
 * Only what this resource created, presumably or surely, is deleted, and only if no other resource uses it. A presumed
 * role and every database need an explicit policy. With an invalid spec everything stays.
 */
function isDeletedWithResource(object: AccessObject, context: AccessContext, resource: DatabaseAccess): boolean {
  const spec = validSpecOf(resource);
  if (spec === undefined || object.origin === "Existing") {
    return false;
  }
  const isRole = object.type === "Role";
  const usual = isRole && object.origin === "Created" ? "Delete" : "Retain";
  const policy = (isRole ? spec.role : spec.database).deletionPolicy ?? usual;
  const isUsed = context.store.list().some((other) => isUsedBy(other, object, { ...context, resource }));
  return policy === "Delete" && !isUsed;
}

/**
 * Any namespace can write a spec, so a spec counts only with a grant. Otherwise a namespace could keep the role and the
 * password of another namespace alive. Records count if they have the same URL: two control planes may share it.
 */
function isUsedBy(
  other: DatabaseAccess,
  { type, name, projectId, branchId }: AccessObject,
  { identity, findEndpoint, grantOf, planeId, resource }: AccessContext & { readonly resource: DatabaseAccess },
): boolean {
  if (other.uid === resource.uid || isBeingDeleted(other)) {
    return false;
  }
  const isHere = other.status.records?.serviceUrl === identity.serviceUrl;
  const recorded = isHere ? recordedObjects(other, identity) : [];
  if (recorded.some((each) => each.type === type && each.name === name && each.branchId === branchId)) {
    return true;
  }
  const spec = validSpecOf(other);
  if ((type === "Role" ? spec?.role : spec?.database)?.name !== name) {
    return false;
  }
  // The endpoint may have moved to a branch on which nothing is recorded yet. Without records, the branch is unknown.
  const mayBeOnBranch = recorded.length === 0 || wantedBranchOf(other, findEndpoint) === branchId;
  const { namespace } = other.key;
  const mayUse =
    namespace === resource.key.namespace ||
    (namespaceOfPlane(planeId) === undefined && grantOf(namespace, projectId).mayChange);
  return mayBeOnBranch && mayUse;
}
