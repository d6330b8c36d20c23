/** Reads what a decision about a DatabaseAccess needs: its Secret, and roles, databases and password of its branch. */
import type { BranchPath } from "../../domain/branch.ts";
import { type BranchObjects, Password } from "../../domain/control-plane.ts";
import { ControlPlaneError } from "../../domain/control-plane-error.ts";
import { isIdle } from "../../domain/endpoint.ts";
import { isInFlight, type Operation, outcomeOf } from "../../domain/operation.ts";
import type { Reads } from "../../engine/kind.ts";
import { lockPatienceMs, type ProjectReads } from "../../engine/project-reads.ts";
import type { OperationsSnapshot } from "../../operations/reader.ts";
import { conditionOf } from "../../resource/conditions.ts";
import type { DatabaseAccess } from "../../resource/database-access.ts";
import type { AccessObject } from "../../resource/database-access-schema.ts";
import { isBeingDeleted } from "../../resource/stored-object.ts";
import { isInherited, observedObjects, recordedObjects } from "./access-records.ts";
import { readGivenPassword, readOwnSecret } from "./access-secret.ts";
import {
  type AccessContext,
  type AccessFacts,
  type AccessObservation,
  type AccessReads,
  type AccessStep,
  type AccessTypes,
  type BranchContents,
  isSecretUntouched,
  type PasswordFacts,
  roleIn,
  validSpecOf,
} from "./access-types.ts";
import { deletedWith } from "./deletion.ts";
import { boundTo } from "./endpoint-reference.ts";
import { rotationDueMs } from "./rotation.ts";

/** Roles and databases of each branch, which are read once in a reconcile. */
export type BranchCache = Map<string, Promise<BranchContents>>;

interface ProjectSource {
  readonly objects: BranchObjects;
  readonly project: ProjectReads;
  readonly contents: BranchCache;
}

/** @param from `undefined`: only Kubernetes may be read. @throws ControlPlaneError; KubernetesError */
export async function observe(
  context: AccessContext,
  facts: AccessFacts,
  from: ProjectSource | undefined,
): Promise<AccessReads> {
  const { resource } = facts;
  if (from === undefined) {
    return { kind: "Secret", isUnchanged: await isUnchangedInKubernetes(context, resource) };
  }
  return isBeingDeleted(resource)
    ? { kind: "Contents", byBranch: await readDeleted(deletedWith(context, resource), from) }
    : await observeAccess(context, facts, from);
}

/** @throws ControlPlaneError */
function readContents(branch: BranchPath, { objects, contents }: ProjectSource): Promise<BranchContents> {
  const read = async () => {
    const [roles, databases] = await Promise.all([objects.listRoles(branch), objects.listDatabases(branch)]);
    return { roles, databases };
  };
  const known = contents.get(branch.branchId) ?? read();
  contents.set(branch.branchId, known);
  return known;
}

/** What was in a deleted branch or project is gone too. @throws ControlPlaneError */
async function readDeleted(objects: readonly AccessObject[], from: ProjectSource) {
  const unlessGone = (error: unknown) => {
    const isGone = error instanceof ControlPlaneError && error.reason === "NotFound";
    if (!isGone || (error.subject !== "Branch" && error.subject !== "Project")) throw error;
    return { roles: [], databases: [] };
  };
  const read = async (object: AccessObject) =>
    [object.branchId, await readContents(object, from).catch(unlessGone)] as const;
  return new Map(await Promise.all(objects.map(read)));
}

/** A missing right to the own Secret is part of the result. @throws ControlPlaneError; KubernetesError otherwise */
async function observeAccess(
  context: AccessContext,
  { resource, memory, monotonicMs }: AccessFacts,
  from: ProjectSource,
): Promise<AccessReads> {
  const { secrets } = context;
  const { objects, project } = from;
  const endpoint = boundTo(context, resource, project.snapshot);
  const spec = validSpecOf(resource);
  if (endpoint === undefined || spec === undefined) {
    throw new Error("unreachable: only a resource with an endpoint asks for these reads");
  }
  const secret = await readOwnSecret(secrets, resource);
  const contents = await readContents(endpoint, from);
  const changes = project.operations.operations.filter((each) => isConfig(each, endpoint.branchId));
  const isConfigInFlight = changes.some(isInFlight) && project.lockedForMs(monotonicMs) < lockPatienceMs;
  const [failedConfig] = changes.slice(0, 1).filter((each) => outcomeOf(each) === "Failed");
  const seen = { kind: "Access", endpoint, secret, ...contents, isConfigInFlight, failedConfig } as const;
  const role = roleIn({ ...contents, spec });
  const pending = memory.hint?.password;
  const isAnswered = pending?.branchId === endpoint.branchId && pending.roleUpdatedTime === role?.updatedTime;
  const isReadable = secret.kind === "Absent" || secret.kind === "Own";
  const isParents = isInherited({ spec, endpoint, objects: recordedObjects(resource, context.identity) });
  if (!isReadable || role === undefined || (isParents && !isAnswered)) {
    return { ...seen, isAnswered, password: { kind: "NotRead" } };
  }
  const ref = spec.password?.secretRef;
  const text = ref && (await readGivenPassword(secrets, resource, ref));
  if (ref !== undefined) {
    return { ...seen, isAnswered, password: text ? known(new Password(text)) : { kind: "Missing" } };
  }
  const password = isAnswered ? pending.password : await objects.revealPassword(endpoint, role.name);
  return { ...seen, isAnswered, password: password === undefined ? { kind: "Unavailable" } : known(password) };
}

const known = (password: Password): PasswordFacts => ({ kind: "Known", password });

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
 * Whether the Secrets have not changed since the last comparison. For a Stalled resource only
 * the cause of the stall counts: a missing password always, a cause outside Kubernetes never. @throws KubernetesError
 */
export async function isUnchangedInKubernetes(context: AccessContext, resource: DatabaseAccess): Promise<boolean> {
  const secret = await readOwnSecret(context.secrets, resource);
  const stalled = conditionOf(resource.status.conditions, "Stalled")?.reason;
  if (stalled === undefined) {
    const ref = validSpecOf(resource)?.password?.secretRef;
    const held = secret.kind === "Own" && isSecretUntouched({ secret, resource }) && secret.secret.data.password;
    return held !== false && (ref === undefined || held === (await readGivenPassword(context.secrets, resource, ref)));
  }
  // If the operator may read Secrets by now, only another attempt shows whether it may also create one.
  const isCauseThere: Readonly<Record<string, boolean>> = {
    SecretExists: secret.kind === "Foreign",
    SecretsForbidden: secret.kind === "Forbidden",
    PasswordMissing: false,
    ConfigurationFailed: resource.status.secret === undefined || isSecretUntouched({ secret, resource }),
  };
  return isCauseThere[stalled] ?? true;
}

export function observationOf(
  context: AccessContext,
  { resource, memory, nowMs, policy }: AccessFacts,
  { own, project }: Reads<AccessTypes>,
): AccessObservation | undefined {
  const spec = validSpecOf(resource);
  if (own?.kind !== "Access" || spec === undefined) {
    return undefined;
  }
  const recorded = recordedObjects(resource, context.identity);
  const { password } = resource.status;
  const { endpointId } = own.endpoint;
  const endpoint = project?.snapshot?.endpoints.get(endpointId);
  const operations = project?.operations.operations ?? [];
  const ofEndpoint = operations.filter((each) => each.endpointId === endpointId);
  const isComputeIdle = endpoint !== undefined && isIdle(endpoint, ofEndpoint);
  return {
    ...own,
    resource,
    spec,
    nowMs,
    policy,
    account: context.secrets.account,
    settings: context.settingsOf(context.planeId),
    objects: observedObjects({ ...own, spec, objects: recorded }, memory.posts),
    // Without valid records, the note may be that of another resource.
    openReset: recorded.length === 0 ? undefined : password?.rotation,
    resetOperation: spec.password?.secretRef ? undefined : operations.find(({ id }) => id === password?.operationId),
    rotationDueMs: rotationDueMs({ ...context, nowMs }, resource, isComputeIdle),
  };
}

/** The observation as it is after the change of the step: an answer may hold a new password. */
export function observationAfter(
  context: AccessContext,
  { facts, reads, plan, outcome }: AccessStep,
): AccessObservation | undefined {
  const observation = observationOf(context, facts, reads);
  const answer = outcome.kind === "Accepted" && plan?.kind === "ResetPassword" ? outcome.answer : undefined;
  if (observation === undefined || answer?.password === undefined) {
    return observation;
  }
  const { password, roleUpdatedTime: updatedTime } = answer.password;
  const roles = observation.roles.map((role) =>
    role.name === observation.spec.role.name ? { ...role, updatedTime } : role,
  );
  const resetOperation = answer.operations.find((each) => isConfig(each, observation.endpoint.branchId));
  return { ...observation, roles, password: { kind: "Known", password }, resetOperation };
}
