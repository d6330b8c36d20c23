/** Reads the facts that a decision about a DatabaseAccess needs, and finds out whether it needs to read at all. */
import {
  type BranchObjects,
  type BranchPath,
  type ObservedDatabase,
  type ObservedRole,
  Password,
} from "../domain/control-plane.ts";
import { isInFlight, type Operation } from "../domain/operation.ts";
import { KubernetesError, type SecretStore } from "../domain/resource-store.ts";
import type { OperationsSnapshot } from "../operations/known-operations.ts";
import { conditionOf } from "../resource/conditions.ts";
import { type DatabaseAccess, secretKeyOf } from "../resource/database-access.ts";
import type { DatabaseAccessSpec } from "../resource/database-access-schema.ts";
import type { AccessContext } from "./access-context.ts";
import {
  type AccessObservation,
  type BoundEndpoint,
  isSecretUntouched,
  type PasswordFacts,
  type SecretFacts,
  type WorkedAccess,
} from "./access-observation.ts";
import { trustedObjects } from "./access-records.ts";
import { isRotationAsked, needsPassword, roleIn, rotationDueMs } from "./plan-access.ts";

/** The roles and databases of one branch. */
export interface BranchContents {
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

  /** Returns the roles and databases of a branch. @throws ControlPlaneError */
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

/** The sources of an observation. */
export interface ObservedFrom {
  readonly reader: BranchReader;
  readonly operations: OperationsSnapshot;
  readonly endpoint: BoundEndpoint;
  readonly spec: DatabaseAccessSpec;
}

/**
 * Reads everything that the decision about a resource needs.
 * If the right to read the resource's own Secret is missing, the observation says so.
 * @throws ControlPlaneError; KubernetesError when a Secret cannot be read for another reason
 */
export async function observeAccess(
  context: AccessContext,
  worked: WorkedAccess,
  { reader, operations, endpoint, spec }: ObservedFrom,
): Promise<AccessObservation> {
  const { resource } = worked;
  const secret = await readOwnSecret(context.secrets, resource);
  const contents = await reader.contentsOf(endpoint);
  const observation = {
    resource,
    spec,
    nowMs: context.clock.nowMs(),
    endpoint,
    secret,
    ...contents,
    isConfigInFlight: isConfigInFlight(operations, endpoint.branchId),
    settings: context.settings,
    objects: trustedObjects(resource, context.identity),
    creates: worked.entry.creates,
  };
  const isReadable = secret.kind === "Absent" || secret.kind === "Own";
  const role = roleIn(observation);
  const latest = latestConfigs(operations, endpoint.branchId);
  const mark = latest
    .map(({ id }) => id)
    .sort()
    .join();
  const isNeeded = needsPassword(observation);
  const isDoubted = mark !== worked.entry.passwordMark && mayBeOfOneMoment(role?.updatedTime, latest[0]?.createdTime);
  const isWanted = isReadable && role !== undefined && (isNeeded || isDoubted);
  const password: PasswordFacts = isWanted
    ? await readPassword(context, worked, observation, reader)
    : { kind: "NotRead" };
  worked.entry.passwordMark = isReadable ? mark : undefined;
  // If the control plane does not reveal passwords, a read of the password cannot remove the doubt.
  return { ...observation, password: isNeeded || password.kind === "Known" ? password : { kind: "NotRead" } };
}

/** Two times of the control plane that differ by less than this may be of one moment, in milliseconds. */
const oneMomentMs = 2_000;

/**
 * Whether a role may have changed again and still have the same `updatedTime`. That can be if its time has whole
 * seconds, and an operation changed roles of the branch in about the same second. Pure.
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
  { entry }: WorkedAccess,
  { resource, spec, endpoint, ...rest }: Omit<AccessObservation, "password">,
  { objects }: BranchReader,
): Promise<PasswordFacts> {
  const ref = spec.password?.secretRef;
  if (ref !== undefined) {
    const given = await secrets.read({ namespace: resource.key.namespace, name: ref.name });
    const text = given?.data[ref.key];
    const isGiven = text !== undefined && text !== "";
    return isGiven ? { kind: "Known", password: new Password(text), roleUpdatedTime: undefined } : { kind: "Missing" };
  }
  const roleUpdatedTime = roleIn({ spec, roles: rest.roles })?.updatedTime;
  const { pendingPassword } = entry;
  if (pendingPassword?.branchId === endpoint.branchId && pendingPassword.roleUpdatedTime === roleUpdatedTime) {
    return { kind: "Known", password: pendingPassword.password, roleUpdatedTime };
  }
  const password = await objects.revealPassword(endpoint, spec.role.name);
  return password === undefined ? { kind: "Unavailable" } : { kind: "Known", password, roleUpdatedTime };
}

/** Whether an operation changes roles or databases of the branch: its action is `apply_config`. */
function isConfig(
  operation: { readonly action: string; readonly branchId: string | undefined },
  branchId: string,
): boolean {
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

function isConfigInFlight({ operations }: OperationsSnapshot, branchId: string): boolean {
  return operations.some((operation) => isConfig(operation, branchId) && isInFlight(operation));
}

/** Returns the latest changes of a branch's roles and databases in the operation log, as one text. */
export function configMarkOf(operations: OperationsSnapshot, branchId: string): string {
  return latestConfigs(operations, branchId)
    .map(({ id, status }) => `${id} ${status}`)
    .sort()
    .join();
}

/**
 * Whether nothing that this resource writes or reads in Secrets has changed since its last comparison, and no rotation
 * is due. If so, the operator does not read the control plane before the next resync.
 * @throws KubernetesError
 */
export async function isUnchangedInKubernetes(context: AccessContext, resource: DatabaseAccess): Promise<boolean> {
  if (isRotating(resource, context.clock.nowMs())) {
    return false;
  }
  const secret = await readOwnSecret(context.secrets, resource);
  const stalled = conditionOf(resource.status.conditions, "Stalled");
  switch (stalled?.reason) {
    case undefined:
      return isSecretUntouched({ secret, resource }) && (await isGivenPasswordSame(context, resource, secret));
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

function isRotating(resource: DatabaseAccess, nowMs: number): boolean {
  const afterSeconds = resource.spec.kind === "Valid" ? resource.spec.spec.password?.rotateAfterSeconds : undefined;
  const dueMs = rotationDueMs(resource, afterSeconds);
  return isRotationAsked(resource) || (dueMs !== undefined && dueMs <= nowMs);
}

async function isGivenPasswordSame(
  { secrets }: AccessContext,
  { key, spec }: DatabaseAccess,
  secret: SecretFacts,
): Promise<boolean> {
  const ref = spec.kind === "Valid" ? spec.spec.password?.secretRef : undefined;
  if (ref === undefined) {
    return true;
  }
  const given = await secrets.read({ namespace: key.namespace, name: ref.name });
  return secret.kind === "Own" && given?.data[ref.key] === secret.secret.data.password;
}
