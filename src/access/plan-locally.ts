/**
 * Plans the steps of a DatabaseAccess that need no control plane: pauses, obstacles, and a deletion that has nothing to
 * delete there.
 */
import { isBeingDeleted, isPaused } from "../resource/compute-endpoint.ts";
import { namespaceOfPlane, parseProjectKey } from "../resource/control-plane-resource.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { AccessObject } from "../resource/database-access-schema.ts";
import { databaseAccessNames } from "../resource/names.ts";
import { type AccessContext, validSpecOf } from "./access-observation.ts";
import { recordedObjects, recordStandingOf } from "./access-records.ts";
import { type AccessSummary, stalls, unchanged, waits } from "./access-summary.ts";
import { referenceOf, wantedBranchOf } from "./endpoint-reference.ts";

/**
 * The next step of a DatabaseAccess, as far as it is known without the control plane. `Look`: the control plane must be
 * read first.
 */
export type LocalPlan =
  /** Only the status is stored. Nothing is read or changed, and the Secret stays as it is. */
  | AccessSummary
  /** The resource is being deleted, and nothing is left to delete in any control plane. */
  | { readonly kind: "Release" }
  | { readonly kind: "Look" };

/** Plans the next step as far as it needs no control plane. It reads only the cache. */
export function planLocally(context: AccessContext, resource: DatabaseAccess): LocalPlan {
  if (isPaused(resource)) {
    return { kind: "Paused" };
  }
  return isBeingDeleted(resource)
    ? planDeletion(context, resource)
    : (obstacleOf(context, resource) ?? { kind: "Look" });
}

/** Returns what prevents the work on a resource that is not being deleted; `undefined`: nothing. */
function obstacleOf(context: AccessContext, resource: DatabaseAccess): AccessSummary | undefined {
  const { spec } = resource;
  if (!resource.isStatusReadable) {
    return stalls.recordsUnreadable(resource);
  }
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
  if (!resource.isStatusReadable && mayDelete(resource)) {
    return stalls.recordsUnreadable(resource);
  }
  const deleted = deletedWithResource(recordedObjects(resource, context.identity), context, resource);
  if (deleted.length === 0) {
    return { kind: "Release" };
  }
  if (!context.isKnown) {
    return unchanged;
  }
  const refused = deleted.find((object) => !isDeletionGranted(context, resource, object));
  const refusal = refused && stalls.notGranted(resource.key.namespace, refused.projectId, "deleteAdopted");
  return planeObstacle(context, resource) ?? refusal ?? unlistedUsers(context, deleted) ?? { kind: "Look" };
}

/**
 * Returns why nothing can be read or changed at the control plane: it cannot be used, or the records name objects of
 * another control plane or URL.
 */
function planeObstacle({ problem, identity }: AccessContext, resource: DatabaseAccess): AccessSummary | undefined {
  if (problem !== undefined) {
    return { kind: "Stalled", ...problem };
  }
  return recordStandingOf(resource, identity) === "OtherPlane" ? stalls.recordsElsewhere(resource) : undefined;
}

function missingGrant(
  { grantOf }: AccessContext,
  { key: { namespace } }: DatabaseAccess,
  projectId: string,
): AccessSummary | undefined {
  return grantOf(namespace, projectId).mayChange ? undefined : stalls.notGranted(namespace, projectId, "change");
}

/**
 * Returns what delays the deletion until the DatabaseAccesses of all namespaces that may use the same role or database
 * are listed; `undefined`: nothing. A ControlPlane serves one namespace, so it causes no delay.
 */
function unlistedUsers(
  { grantOf, unlistedNamespaces, planeId }: AccessContext,
  deleted: readonly AccessObject[],
): AccessSummary | undefined {
  if (namespaceOfPlane(planeId) !== undefined) {
    return undefined;
  }
  const unlisted = [...unlistedNamespaces()].filter(([namespace]) =>
    deleted.some(({ projectId }) => grantOf(namespace, projectId).mayChange),
  );
  if (unlisted.length === 0) {
    return undefined;
  }
  return unlisted.some(([, standing]) => standing === "Forbidden") ? waits.usersUnlisted : unchanged;
}

/** Whether spec allows the deletion of a role or a database. Whether this resource created one is not checked. */
function mayDelete(resource: DatabaseAccess): boolean {
  const { role, database } = validSpecOf(resource) ?? {};
  return role !== undefined && (role.deletionPolicy !== "Retain" || database?.deletionPolicy === "Delete");
}

/**
 * Whether a namespace may delete a recorded object. If its resource is not known to have created the object, the
 * namespace needs the grant to adopt.
 */
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
 * Whether a recorded object is deleted with the resource.
 * It is deleted only if this resource created it, or presumably created it, and no other resource uses it. A presumed
 * object is deleted only if spec says so. A database is deleted only by an explicit policy. With an invalid spec
 * everything stays.
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
 * Whether another DatabaseAccess uses a role or database: its records or its spec name it. One that is being deleted
 * does not count. Any namespace can write a spec, so the spec counts only if the namespace has a grant. Otherwise a
 * namespace could keep the role and the password of another namespace alive. Another control plane with the same URL
 * may hold the same objects; one with another URL holds other objects.
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
  const { records } = other.status;
  const isHere =
    records?.resourceUid === other.uid &&
    records.clusterId === identity.clusterId &&
    records.serviceUrl === identity.serviceUrl;
  if (
    isHere &&
    records.objects.some((each) => each.type === type && each.name === name && each.branchId === branchId)
  ) {
    return true;
  }
  const spec = validSpecOf(other);
  if ((type === "Role" ? spec?.role : spec?.database)?.name !== name) {
    return false;
  }
  // The endpoint may have moved to a branch on which nothing is recorded yet. Without records, the branch is unknown.
  const mayBeOnBranch = !isHere || wantedBranchOf(other, findEndpoint) === branchId;
  const { namespace } = other.key;
  const mayUse =
    namespace === key.namespace || (namespaceOfPlane(planeId) === undefined && grantOf(namespace, projectId).mayChange);
  return mayBeOnBranch && mayUse;
}
