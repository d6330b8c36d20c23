import { isBeingDeleted, isPaused } from "../resource/compute-endpoint.ts";
import { namespaceOfPlane, parseProjectKey } from "../resource/control-plane-resource.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { AccessObject } from "../resource/database-access-schema.ts";
import { databaseAccessNames } from "../resource/names.ts";
import { type AccessContext, validSpecOf } from "./access-observation.ts";
import { isRecordedElsewhere, recordedObjects } from "./access-records.ts";
import { type AccessSummary, stalls, unchanged } from "./access-summary.ts";
import { referenceOf, wantedBranchOf } from "./endpoint-reference.ts";

/** `Look`: the control plane must be read first. */
export type LocalPlan = AccessSummary | { readonly kind: "Release" } | { readonly kind: "Look" };

export function planLocally(context: AccessContext, resource: DatabaseAccess): LocalPlan {
  if (isPaused(resource)) {
    return { kind: "Paused" };
  }
  return isBeingDeleted(resource)
    ? planDeletion(context, resource)
    : (obstacleOf(context, resource) ?? { kind: "Look" });
}

function obstacleOf(context: AccessContext, resource: DatabaseAccess): AccessSummary | undefined {
  const { spec } = resource;
  if (spec.kind === "Invalid") {
    return stalls.invalidSpec(spec.problems);
  }
  if (context.problem !== undefined) {
    // The grant is checked first: without a grant, the conditions do not show whether the control plane exists.
    return missingGrant(context, resource, parseProjectKey(context.key).projectId) ?? planeObstacle(context, resource);
  }
  const reference = referenceOf(resource, context.findEndpoint, context.identity);
  return reference.kind === "Named"
    ? (planeObstacle(context, resource) ?? missingGrant(context, resource, reference.projectId))
    : reference;
}

function planDeletion(context: AccessContext, resource: DatabaseAccess): LocalPlan {
  if (!resource.finalizers.includes(databaseAccessNames.finalizer)) {
    return unchanged;
  }
  const deleted = deletedWithResource(recordedObjects(resource, context.identity), context, resource);
  if (deleted.length === 0 && (resource.isStatusReadable || !mayDelete(resource))) {
    return { kind: "Release" };
  }
  if (!context.isKnown) {
    return unchanged;
  }
  const refused = deleted.find((object) => !isDeletionGranted(context, resource, object));
  const refusal = refused && stalls.notGranted(resource.key.namespace, refused.projectId, "deleteAdopted");
  return planeObstacle(context, resource) ?? refusal ?? { kind: "Look" };
}

function planeObstacle({ problem, identity }: AccessContext, resource: DatabaseAccess): AccessSummary | undefined {
  if (!resource.isStatusReadable) {
    return stalls.recordsUnreadable(resource);
  }
  if (problem !== undefined) {
    return { kind: "Stalled", ...problem };
  }
  return isRecordedElsewhere(resource, identity) ? stalls.recordsElsewhere(resource) : undefined;
}

function missingGrant(
  { grantOf }: AccessContext,
  { key: { namespace } }: DatabaseAccess,
  projectId: string,
): AccessSummary | undefined {
  return grantOf(namespace, projectId).mayChange ? undefined : stalls.notGranted(namespace, projectId, "change");
}

/** Whether spec allows the deletion of a role or a database. Whether this resource created one is not checked. */
function mayDelete(resource: DatabaseAccess): boolean {
  const { role, database } = validSpecOf(resource) ?? {};
  return role !== undefined && (role.deletionPolicy !== "Retain" || database?.deletionPolicy === "Delete");
}

/** If its resource is not known to have created the object, the namespace needs the grant to adopt. */
export function isDeletionGranted(
  { grantOf }: AccessContext,
  { key }: DatabaseAccess,
  { origin, projectId }: AccessObject,
): boolean {
  return origin === "Created" || grantOf(key.namespace, projectId).mayAdopt;
}

/** Returns those of the recorded objects that are deleted with the resource: databases before the roles that own them. */
export function deletedWithResource(
  objects: readonly AccessObject[],
  context: AccessContext,
  resource: DatabaseAccess,
): readonly AccessObject[] {
  const deleted = objects.filter((object) => isDeletedWithResource(object, context, resource));
  return [...deleted].sort((a, b) => (a.type === b.type ? 0 : a.type === "Database" ? -1 : 1));
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
  return policy === "Delete" && !context.store.list().some((other) => isUsedBy(other, object, context, resource));
}

/**
 * Any namespace can write a spec, so a spec counts only with a grant. Otherwise a namespace could keep the role and the
 * password of another namespace alive. Records count if they have the same URL: two control planes may share it.
 */
function isUsedBy(
  other: DatabaseAccess,
  { type, name, projectId, branchId }: AccessObject,
  { identity, findEndpoint, grantOf, planeId }: AccessContext,
  { uid, key }: DatabaseAccess,
): boolean {
  if (other.uid === uid || isBeingDeleted(other)) {
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
    namespace === key.namespace || (namespaceOfPlane(planeId) === undefined && grantOf(namespace, projectId).mayChange);
  return mayBeOnBranch && mayUse;
}
