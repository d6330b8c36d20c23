import type { BranchObjects, BranchPath, ObservedDatabase, ObservedRole } from "../domain/branch-objects.ts";
import { isInFlight } from "../domain/operation.ts";
import { Password } from "../domain/password.ts";
import { KubernetesError } from "../domain/resource-store.ts";
import type { SecretStore } from "../domain/secret-store.ts";
import type { OperationsSnapshot } from "../operations/known-operations.ts";
import { type DatabaseAccess, secretKeyOf } from "../resource/database-access.ts";
import type { DatabaseAccessSpec } from "../resource/database-access-schema.ts";
import type { AccessContext } from "./access-context.ts";
import type { WorkedAccess } from "./access-memory.ts";
import type { AccessObservation, BoundEndpoint, PasswordFacts, SecretFacts } from "./access-observation.ts";
import { needsPassword, roleIn } from "./plan-access.ts";
import { trustedObjects } from "./record-standing.ts";

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

/** What an observation is read from. */
export interface ObservedFrom {
  readonly reader: BranchReader;
  readonly operations: OperationsSnapshot;
  readonly endpoint: BoundEndpoint;
  readonly spec: DatabaseAccessSpec;
}

/**
 * Reads everything that the decision about a resource needs.
 * @throws ControlPlaneError; KubernetesError when a Secret cannot be read, unless the right to read it is missing.
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
  };
  const isReadable = secret.kind === "Absent" || secret.kind === "Own";
  const isWanted = isReadable && roleIn(observation) !== undefined && needsPassword(observation);
  return {
    ...observation,
    password: isWanted ? await readPassword(context, worked, observation, reader) : { kind: "NotRead" },
  };
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
      return { kind: "Forbidden" };
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

/** Whether an operation changes roles or databases: its action is `apply_config`. */
function isConfig(
  operation: { readonly action: string; readonly branchId: string | undefined },
  branchId: string,
): boolean {
  return operation.action === "apply_config" && operation.branchId === branchId;
}

function isConfigInFlight({ operations }: OperationsSnapshot, branchId: string): boolean {
  return operations.some((operation) => isConfig(operation, branchId) && isInFlight(operation));
}

/** Returns the id of the latest change of a branch's roles and databases in the operation log. */
export function configMarkOf({ operations }: OperationsSnapshot, branchId: string): string {
  const latest = operations.find((operation) => isConfig(operation, branchId));
  return latest === undefined ? "" : `${latest.id} ${latest.status}`;
}
