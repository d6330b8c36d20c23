/** Decides which roles and databases are deleted with a DatabaseAccess, and deletes its Secret. */
import type { ObservedDatabase } from "../domain/control-plane.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import { KubernetesError } from "../domain/resource-store.ts";
import { resourceFields } from "../reconcile/report.ts";
import { isBeingDeleted } from "../resource/compute-endpoint.ts";
import { namespaceOfPlane, settingsPlane } from "../resource/control-plane-resource.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { AccessObject, DatabaseAccessSpec } from "../resource/database-access-schema.ts";
import type { AccessContext } from "./access-context.ts";
import type { WorkedAccess } from "./access-observation.ts";
import { recordedObjects, recordsAt, trustedObjects } from "./access-records.ts";
import { wantedBranchOf } from "./endpoint-reference.ts";
import * as messages from "./messages.ts";
import { type BranchContents, type BranchReader, readOwnSecret } from "./observe-access.ts";

/** Returns the objects to delete with the resource, in any control plane. It needs no read of the control plane. */
export function doomedObjects(context: AccessContext, resource: DatabaseAccess): readonly AccessObject[] {
  return doomedAmong(recordedObjects(resource, context.identity), context, resource);
}

/** Whether a namespace may delete a recorded object. It needs a grant for an object that its resource did not create. */
export function isDeletionGranted(
  { grantOf }: AccessContext,
  { key }: DatabaseAccess,
  { origin, projectId }: AccessObject,
): boolean {
  return origin === "Created" || grantOf(key.namespace, projectId).mayAdopt;
}

function doomedAmong(
  objects: readonly AccessObject[],
  { store, endpoints, identity, grantOf }: AccessContext,
  { spec, uid, key }: DatabaseAccess,
): readonly AccessObject[] {
  const uses = usesOf(store.list(), uid, {
    recordsOf: (resource) => recordsAt(resource, identity),
    branchOf: (resource) => wantedBranchOf(resource, (each) => endpoints.get(each)),
  });
  const isOfNamespace = namespaceOfPlane(identity.controlPlane ?? settingsPlane) !== undefined;
  const mayUse: MayUse = (namespace, projectId) =>
    namespace === key.namespace || (!isOfNamespace && grantOf(namespace, projectId).mayChange);
  return objectsToDelete(objects, spec.kind === "Valid" ? spec.spec : undefined, { uses, mayUse });
}

/**
 * Returns the next deletion in the control plane; `undefined`: nothing is left to delete. If a branch is gone, its
 * roles and databases are gone too. A role stays if it owns a database that stays, and an event reports that.
 * @throws ControlPlaneError
 */
export async function nextRelease(
  context: AccessContext,
  { resource }: WorkedAccess,
  reader: BranchReader,
): Promise<ReleaseMutation | undefined> {
  for (const object of doomedAmong(trustedObjects(resource, context.identity), context, resource)) {
    const { roles, databases } = await contentsOrGone(reader, object);
    const isRole = object.type === "Role";
    const isListed = (isRole ? roles : databases).some(({ name }) => name === object.name);
    const owned = ownedDatabases(object, databases);
    if (isListed && owned.length === 0) {
      return { kind: isRole ? "DeleteRole" : "DeleteDatabase", object };
    }
    if (isListed) {
      context.events.record(resource, messages.roleRetained(object.name, owned));
    }
  }
  return undefined;
}

async function contentsOrGone(reader: BranchReader, object: AccessObject): Promise<BranchContents> {
  try {
    return await reader.contentsOf(object);
  } catch (error) {
    if (error instanceof ControlPlaneError && error.reason === "NotFound" && error.subject === "Branch") {
      return { roles: [], databases: [] };
    }
    throw error;
  }
}

/**
 * Deletes the Secret and removes the finalizer. If the operator has no right to delete the Secret, the garbage collector
 * does so, because the resource owns it.
 * @throws KubernetesError
 */
export async function releaseResource(
  { secrets, store, logger }: AccessContext,
  { resource }: WorkedAccess,
): Promise<void> {
  const facts = await readOwnSecret(secrets, resource);
  if (facts.kind === "Own") {
    await secrets.delete(facts.secret).catch((error: unknown) => {
      if (!(error instanceof KubernetesError && error.reason === "Forbidden")) throw error;
    });
  }
  await store.removeFinalizer(resource);
  logger.info(resourceFields(resource), "finalizer removed");
}

/** The deletion of a role or a database in the control plane. */
export type ReleaseMutation =
  | { readonly kind: "DeleteRole"; readonly object: AccessObject }
  | { readonly kind: "DeleteDatabase"; readonly object: AccessObject };

/** What the operator does with a recorded object when the resource is deleted. */
type Release = "Delete" | "Retain";

/** A role or database that another DatabaseAccess names. */
interface OtherUse {
  /** The namespace of the other DatabaseAccess. */
  readonly namespace: string;
  readonly type: AccessObject["type"];
  readonly name: string;
  /**
   * The branch on which the other DatabaseAccess uses the role or database. `undefined`: the operator does not know it,
   * and assumes the same branch.
   */
  readonly branchId: string | undefined;
  /** Whether its records name the role or database. Else only its spec does, which any namespace can write. */
  readonly isRecorded: boolean;
}

/** Whether a namespace may use a project of the control plane. */
type MayUse = (namespace: string, projectId: string) => boolean;

/**
 * Decides whether a recorded object is deleted or stays. Pure.
 * It is deleted only if this resource created it and no other resource uses it. A presumed object is deleted only if
 * spec says so. A database is deleted only by an explicit policy. With an invalid spec everything stays.
 */
function releaseOf(object: AccessObject, spec: DatabaseAccessSpec | undefined, isUsed: boolean): Release {
  if (isUsed || spec === undefined || object.origin === "Existing") {
    return "Retain";
  }
  const asked = object.type === "Role" ? spec.role.deletionPolicy : spec.database.deletionPolicy;
  const usual = object.type === "Role" && object.origin === "Created" ? "Delete" : "Retain";
  return asked ?? usual;
}

function isUseOf(
  object: AccessObject,
  { type, name, branchId, namespace, isRecorded }: OtherUse,
  mayUse: MayUse,
): boolean {
  const isSame = type === object.type && name === object.name && (branchId ?? object.branchId) === object.branchId;
  return isSame && (isRecorded || mayUse(namespace, object.projectId));
}

/** Whether spec allows the deletion of a role or a database, apart from what status records. Pure. */
export function mayDelete(spec: DatabaseAccessSpec | undefined): boolean {
  return spec !== undefined && (spec.role.deletionPolicy !== "Retain" || spec.database.deletionPolicy === "Delete");
}

/**
 * Returns the objects to delete: databases before the roles that own them. The spec of a resource whose namespace has no
 * grant keeps nothing. Otherwise any namespace could keep the role of another one, and its password, alive.
 */
function objectsToDelete(
  objects: readonly AccessObject[],
  spec: DatabaseAccessSpec | undefined,
  { uses, mayUse }: { readonly uses: readonly OtherUse[]; readonly mayUse: MayUse },
): readonly AccessObject[] {
  const isUsed = (object: AccessObject) => uses.some((use) => isUseOf(object, use, mayUse));
  const doomed = objects.filter((object) => releaseOf(object, spec, isUsed(object)) === "Delete");
  return [...doomed].sort((a, b) => (a.type === b.type ? 0 : a.type === "Database" ? -1 : 1));
}

/**
 * Returns the databases of the branch that a role owns and that stay. The control plane does not delete such a role.
 */
function ownedDatabases(object: AccessObject, databases: readonly ObservedDatabase[]): readonly string[] {
  return object.type === "Role"
    ? databases.filter(({ ownerName }) => ownerName === object.name).map(({ name }) => name)
    : [];
}

/**
 * Returns how the other resources of the cluster use roles and databases.
 * @param recordsOf returns the records of a resource at the control plane; `undefined`: it has none there
 * @param branchOf returns the branch that the ComputeEndpoint of a resource asks for
 */
function usesOf(
  resources: readonly DatabaseAccess[],
  uid: string,
  {
    recordsOf,
    branchOf,
  }: {
    readonly recordsOf: (resource: DatabaseAccess) => readonly AccessObject[] | undefined;
    readonly branchOf: (resource: DatabaseAccess) => string | undefined;
  },
): readonly OtherUse[] {
  return resources
    .filter((resource) => resource.uid !== uid && !isBeingDeleted(resource))
    .flatMap((resource) => usesBy(resource, recordsOf(resource), branchOf(resource)));
}

function usesBy(
  { spec, key: { namespace } }: DatabaseAccess,
  records: readonly AccessObject[] | undefined,
  wantedBranch: string | undefined,
): readonly OtherUse[] {
  const recorded = (records ?? []).map((object) => ({ ...object, namespace, isRecorded: true }));
  if (spec.kind === "Invalid" || (records !== undefined && wantedBranch === undefined)) {
    return recorded;
  }
  // The endpoint may have moved to a branch on which nothing is recorded yet.
  const branchId = records === undefined ? undefined : wantedBranch;
  const named = { namespace, branchId, isRecorded: false };
  return [
    ...recorded,
    { type: "Role", name: spec.spec.role.name, ...named },
    { type: "Database", name: spec.spec.database.name, ...named },
  ];
}
