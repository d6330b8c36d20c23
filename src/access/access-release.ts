/** Deletes what a DatabaseAccess has created, when the resource is deleted. */
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import { KubernetesError } from "../domain/resource-store.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { AccessObject } from "../resource/database-access-schema.ts";
import type { AccessContext } from "./access-context.ts";
import { roleRetained } from "./access-events.ts";
import type { WorkedAccess } from "./access-memory.ts";
import { recordedObjects, trustedObjects } from "./access-records.ts";
import { wantedBranchOf } from "./endpoint-reference.ts";
import { type BranchContents, type BranchReader, readOwnSecret } from "./observe-access.ts";
import { objectsToDelete, ownedDatabases, type ReleaseMutation, usesOf } from "./plan-release.ts";

/** Returns the objects to delete with the resource, in any control plane. It needs no read of the control plane. */
export function doomedObjects(context: AccessContext, { resource }: WorkedAccess): readonly AccessObject[] {
  return doomedAmong(recordedObjects(resource, context.identity), context, resource);
}

function doomedAmong(
  objects: readonly AccessObject[],
  { store, endpoints }: AccessContext,
  { spec, uid }: DatabaseAccess,
): readonly AccessObject[] {
  const branchOf = (resource: DatabaseAccess) => wantedBranchOf(resource, (key) => endpoints.get(key));
  const others = usesOf(store.list(), uid, branchOf);
  return objectsToDelete(objects, spec.kind === "Valid" ? spec.spec : undefined, others);
}

/**
 * Returns the next deletion in the control plane; `undefined`: nothing is left to delete.
 * If a branch is gone, its roles and databases are gone too. A role stays if it owns a database that stays.
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
      context.events.record(resource, roleRetained(object.name, owned));
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
  const { namespace, name } = resource.key;
  logger.info({ namespace, name, uid: resource.uid, kind: resource.kind }, "finalizer removed");
}
