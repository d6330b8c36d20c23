/** Plans what needs no control plane for a DatabaseAccess: pauses, obstacles, and the end of its deletion. */
import { notGrantedMessage } from "../decide/project-grant.ts";
import type { KindRoundStart } from "../reconcile/project-kind.ts";
import { isBeingDeleted, isPaused } from "../resource/compute-endpoint.ts";
import { namespaceOfPlane, parseProjectKey } from "../resource/control-plane-resource.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { AccessObject } from "../resource/database-access-schema.ts";
import { databaseAccessNames } from "../resource/names.ts";
import type { AccessContext } from "./access-context.ts";
import { recordStandingOf, recordsElsewhere } from "./access-records.ts";
import { doomedObjects, isDeletionGranted, mayDelete } from "./access-release.ts";
import { type AccessSummary, progressing, stalled } from "./access-status.ts";
import { referenceOf } from "./endpoint-reference.ts";
import * as messages from "./messages.ts";

/** The next step of a DatabaseAccess, as far as it is known without the control plane. */
export type LocalPlan =
  /** Only the status is stored. Nothing is read or changed, and the Secret stays as it is. */
  | { readonly kind: "Store"; readonly summary: AccessSummary }
  /** The resource is being deleted, and nothing is left to delete in any control plane. */
  | { readonly kind: "Release" }
  /** The step needs the control plane. */
  | { readonly kind: "Look" };

/** Plans the next step as far as it needs no control plane. It reads only the cache. */
export function planLocally(context: AccessContext, start: KindRoundStart, resource: DatabaseAccess): LocalPlan {
  if (isPaused(resource)) {
    return { kind: "Store", summary: { kind: "Paused" } };
  }
  return isBeingDeleted(resource)
    ? planDeletion(context, start, resource)
    : storeOrLook(obstacleOf(context, start, resource));
}

function storeOrLook(summary: AccessSummary | undefined): LocalPlan {
  return summary === undefined ? { kind: "Look" } : { kind: "Store", summary };
}

/** Returns what prevents the work on a resource that is not being deleted; `undefined`: nothing. */
function obstacleOf(
  context: AccessContext,
  start: KindRoundStart,
  resource: DatabaseAccess,
): AccessSummary | undefined {
  if (!resource.isStatusReadable) {
    return unreadable(resource);
  }
  if (resource.spec.kind === "Invalid") {
    const message = `The stored spec is not valid: ${resource.spec.problems}. Apply a corrected spec.`;
    return stalled("InvalidSpec", message);
  }
  const { name } = resource.spec.spec.endpointRef;
  const unusable = unusablePlane(start);
  if (unusable !== undefined) {
    // Without a grant, the conditions do not show whether the control plane exists.
    return missingGrant(context, resource, parseProjectKey(start.key).projectId) ?? unusable;
  }
  const reference = referenceOf(resource, (key) => context.endpoints.get(key), context.identity);
  switch (reference.kind) {
    case "NotFound":
      return progressing("EndpointNotFound", messages.endpointNotFound(name));
    case "Waiting":
      return progressing("WaitingForEndpoint", messages.waitingForEndpoint(name));
    case "Unproven":
      return stalled("IdentityUnproven", messages.endpointUnproven(name));
    case "Named":
      return otherPlane(context, resource) ?? missingGrant(context, resource, reference.projectId);
  }
}

function planDeletion(context: AccessContext, start: KindRoundStart, resource: DatabaseAccess): LocalPlan {
  if (!resource.finalizers.includes(databaseAccessNames.finalizer)) {
    return { kind: "Store", summary: { kind: "Unchanged" } };
  }
  if (!resource.isStatusReadable && mayDelete(resource.spec.kind === "Valid" ? resource.spec.spec : undefined)) {
    return { kind: "Store", summary: unreadable(resource) };
  }
  const doomed = doomedObjects(context, resource);
  if (doomed.length === 0) {
    return { kind: "Release" };
  }
  if (!start.isSettled) {
    return { kind: "Store", summary: { kind: "Unchanged" } };
  }
  const obstacle = unusablePlane(start) ?? otherPlane(context, resource) ?? refusedDeletion(context, resource, doomed);
  return storeOrLook(obstacle ?? unlistedUsers(context, start, doomed));
}

function unusablePlane({ problem }: KindRoundStart): AccessSummary | undefined {
  return problem && { kind: "Stalled", ...problem };
}

function missingGrant(
  { grantOf }: AccessContext,
  { key: { namespace } }: DatabaseAccess,
  projectId: string,
): AccessSummary | undefined {
  return grantOf(namespace, projectId).mayChange
    ? undefined
    : stalled("ProjectNotGranted", notGrantedMessage(namespace, projectId, "change"));
}

/**
 * Returns the step of a resource whose records name another control plane or URL: nothing is read or changed, because
 * its objects are not here.
 */
function otherPlane({ identity }: AccessContext, resource: DatabaseAccess): AccessSummary | undefined {
  return recordStandingOf(resource, identity) === "OtherPlane"
    ? stalled("IdentityUnproven", recordsElsewhere(resource))
    : undefined;
}

function refusedDeletion(
  context: AccessContext,
  resource: DatabaseAccess,
  doomed: readonly AccessObject[],
): AccessSummary | undefined {
  const refused = doomed.find((object) => !isDeletionGranted(context, resource, object));
  return (
    refused &&
    stalled("ProjectNotGranted", notGrantedMessage(resource.key.namespace, refused.projectId, "deleteAdopted"))
  );
}

/** Another namespace may use the same role or database. Until its DatabaseAccesses are listed, nothing is deleted. */
function unlistedUsers(
  { grantOf, unlistedNamespaces }: AccessContext,
  { planeId }: KindRoundStart,
  doomed: readonly AccessObject[],
): AccessSummary | undefined {
  if (namespaceOfPlane(planeId) !== undefined) {
    return undefined;
  }
  const unlisted = [...unlistedNamespaces()].filter(([namespace]) =>
    doomed.some(({ projectId }) => grantOf(namespace, projectId).mayChange),
  );
  if (unlisted.length === 0) {
    return undefined;
  }
  const isForbidden = unlisted.some(([, standing]) => standing === "Forbidden");
  return isForbidden ? progressing("Deleting", messages.usersUnlisted) : { kind: "Unchanged" };
}

/** Says that the records in status cannot be read. */
function unreadable(resource: DatabaseAccess): AccessSummary {
  return stalled("IdentityUnproven", messages.recordsUnreadable(isBeingDeleted(resource)));
}
