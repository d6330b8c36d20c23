/** Computes status and events of a DatabaseAccess from the result of one reconcile. */
import { outcomeOf } from "../../domain/operation.ts";
import { normal, type ResourceEvent, type SecretWriteCause, warning } from "../../domain/resource-store.ts";
import {
  commonSummary,
  conditionsAfter,
  handledAfter,
  progressing,
  type Summary,
  unchanged,
  whileDeleting,
  withoutEmpty,
} from "../../engine/summary.ts";
import { failureCause } from "../../operations/status-operations.ts";
import { secondsTime } from "../../resource/conditions.ts";
import { secretKeyOf } from "../../resource/database-access.ts";
import type { DatabaseAccessStatus } from "../../resource/database-access-schema.ts";
import { annotations } from "../../resource/names.ts";
import { recordsWith, withFreshRole, withObject } from "./access-records.ts";
import {
  type AccessContext,
  type AccessObservation,
  type AccessStep,
  type AppliedSecret,
  roleIn,
} from "./access-types.ts";
import { accessWording, deletedWith, retainedRoles } from "./deletion.ts";
import { observationAfter, observationOf } from "./observe-access.ts";
import { isRotationOpen, rotationWait } from "./rotation.ts";

/** Equal input gives equal status. While a resource is being deleted, it is not Ready. */
export function accessStatus(context: AccessContext, step: AccessStep): DatabaseAccessStatus {
  const { resource } = step.facts;
  const changed = { ...resource.status, ...changesOf(context, step) };
  const wait = rotationWait(context, { ...resource, status: changed });
  const message = `Role and database exist, and the Secret holds the connection data.${wait}`;
  const ready: Summary = failedReset(observationAfter(context, step)) ?? { kind: "Ready", reason: "UpToDate", message };
  const summary = whileDeleting(resource, summaryOf(step, ready), accessWording);
  const conditions = conditionsAfter(step.facts, summary);
  return withoutEmpty({ ...changed, ...handledAfter(step, summary), conditions });
}

/** The Secret is written all the same. The operator does not reset again, because a program may use the password. */
function failedReset({ failedConfig, resetOperation }: Partial<AccessObservation> = {}): Summary | undefined {
  if (failedConfig === undefined || resetOperation === undefined || outcomeOf(resetOperation) !== "Failed") {
    return undefined;
  }
  const message = `The operation apply_config, which brings the new password to PostgreSQL, failed${failureCause(resetOperation)}. PostgreSQL may not accept the password in the Secret. For another one, annotate this resource with ${annotations.rotateRequestedAt}=<any new value>.`;
  return { kind: "Stalled", reason: "ConfigurationFailed", message };
}

function summaryOf(step: AccessStep, ready: Summary): Summary {
  const { outcome, plan } = step;
  if (outcome.kind === "Failed" && plan?.kind === "DeleteObject" && plan.object.type === "Role") {
    const { reason, message: refusal } = outcome.error;
    // The control plane refuses to delete a role that owns something.
    if (reason === "Rejected" || reason === "Conflict") {
      const message = `${refusal}. Role ${plan.object.name} still owns objects. Reassign them, or set spec.role.deletionPolicy to Retain.`;
      return { kind: "Stalled", reason: "RoleInUse", message };
    }
  }
  return appliedIn(outcome) ? ready : (commonSummary(step, accessWording) ?? ownSummary(step, ready));
}

function appliedIn(outcome: AccessStep["outcome"]): AppliedSecret | undefined {
  return "applied" in outcome ? outcome.applied : undefined;
}

function ownSummary({ plan }: AccessStep, ready: Summary): Summary {
  switch (plan?.kind) {
    case "Settled":
      return ready;
    case "CreateObject":
      return plan.object.type === "Role"
        ? progressing("CreatingRole", "The operator creates the role.")
        : progressing("CreatingDatabase", "The operator creates the database.");
    case "DeleteObject":
      return progressing("Deleting", accessWording.deleting);
    default:
      return unchanged;
  }
}

function changesOf(context: AccessContext, step: AccessStep): Partial<DatabaseAccessStatus> {
  const { plan, outcome, facts } = step;
  const observation = observationAfter(context, step);
  if (observation === undefined) {
    return {};
  }
  if (plan?.kind === "CreateObject" && outcome.kind === "Accepted") {
    const objects = withObject(observation.objects, { ...plan.object, origin: "Created" });
    return { records: recordsWith(facts.resource, context.identity, objects) };
  }
  const applied = appliedIn(outcome);
  if (applied !== undefined) {
    const secret = { resourceVersion: applied.resourceVersion, changedTime: secondsTime(context.nowMs) };
    return { ...settledChanges(context, observation), secret };
  }
  return plan?.kind === "Settled" && outcome.kind === "NothingSent"
    ? settledChanges(context, observation)
    : { records: recordsWith(facts.resource, context.identity, observation.objects) };
}

/** The status before a change: what a crash after the request must not lose. */
export function accessNote(context: AccessContext, { plan, facts, reads }: AccessStep) {
  const observation = observationOf(context, facts, reads);
  if (observation === undefined) {
    return undefined;
  }
  const { resource, objects: before } = observation;
  const { status } = resource;
  const objects = plan?.kind === "CreateObject" ? withObject(before, plan.object) : before;
  const noted = { ...status, records: recordsWith(resource, context.identity, objects) };
  if (plan?.kind !== "ResetPassword") {
    return withoutEmpty(noted);
  }
  const requestedAt = resource.annotations[annotations.rotateRequestedAt];
  const now = secondsTime(context.nowMs);
  const roleUpdatedTime = roleIn(observation)?.updatedTime ?? "";
  const known = status.password ?? { roleUpdatedTime, knownSinceTime: now };
  const startedTime = known.rotation?.startedTime ?? now;
  const rotation = { startedTime, ...(requestedAt !== undefined && { requestedAt }) };
  return withoutEmpty({ ...noted, password: { ...known, rotation } });
}

function settledChanges(context: AccessContext, observation: AccessObservation): Partial<DatabaseAccessStatus> {
  const { resource, endpoint, secret } = observation;
  const { endpointId, projectId, branchId, hosts } = endpoint;
  const { secret: known, password } = resource.status;
  const now = secondsTime(context.nowMs);
  const resourceVersion = secret.kind === "Own" ? secret.secret.resourceVersion : undefined;
  const { rotation } = password ?? {};
  const isRotated = isRotationOpen(observation);
  const requestedAt =
    rotation === undefined ? resource.annotations[annotations.rotateRequestedAt] : rotation.requestedAt;
  return {
    binding: { name: secretKeyOf(resource).name },
    endpoint: { endpointId, projectId, branchId, host: hosts.host },
    records: recordsWith(resource, context.identity, withFreshRole(observation)),
    password: passwordStatus(observation, isRotated, now),
    ...(resourceVersion !== undefined && { secret: { resourceVersion, changedTime: known?.changedTime ?? now } }),
    ...(isRotated && requestedAt !== undefined && { lastHandledRotateAt: requestedAt }),
  };
}

function passwordStatus(observation: AccessObservation, isRotated: boolean, now: string) {
  const before = observation.resource.status.password;
  const { password, resetOperation: operation } = observation;
  const listed = roleIn(observation)?.updatedTime ?? "";
  const roleUpdatedTime = password.kind === "Known" ? listed : (before?.roleUpdatedTime ?? listed);
  const isSame = before?.roleUpdatedTime === roleUpdatedTime;
  const rotatedTime = isRotated ? now : before?.rotatedTime;
  return {
    roleUpdatedTime,
    knownSinceTime: isSame ? before.knownSinceTime : now,
    ...(rotatedTime !== undefined && { rotatedTime }),
    ...(!isRotated && before?.rotation && { rotation: before.rotation }),
    ...(operation && outcomeOf(operation) !== "Succeeded" && { operationId: operation.id }),
  };
}

/** The events of a step, besides those of a Stalled. @param next the stored status; `undefined`: the resource goes */
export function accessEvents(
  context: AccessContext,
  step: AccessStep,
  next: DatabaseAccessStatus | undefined,
): readonly ResourceEvent[] {
  const { plan, outcome, facts, reads } = step;
  if (next === undefined) {
    const contents = reads.own?.kind === "Contents" ? reads.own.byBranch : new Map();
    return retainedRoles(deletedWith(context, facts.resource), contents).map(({ role, databases }) =>
      warning("RoleRetained", "Delete", `Role ${role} stays: it owns ${databases.join(", ")}, which stays too.`),
    );
  }
  const applied = appliedIn(outcome);
  const written = applied ? [eventOfWrite(applied.cause, secretKeyOf(facts.resource).name)] : [];
  const isAccepted = outcome.kind === "Accepted" && outcome.answer.isFound !== false;
  if (!isAccepted || (plan?.kind !== "CreateObject" && plan?.kind !== "DeleteObject")) {
    return written;
  }
  const { type, name } = plan.object;
  const [action, did] =
    plan.kind === "CreateObject" ? (["Create", "Created"] as const) : (["Delete", "Deleted"] as const);
  const note = `The control plane ${did.toLowerCase()} ${type.toLowerCase()} ${name}.`;
  return [normal(`${type}${did}`, action, note), ...written];
}

function eventOfWrite(cause: SecretWriteCause, name: string): ResourceEvent {
  switch (cause) {
    case "Created":
      return normal("SecretCreated", "Write", `The operator created Secret ${name} with the connection data.`);
    case "Restored":
      return warning("SecretRestored", "Write", `Secret ${name} was changed or deleted. The operator restored it.`);
    case "Rotated":
      return normal("PasswordRotated", "Rotate", `Secret ${name} holds the new password.`);
    case "ConnectionChanged":
      return normal(
        "ConnectionChanged",
        "Write",
        `The operator updated Secret ${name}: host names, password or spec.secret changed.`,
      );
  }
}
