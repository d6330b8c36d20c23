import type { ObservedDatabase } from "../domain/branch-objects.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import { KubernetesError } from "../domain/resource-store.ts";
import type { AccessObject } from "../resource/database-access-schema.ts";
import type { AccessContext } from "./access-context.ts";
import { roleRetained } from "./access-events.ts";
import type { WorkedAccess } from "./access-memory.ts";
import { type BranchContents, type BranchReader, readOwnSecret, trustedObjects } from "./observe-access.ts";
import { objectsToDelete, ownedDatabases, type ReleaseMutation, usesOf } from "./plan-release.ts";

/** Returns the objects to delete with the resource, decided without a read of the control plane. */
export function doomedObjects(context: AccessContext, { resource }: WorkedAccess): readonly AccessObject[] {
  const spec = resource.spec.kind === "Valid" ? resource.spec.spec : undefined;
  return objectsToDelete(trustedObjects(context, resource), spec, usesOf(context.store.list(), resource.uid));
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
  for (const object of doomedObjects(context, worked)) {
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
