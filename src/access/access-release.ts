import type { ObservedDatabase } from "../domain/branch-objects.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import { KubernetesError } from "../domain/resource-store.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { AccessObject } from "../resource/database-access-schema.ts";
import type { AccessContext } from "./access-context.ts";
import { roleRetained } from "./access-events.ts";
import type { WorkedAccess } from "./access-memory.ts";
import { type BranchContents, type BranchReader, readOwnSecret } from "./observe-access.ts";
import { objectsToDelete, ownedDatabases, type ReleaseMutation, usesOf } from "./plan-release.ts";
import { recordedObjects, trustedObjects } from "./record-standing.ts";

/**
 * Returns the objects to delete with the resource, at whichever control plane they are. It is decided without a read of
 * the control plane.
 */
export function doomedObjects(context: AccessContext, { resource }: WorkedAccess): readonly AccessObject[] {
  return doomedAmong(recordedObjects(resource, context.identity), context, resource);
}

function doomedAmong(
  objects: readonly AccessObject[],
  { store }: AccessContext,
  { spec, uid }: DatabaseAccess,
): readonly AccessObject[] {
  return objectsToDelete(objects, spec.kind === "Valid" ? spec.spec : undefined, usesOf(store.list(), uid));
}

/**
 * Returns the next deletion at the control plane; `undefined`: nothing is left to delete.
 * If a branch is gone, its roles and databases are gone too. A role stays if it owns a database that stays.
 * @throws ControlPlaneError
 */
export async function nextRelease(
  context: AccessContext,
  worked: WorkedAccess,
  reader: BranchReader,
): Promise<ReleaseMutation | undefined> {
  const { resource } = worked;
  for (const object of doomedAmong(trustedObjects(resource, context.identity), context, resource)) {
    const contents = await contentsOrGone(reader, object);
    const isListed =
      object.type === "Role"
        ? contents.roles.some(({ name }) => name === object.name)
        : contents.databases.some(({ name }) => name === object.name);
    if (!isListed) {
      continue;
    }
    if (isRetainedByDatabase(context, worked, object, contents.databases)) {
      continue;
    }
    return { kind: object.type === "Role" ? "DeleteRole" : "DeleteDatabase", object };
  }
  return undefined;
}

function isRetainedByDatabase(
  { events }: AccessContext,
  { resource }: WorkedAccess,
  object: AccessObject,
  databases: readonly ObservedDatabase[],
): boolean {
  const owned = ownedDatabases(object, databases);
  if (owned.length === 0) {
    return false;
  }
  events.record(resource, roleRetained(object.name, owned));
  return true;
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

/** Deletes the Secret and removes the finalizer. @throws KubernetesError */
export async function releaseResource(context: AccessContext, worked: WorkedAccess): Promise<void> {
  const { secrets, store, logger } = context;
  const { resource } = worked;
  const facts = await readOwnSecret(secrets, resource);
  if (facts.kind === "Own") {
    await deleteOrLeave(context, worked, facts.secret);
  }
  await store.removeFinalizer(resource);
  const { namespace, name } = resource.key;
  logger.info({ namespace, name, uid: resource.uid, kind: resource.kind }, "finalizer removed");
}

/**
 * Deletes the Secret. Without the right to do so, it leaves the Secret to the garbage collector: the resource owns the
 * Secret.
 */
async function deleteOrLeave(
  { secrets }: AccessContext,
  _worked: WorkedAccess,
  secret: Parameters<AccessContext["secrets"]["delete"]>[0],
): Promise<void> {
  try {
    await secrets.delete(secret);
  } catch (error) {
    if (!(error instanceof KubernetesError && error.reason === "Forbidden")) {
      throw error;
    }
  }
}
