/** Decides about one DatabaseAccess: what to read next, and what follows from the reads. */
import type { SecretWriteCause } from "../../domain/resource-store.ts";
import { isSameStored } from "../../domain/same-stored.ts";
import { type Reads, stall, wait } from "../../engine/kind.ts";
import type { ProjectReads } from "../../engine/project-reads.ts";
import { failureCause } from "../../operations/status-operations.ts";
import { type DatabaseAccess, secretKeyOf } from "../../resource/database-access.ts";
import { annotations } from "../../resource/names.ts";
import { isBeingDeleted } from "../../resource/stored-object.ts";
import { bindingOf, secretsForbidden } from "./access-secret.ts";
import {
  type AccessContext,
  type AccessFacts,
  type AccessObservation,
  type AccessTypes,
  type BoundEndpoint,
  isSecretUntouched,
  type ObjectType,
  type Plan,
  roleIn,
} from "./access-types.ts";
import { decideDeletion } from "./deletion.ts";
import { boundTo, type NamedEndpoint, notThereYet, referenceOf } from "./endpoint-reference.ts";
import { configMarkOf, observationOf } from "./observe-access.ts";
import { isRotationDue, isRotationOpen, planRotation, rotationDueMs } from "./rotation.ts";

type AccessReadsSoFar = Reads<AccessTypes>;

/** The interval at which a Secret is compared with the operator's last write, in milliseconds. */
export const secretCheckMs = 45_000;

export function decideAccess(context: AccessContext, facts: AccessFacts, reads: AccessReadsSoFar): Plan {
  if (isBeingDeleted(facts.resource)) {
    return decideDeletion(context, facts.resource, reads);
  }
  const reference = referenceOf(context, facts.resource);
  if (reference.kind !== "Named") {
    return reference;
  }
  return reads.project === undefined
    ? decideUnread(context, facts, reads)
    : decideWith(context, facts, { ...reads, reference });
}

/** Between two comparisons with the control plane, only the Secrets are looked at, unless a rotation is due. */
function decideUnread(context: AccessContext, facts: AccessFacts, { own }: AccessReadsSoFar): Plan {
  if (own?.kind === "Secret" && own.isUnchanged) {
    return { kind: "Idle", dueInMs: secretCheckInMs(context, facts.resource) };
  }
  const isCheckDue = own === undefined && facts.isDue && !facts.isChanged && isCompared(facts);
  return { kind: "Look", at: isCheckDue && !isRotationDue(context, facts.resource) ? "Own" : "Project" };
}

/** In milliseconds: the next look at the Secret, or earlier when a rotation by age becomes due. */
export function secretCheckInMs(context: AccessContext, resource: DatabaseAccess): number {
  const leftMs = rotationDueMs(context, resource) - context.nowMs;
  return leftMs > 0 ? Math.min(secretCheckMs, leftMs) : secretCheckMs;
}

function isCompared({ memory, resource, monotonicMs, policy }: AccessFacts): boolean {
  const { compared } = memory.hint ?? {};
  const isFailing = memory.failure !== undefined || memory.writeFailures > 0;
  const isCurrent = resource.status.observedGeneration === resource.generation;
  return compared !== undefined && monotonicMs - compared.atMs < policy.resyncMs && isCurrent && !isFailing;
}

function decideWith(
  context: AccessContext,
  facts: AccessFacts,
  { project, own, reference }: AccessReadsSoFar & { readonly reference: NamedEndpoint },
): Plan {
  if (project?.snapshot === undefined) {
    return { kind: "Look", at: "Project" };
  }
  const endpoint = boundTo(context, facts.resource, project.snapshot);
  if (endpoint === undefined) {
    return project.snapshot.readsById.has(reference.endpointId)
      ? notThereYet(facts.resource, facts.policy.operationPollMs)
      : { kind: "Look", at: "Endpoint", endpointId: reference.endpointId };
  }
  // Only unfinished work asks for reads. A failed resource waits for its next try.
  const { hint, failure } = facts.memory;
  const isHeld = !facts.isDue && (failure?.retryAtMs ?? 0) > facts.monotonicMs;
  const isSame = !facts.isDue && isCompared(facts) && comparedMark(project, endpoint) === hint?.compared?.mark;
  if (own === undefined && (isHeld || isSame)) {
    return { kind: "Idle", dueInMs: undefined };
  }
  const observation = observationOf(context, facts, { project, ...(own && { own }) });
  if (observation === undefined) {
    return { kind: "Look", at: "Own" };
  }
  const plan = planAccess(observation);
  // A list may be out of date. Only a read by id proves the endpoint and its state.
  const isProven = plan.kind !== "ResetPassword" || project.snapshot.readsById.has(endpoint.endpointId);
  return isProven ? plan : { kind: "Look", at: "Endpoint", endpointId: endpoint.endpointId };
}

/** Describes everything of the project that the Secret is made from. */
export function comparedMark({ operations }: ProjectReads, endpoint: BoundEndpoint): string {
  return JSON.stringify([endpoint, configMarkOf(operations, endpoint.branchId)]);
}

/** The checks in their order. The first one that returns a plan decides. If none does, the resource is settled. */
export function planAccess(observation: AccessObservation): Plan {
  return (
    planSecretAccess(observation) ??
    planRole(observation) ??
    planDatabase(observation) ??
    planConfiguration(observation) ??
    planRotation(observation) ??
    planFailedConfiguration(observation) ??
    planPassword(observation) ??
    planSecret(observation) ?? { kind: "Settled" }
  );
}

/** Without its Secret, a resource gets neither role nor database. */
function planSecretAccess({ secret, resource, account }: AccessObservation): Plan | undefined {
  if (secret.kind === "Forbidden") {
    return stall("SecretsForbidden", secretsForbidden(resource, account));
  }
  const { name } = secretKeyOf(resource);
  const exists = `A Secret ${name} exists and does not belong to this resource, so the operator does not change it. Delete that Secret, or create this resource with another spec.secret.name.`;
  return secret.kind === "Foreign" ? stall("SecretExists", exists) : undefined;
}

function planRole(observation: AccessObservation): Plan | undefined {
  const { spec, endpoint } = observation;
  const isRequired = spec.role.policy === "MustExist";
  if (roleIn(observation) !== undefined) {
    return undefined;
  }
  if (!isRequired && spec.password?.secretRef === undefined) {
    return create(observation, "Role");
  }
  const remedy = isRequired
    ? "Create the role, or set spec.role.policy to CreateIfAbsent."
    : "The control plane has no call that sets a given password: create the role with that password, or remove spec.password.secretRef.";
  return stall("RoleNotFound", `Branch ${endpoint.branchId} has no role ${spec.role.name}. ${remedy}`);
}

function planDatabase(observation: AccessObservation): Plan | undefined {
  const { databases, spec, endpoint } = observation;
  const { name, policy } = spec.database;
  const found = databases.find((database) => database.name === name);
  const isRequired = policy === "MustExist";
  if (found === undefined) {
    const message = `Branch ${endpoint.branchId} has no database ${name}. Create the database, or set spec.database.policy to CreateIfAbsent.`;
    return isRequired ? stall("DatabaseNotFound", message) : create(observation, "Database");
  }
  const { ownerName: owner } = found;
  const message = `Database ${name} belongs to role ${owner}. Grant this role its privileges in SQL and set spec.database.policy to MustExist, or use the role ${owner}.`;
  return isRequired || owner === spec.role.name ? undefined : stall("DatabaseOwnedByAnother", message);
}

function create({ endpoint, spec }: AccessObservation, type: ObjectType): Plan {
  const { projectId, branchId } = endpoint;
  const { name } = type === "Role" ? spec.role : spec.database;
  return { kind: "CreateObject", object: { type, name, projectId, branchId, origin: "Requested" } };
}

/** The list may show a role before PostgreSQL has it. A resource whose Secret was written before does not wait. */
function planConfiguration({ isConfigInFlight, resource, policy }: AccessObservation): Plan | undefined {
  const message = "Waiting for apply_config to end: it creates role and database in PostgreSQL.";
  return isConfigInFlight && resource.status.secret === undefined
    ? wait("OperationInFlight", message, policy.operationPollMs)
    : undefined;
}

/** A later operation of the branch that succeeds brings everything along. What existed before does not depend on it. */
function planFailedConfiguration({ failedConfig, resource, objects, endpoint }: AccessObservation): Plan | undefined {
  const isOurs = objects.some(({ branchId, origin }) => branchId === endpoint.branchId && origin === "Created");
  if (failedConfig === undefined || !isOurs || resource.status.secret !== undefined) {
    return undefined;
  }
  const message = `The operation apply_config, which brings role and database to PostgreSQL, failed${failureCause(failedConfig)}. The Secret waits until another one succeeds. For one, change the size of the ComputeEndpoint.`;
  return stall("ConfigurationFailed", message);
}

function planPassword(observation: AccessObservation): Plan | undefined {
  const { password, spec, resource, endpoint } = observation;
  const { status } = resource;
  if (password.kind === "Unavailable") {
    const isHeld =
      isSecretUntouched(observation) &&
      status.password?.roleUpdatedTime === roleIn(observation)?.updatedTime &&
      status.endpoint?.branchId === endpoint.branchId;
    const message = `The control plane does not reveal the password of role ${spec.role.name}. For a new password, annotate this resource with ${annotations.rotateRequestedAt}=<any new value>. To give the password yourself, set spec.password.secretRef.`;
    return isHeld ? undefined : stall("PasswordUnavailable", message);
  }
  const { name = "", key = "" } = spec.password?.secretRef ?? {};
  const missing = `Secret ${name} has no key ${key}. Create the Secret with that key. The operator checks again within a minute.`;
  return password.kind === "Missing" ? stall("PasswordMissing", missing) : undefined;
}

function planSecret(observation: AccessObservation): Plan | undefined {
  const { password, secret } = observation;
  const held = secret.kind === "Own" ? secret.secret.data : undefined;
  const text = password.kind === "Known" ? password.password.reveal() : held?.password;
  if (text === undefined) {
    return undefined;
  }
  const data = bindingOf(observation, text);
  return held !== undefined && isSameStored(held, data) && hasMetadata(observation)
    ? undefined
    : { kind: "WriteSecret", data, cause: causeOf(observation) };
}

function hasMetadata({ secret, spec }: AccessObservation): boolean {
  const isIn = (wanted: object = {}, held: object = {}) => isSameStored({ ...held, ...wanted }, held);
  const { labels, annotations } = secret.kind === "Own" ? secret.secret : {};
  return isIn(spec.secret?.labels, labels) && isIn(spec.secret?.annotations, annotations);
}

function causeOf(observation: AccessObservation): SecretWriteCause {
  const { secret, endpoint } = observation;
  const { status } = observation.resource;
  if (status.secret === undefined) {
    return "Created";
  }
  if (secret.kind !== "Own") {
    return "Restored";
  }
  if (isRotationOpen(observation)) {
    return "Rotated";
  }
  const hasMoved =
    status.endpoint?.endpointId !== endpoint.endpointId ||
    status.endpoint.host !== endpoint.hosts.host ||
    status.password?.roleUpdatedTime !== roleIn(observation)?.updatedTime;
  return isSecretUntouched(observation) || hasMoved ? "ConnectionChanged" : "Restored";
}
