/**
 * Reads the facts from which the operator decides about a DatabaseAccess, and checks whether such a read is necessary.
 */
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
import type { OperationsSnapshot } from "../operations/known-operations.ts";
import { conditionOf } from "../resource/conditions.ts";
import { type DatabaseAccess, secretKeyOf } from "../resource/database-access.ts";
import type { AccessObject, DatabaseAccessSpec } from "../resource/database-access-schema.ts";
import {
  type AccessContext,
  type AccessObservation,
  isSecretUntouched,
  type PasswordFacts,
  roleIn,
  type SecretFacts,
  validSpecOf,
  type WorkedAccess,
} from "./access-observation.ts";
import { createKeyOf, observedObjects, trustedObjects } from "./access-records.ts";
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

/**
 * Reads the facts for the decision about one resource: its Secret, roles, databases and password. If the right to read
 * the resource's own Secret is missing, the observation says so.
 * @throws ControlPlaneError; KubernetesError when a Secret cannot be read for another reason
 */
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
  const recorded = trustedObjects(resource, context.identity);
  const observation = {
    ...{ resource, spec, endpoint, secret, ...contents },
    nowMs: context.clock.nowMs(),
    isConfigInFlight: operations.operations.some((each) => isConfig(each, endpoint.branchId) && isInFlight(each)),
    settings: context.settingsOf(context.planeId),
    objects: observedObjects({ spec, endpoint, objects: recorded, ...contents }, entry.creates),
    openReset: recorded.length === 0 ? undefined : resource.status.password?.rotation,
    isResetAccepted: entry.isResetAccepted,
  };
  const isReadable = secret.kind === "Absent" || secret.kind === "Own";
  const role = roleIn(observation);
  const latest = latestConfigs(operations, endpoint.branchId);
  const mark = latest
    .map(({ id }) => id)
    .sort()
    .join();
  const isNeeded = needsPassword(observation);
  const isDoubted = mark !== entry.passwordMark && mayBeOfOneMoment(role?.updatedTime, latest[0]?.createdTime);
  const isWanted = isReadable && role !== undefined && (isNeeded || isDoubted);
  const password: PasswordFacts = isWanted
    ? await readPassword(context, entry, observation, reader)
    : { kind: "NotRead" };
  entry.passwordMark = isReadable ? mark : undefined;
  // If the password was read only because the role may have changed twice within a second, and the control plane does
  // not reveal it, the Secret stays as it is.
  return { ...observation, password: isNeeded || password.kind === "Known" ? password : { kind: "NotRead" } };
}

/**
 * Returns the next role or database to delete in the control plane; `undefined`: nothing is left to delete. If a branch
 * is gone, its roles and databases are gone too. The control plane does not delete a role that owns a database. So a
 * role stays if it owns a database that stays, and an event reports that.
 * @throws ControlPlaneError
 */
export async function nextToDelete(
  context: AccessContext,
  resource: DatabaseAccess,
  reader: BranchReader,
): Promise<AccessObject | undefined> {
  for (const object of deletedWithResource(trustedObjects(resource, context.identity), context, resource)) {
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

/**
 * Returns for how many milliseconds a create or DELETE without an answer can still take effect on a role or database
 * that is deleted with the resource. A late create would bring it back. A late DELETE would delete the one of the same
 * name that a later resource makes. After a restart, an earlier process may have sent either.
 */
export function settleLeftMs(context: AccessContext, { resource, entry }: WorkedAccess): number {
  const { identity, monotonicMs, policy } = context;
  const deleted = deletedWithResource(trustedObjects(resource, identity), context, resource);
  const sinceMs = deleted.map((object) => {
    const key = createKeyOf(object);
    const isOfEarlierProcess = entry.wasDeletingAtFirst || (object.origin === "Requested" && !entry.creates.has(key));
    return entry.unanswered.get(key) ?? (isOfEarlierProcess ? entry.firstSeenMs : Number.NEGATIVE_INFINITY);
  });
  // A DELETE without an answer counts also if the object is retained by now.
  return (
    Math.max(entry.unansweredDeleteMs ?? Number.NEGATIVE_INFINITY, ...sinceMs) + policy.createSettleMs - monotonicMs
  );
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

/** Two times of the control plane that differ by less than this may be of one moment, in milliseconds. */
const oneMomentMs = 2_000;

/**
 * Whether a role may have changed again and still have the same `updatedTime`. That is possible if the role's time has
 * whole seconds, and an operation changed roles of the branch in about the same second. Pure.
 */
function mayBeOfOneMoment(updatedTime = "", operationTime = ""): boolean {
  const updatedMs = Date.parse(updatedTime);
  return updatedMs % 1_000 === 0 && Math.abs(Date.parse(operationTime) - updatedMs) < oneMomentMs;
}

/** Reads the Secret that the resource writes. @throws KubernetesError */
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
  { pendingPassword }: WorkedAccess["entry"],
  { resource, spec, endpoint, roles }: Omit<AccessObservation, "password">,
  { objects }: BranchReader,
): Promise<PasswordFacts> {
  const ref = spec.password?.secretRef;
  if (ref !== undefined) {
    const text = (await readGiven(secrets, resource, ref)) ?? "";
    return text === ""
      ? { kind: "Missing" }
      : { kind: "Known", password: new Password(text), roleUpdatedTime: undefined };
  }
  const roleUpdatedTime = roleIn({ spec, roles })?.updatedTime;
  if (pendingPassword?.branchId === endpoint.branchId && pendingPassword.roleUpdatedTime === roleUpdatedTime) {
    return { kind: "Known", password: pendingPassword.password, roleUpdatedTime };
  }
  const password = await objects.revealPassword(endpoint, spec.role.name);
  return password === undefined ? { kind: "Unavailable" } : { kind: "Known", password, roleUpdatedTime };
}

function isConfig(operation: Operation, branchId: string): boolean {
  return operation.action === "apply_config" && operation.branchId === branchId;
}

/**
 * Returns the latest changes of a branch's roles and databases in the operation log. If times have whole seconds, several of
 * them can be the latest. The log is ordered, newest first.
 */
function latestConfigs({ operations }: OperationsSnapshot, branchId: string): readonly Operation[] {
  const first = operations.findIndex((operation) => isConfig(operation, branchId));
  const time = operations[first]?.createdTime;
  const end = operations.findIndex(({ createdTime }, at) => at > first && createdTime !== time);
  const ofTime = first < 0 ? [] : operations.slice(first, end < 0 ? undefined : end);
  return ofTime.filter((operation) => isConfig(operation, branchId));
}

/** Returns the latest changes of a branch's roles and databases in the operation log, as one text. */
export function configMarkOf(operations: OperationsSnapshot, branchId: string): string {
  return latestConfigs(operations, branchId)
    .map(({ id, status }) => `${id} ${status}`)
    .sort()
    .join();
}

/**
 * Whether Kubernetes gives no reason to compare the resource with the control plane: no rotation is due, and its Secrets
 * have not changed since the last comparison. For a Stalled resource only the cause of the stall counts. A missing
 * password is always a reason, and a cause outside Kubernetes never is.
 * @throws KubernetesError
 */
export async function isUnchangedInKubernetes(context: AccessContext, resource: DatabaseAccess): Promise<boolean> {
  if (isRotationAsked(resource) || rotationDueMs(resource) <= context.clock.nowMs()) {
    return false;
  }
  const secret = await readOwnSecret(context.secrets, resource);
  const stalled = conditionOf(resource.status.conditions, "Stalled");
  switch (stalled?.reason) {
    case undefined: {
      const ref = validSpecOf(resource)?.password?.secretRef;
      const held = secret.kind === "Own" && isSecretUntouched({ secret, resource }) && secret.secret.data.password;
      return held !== false && (ref === undefined || held === (await readGiven(context.secrets, resource, ref)));
    }
    case "SecretExists":
      return secret.kind === "Foreign";
    case "SecretsForbidden":
      // Earlier the operator could not create the Secret. If it may read Secrets now, only another attempt shows
      // whether it may also create one.
      return secret.kind === "Forbidden";
    case "PasswordMissing":
      return false;
    default:
      return true;
  }
}

/**
 * Reads the password that a person gave in a Secret of the namespace; `undefined`: the Secret or its key does not
 * exist.
 */
async function readGiven(
  secrets: SecretStore,
  { key: { namespace } }: DatabaseAccess,
  { name, key }: NonNullable<NonNullable<DatabaseAccessSpec["password"]>["secretRef"]>,
): Promise<string | undefined> {
  return (await secrets.read({ namespace, name }))?.data[key];
}
