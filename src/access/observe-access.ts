import {
  type BranchObjects,
  type BranchPath,
  type ObservedDatabase,
  type ObservedRole,
  Password,
} from "../domain/control-plane.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import { isInFlight, type Operation } from "../domain/operation.ts";
import { KubernetesError, type SecretStore } from "../domain/resource-store.ts";
import { withoutLineBreak } from "../domain/without-line-break.ts";
import type { OperationsSnapshot } from "../operations/snapshot.ts";
import { conditionOf } from "../resource/conditions.ts";
import { type DatabaseAccess, secretKeyOf } from "../resource/database-access.ts";
import type { AccessObject, DatabaseAccessSpec } from "../resource/database-access-schema.ts";
import {
  type AccessContext,
  type AccessObservation,
  isSecretUntouched,
  type PasswordFacts,
  type PendingPassword,
  roleIn,
  type SecretFacts,
  validSpecOf,
  type WorkedAccess,
} from "./access-observation.ts";
import { observedObjects, recordedObjects } from "./access-records.ts";
import { eventOfRetained } from "./access-summary.ts";
import type { BoundEndpoint } from "./endpoint-reference.ts";
import { isRotationAsked, needsPassword, rotationDueMs } from "./plan-access.ts";
import { deletedWithResource } from "./plan-locally.ts";

interface BranchContents {
  readonly roles: readonly ObservedRole[];
  readonly databases: readonly ObservedDatabase[];
}

/** Reads the roles and databases of each branch once in a reconcile. */
export class BranchReader {
  readonly objects: BranchObjects;
  readonly #contents = new Map<string, Promise<BranchContents>>();

  constructor(objects: BranchObjects) {
    this.objects = objects;
  }

  contentsOf(branch: BranchPath): Promise<BranchContents> {
    const known = this.#contents.get(branch.branchId) ?? this.#read(branch);
    this.#contents.set(branch.branchId, known);
    return known;
  }

  async #read(branch: BranchPath): Promise<BranchContents> {
    const [roles, databases] = await Promise.all([this.objects.listRoles(branch), this.objects.listDatabases(branch)]);
    return { roles, databases };
  }
}

/** A missing right to the own Secret is part of the result. @throws ControlPlaneError; KubernetesError otherwise */
export async function observeAccess(
  context: AccessContext,
  { resource, entry }: WorkedAccess,
  from: {
    readonly reader: BranchReader;
    readonly operations: OperationsSnapshot;
    readonly endpoint: BoundEndpoint;
    readonly spec: DatabaseAccessSpec;
  },
): Promise<AccessObservation> {
  const { reader, operations, endpoint, spec } = from;
  const secret = await readOwnSecret(context.secrets, resource);
  const contents = await reader.contentsOf(endpoint);
  const recorded = recordedObjects(resource, context.identity);
  const observation = {
    ...{ resource, spec, endpoint, secret, ...contents, nowMs: context.clock.nowMs() },
    rotationDueMs: rotationDueMs(context, resource),
    isConfigInFlight: operations.operations.some((each) => isConfig(each, endpoint.branchId) && isInFlight(each)),
    settings: context.settingsOf(context.planeId),
    objects: observedObjects({ spec, endpoint, objects: recorded, ...contents }, entry.creates),
    openReset: recorded.length === 0 ? undefined : resource.status.password?.rotation,
  };
  const role = roleIn(observation);
  const { pendingPassword: pending } = entry;
  const answered =
    pending?.branchId === endpoint.branchId && pending.roleUpdatedTime === role?.updatedTime ? pending : undefined;
  const isReadable = secret.kind === "Absent" || secret.kind === "Own";
  const password: PasswordFacts =
    isReadable && role !== undefined
      ? await readPassword(context, answered, { ...observation, role }, reader)
      : { kind: "NotRead" };
  const isKnown = password.kind !== "Unavailable" || needsPassword(observation);
  // A password that is hidden and that nothing has changed stays in the Secret.
  return { ...observation, isAnswered: answered !== undefined, password: isKnown ? password : { kind: "NotRead" } };
}

/**
 * Returns the next role or database to delete. What was in a deleted branch or project is gone too. The control plane
 * keeps a role that owns a database, so a role stays if its database stays. @throws ControlPlaneError
 */
export async function nextToDelete(
  context: AccessContext,
  resource: DatabaseAccess,
  reader: BranchReader,
): Promise<AccessObject | undefined> {
  for (const object of deletedWithResource(recordedObjects(resource, context.identity), context, resource)) {
    const { roles, databases } = await contentsOrGone(reader, object);
    const isRole = object.type === "Role";
    if ((isRole ? roles : databases).some(({ name }) => name === object.name)) {
      const owned = databases.filter(({ ownerName }) => isRole && ownerName === object.name);
      if (owned.length === 0) {
        return object;
      }
      const names = owned.map(({ name }) => name);
      context.events.record(resource, eventOfRetained(object.name, names));
    }
  }
  return undefined;
}

/** For how many milliseconds a create without an answer can still take effect. A deletion sends no create. */
export function settleLeftMs(context: AccessContext, resource: DatabaseAccess): number {
  const { identity, clock, policy } = context;
  const deleted = deletedWithResource(recordedObjects(resource, identity), context, resource);
  const isOpen = deleted.some(({ origin }) => origin === "Requested");
  return isOpen ? Date.parse(resource.deletionTimestamp ?? "") + policy.createSettleMs - clock.nowMs() : 0;
}

async function contentsOrGone(reader: BranchReader, object: AccessObject): Promise<BranchContents> {
  try {
    return await reader.contentsOf(object);
  } catch (error) {
    const isGone = error instanceof ControlPlaneError && error.reason === "NotFound";
    if (isGone && (error.subject === "Branch" || error.subject === "Project")) {
      return { roles: [], databases: [] };
    }
    throw error;
  }
}

/** @throws KubernetesError */
export async function readOwnSecret(secrets: SecretStore, resource: DatabaseAccess): Promise<SecretFacts> {
  try {
    const secret = await secrets.read(secretKeyOf(resource));
    if (secret === undefined) {
      return { kind: "Absent" };
    }
    return secret.ownerUids.includes(resource.uid) ? { kind: "Own", secret } : { kind: "Foreign" };
  } catch (error) {
    if (error instanceof KubernetesError && error.reason === "Forbidden") {
      return { kind: "Forbidden", account: secrets.account };
    }
    throw error;
  }
}

async function readPassword(
  { secrets }: AccessContext,
  answered: PendingPassword | undefined,
  {
    resource,
    spec,
    endpoint,
    role,
  }: Pick<AccessObservation, "resource" | "spec" | "endpoint"> & { role: ObservedRole },
  { objects }: BranchReader,
): Promise<PasswordFacts> {
  const ref = spec.password?.secretRef;
  if (ref !== undefined) {
    const text = (await readGiven(secrets, resource, ref)) ?? "";
    return text === "" ? { kind: "Missing" } : { kind: "Known", password: new Password(text) };
  }
  const password = answered?.password ?? (await objects.revealPassword(endpoint, role.name));
  return password === undefined ? { kind: "Unavailable" } : { kind: "Known", password };
}

function isConfig(operation: Operation, branchId: string): boolean {
  return operation.action === "apply_config" && operation.branchId === branchId;
}

/** Names several changes, because times in whole seconds leave the order of changes of one second open. */
export function configMarkOf({ operations }: OperationsSnapshot, branchId: string): string {
  const latest = operations.filter((operation) => isConfig(operation, branchId)).slice(0, 4);
  return latest
    .map(({ id, status }) => `${id} ${status}`)
    .sort()
    .join();
}

/**
 * Whether no rotation is due and the Secrets have not changed since the last comparison. For a Stalled resource only
 * the cause of the stall counts: a missing password always, a cause outside Kubernetes never. @throws KubernetesError
 */
export async function isUnchangedInKubernetes(context: AccessContext, resource: DatabaseAccess): Promise<boolean> {
  if (isRotationAsked(resource) || rotationDueMs(context, resource) <= context.clock.nowMs()) {
    return false;
  }
  const secret = await readOwnSecret(context.secrets, resource);
  const stalled = conditionOf(resource.status.conditions, "Stalled")?.reason;
  if (stalled === undefined) {
    const ref = validSpecOf(resource)?.password?.secretRef;
    const held = secret.kind === "Own" && isSecretUntouched({ secret, resource }) && secret.secret.data.password;
    return held !== false && (ref === undefined || held === (await readGiven(context.secrets, resource, ref)));
  }
  // If the operator may read Secrets by now, only another attempt shows whether it may also create one.
  const isCauseThere: Readonly<Record<string, boolean>> = {
    SecretExists: secret.kind === "Foreign",
    SecretsForbidden: secret.kind === "Forbidden",
    PasswordMissing: false,
  };
  return isCauseThere[stalled] ?? true;
}

/** Reads a person's password without its last line break; `undefined`: the Secret or its key does not exist. */
async function readGiven(
  secrets: SecretStore,
  { key: { namespace } }: DatabaseAccess,
  { name, key }: NonNullable<NonNullable<DatabaseAccessSpec["password"]>["secretRef"]>,
): Promise<string | undefined> {
  const text = (await secrets.read({ namespace, name }))?.data[key];
  return text === undefined ? undefined : withoutLineBreak(text);
}
