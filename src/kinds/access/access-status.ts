/** Computes the status of a DatabaseAccess from the result of one reconcile. */
import {
  commonSummary,
  conditionsAfter,
  progressing,
  type Summary,
  unchanged,
  whileDeleting,
  withoutEmpty,
} from "../../engine/summary.ts";
import { isTrue, secondsTime } from "../../resource/conditions.ts";
import { type DatabaseAccess, secretKeyOf } from "../../resource/database-access.ts";
import type { AccessObject, DatabaseAccessStatus } from "../../resource/database-access-schema.ts";
import { annotations } from "../../resource/names.ts";
import { recordedObjects, recordsWith, withFreshRole, withObject } from "./access-records.ts";
import { accessWording, stalls } from "./access-texts.ts";
import type { AccessContext, AccessObservation, AccessStep } from "./access-types.ts";
import { roleIn } from "./access-types.ts";
import { placeFor } from "./endpoint-reference.ts";
import { observationAfter } from "./observe-access.ts";
import { isRotationWanted } from "./rotation.ts";

/** Equal input gives equal status. While a resource is being deleted, it is not Ready. */
export function accessStatus(context: AccessContext, step: AccessStep): DatabaseAccessStatus {
  const { resource, nowMs } = step.facts;
  const { status, generation } = resource;
  const summed = whileOutdated(context, resource, commonOr(step, context.secrets.account));
  const summary = whileDeleting(resource, summed, accessWording);
  const handled = {
    observedGeneration: summary.kind === "Unchanged" ? status.observedGeneration : generation,
    ...(step.outcome.kind !== "Deferred" && {
      lastHandledReconcileAt: resource.annotations[annotations.reconcileRequestedAt],
    }),
  };
  const conditions = conditionsAfter({ resource, nowMs }, summary);
  return withoutEmpty({ ...status, ...changesOf(context, step), ...handled, conditions });
}

/** After a reset of its branch, a resource is not Ready until its Secret has a password for the new copy. */
function whileOutdated(context: AccessContext, resource: DatabaseAccess, summary: Summary): Summary {
  const place = placeFor(context, resource);
  const isOld = ({ branchId, freshOn }: AccessObject) =>
    place.kind === "Proven" && branchId === place.branchId && freshOn !== undefined && freshOn !== place.copy;
  const isKept = summary.kind === "Unchanged" && isTrue(resource.status.conditions, "Ready");
  return isKept && recordedObjects(resource, context.identity).some(isOld)
    ? progressing("WaitingForBranch", "The branch was reset, so the role gets a password.")
    : summary;
}

function commonOr(step: AccessStep, account: string): Summary {
  const { outcome, plan, facts } = step;
  if (outcome.kind === "Failed" && plan?.kind === "DeleteObject" && plan.object.type === "Role") {
    const { reason } = outcome.error;
    // The control plane refuses to delete a role that owns something.
    if (reason === "Rejected" || reason === "Conflict") {
      const { message, reason: stalled } = stalls.roleInUse(plan.object.name, outcome.error);
      return { kind: "Stalled", reason: stalled, message };
    }
  }
  const applied = "applied" in outcome ? outcome.applied : undefined;
  if (applied?.kind === "Forbidden") {
    const { message, reason } = stalls.secretsForbidden(facts.resource, account);
    return { kind: "Stalled", reason, message };
  }
  return applied?.kind === "Written" ? ready : (commonSummary(step, accessWording) ?? ownSummary(step));
}

const ready: Summary = {
  kind: "Ready",
  reason: "UpToDate",
  message: "Role and database exist, and the Secret holds the connection data.",
};

function ownSummary({ plan }: AccessStep): Summary {
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
    const objects = withObject(observation, plan.object.type, "Created");
    return { records: recordsWith(facts.resource, context.identity, objects) };
  }
  const applied = "applied" in outcome ? outcome.applied : undefined;
  if (applied?.kind === "Written") {
    const secret = { resourceVersion: applied.resourceVersion, changedTime: secondsTime(context.nowMs) };
    return { ...settledChanges(context, observation), secret };
  }
  return plan?.kind === "Settled" && outcome.kind === "NothingSent"
    ? settledChanges(context, observation)
    : { records: recordsWith(facts.resource, context.identity, observation.objects) };
}

/** The status before a change: what a crash after the request must not lose. */
export function accessNote({ nowMs, identity }: AccessContext, step: AccessStep, observation: AccessObservation) {
  const { plan } = step;
  const { resource, objects } = observation;
  const { status } = resource;
  if (plan?.kind === "CreateObject") {
    return withoutEmpty({
      ...status,
      records: recordsWith(resource, identity, withObject(observation, plan.object.type, "Requested")),
    });
  }
  const requestedAt = resource.annotations[annotations.rotateRequestedAt];
  const now = secondsTime(nowMs);
  const roleUpdatedTime = roleIn(observation)?.updatedTime ?? "";
  const known = status.password ?? { roleUpdatedTime, knownSinceTime: now };
  const startedTime = known.rotation?.startedTime ?? now;
  return withoutEmpty({
    ...status,
    records: recordsWith(resource, identity, objects),
    password: { ...known, rotation: { startedTime, ...(requestedAt !== undefined && { requestedAt }) } },
  });
}

function settledChanges(
  { nowMs, identity }: AccessContext,
  observation: AccessObservation,
): Partial<DatabaseAccessStatus> {
  const { resource, endpoint, secret } = observation;
  const { endpointId, projectId, branchId, hosts } = endpoint;
  const { secret: known, password } = resource.status;
  const now = secondsTime(nowMs);
  const resourceVersion = secret.kind === "Own" ? secret.secret.resourceVersion : undefined;
  const { rotation } = password ?? {};
  const isRotated = isRotationWanted(observation);
  const requestedAt =
    rotation === undefined ? resource.annotations[annotations.rotateRequestedAt] : rotation.requestedAt;
  return {
    binding: { name: secretKeyOf(resource).name },
    endpoint: { endpointId, projectId, branchId, host: hosts.host },
    records: recordsWith(resource, identity, withFreshRole(observation)),
    password: passwordStatus(observation, isRotated, now),
    ...(resourceVersion !== undefined && { secret: { resourceVersion, changedTime: known?.changedTime ?? now } }),
    ...(isRotated && requestedAt !== undefined && { lastHandledRotateAt: requestedAt }),
  };
}

function passwordStatus(
  observation: AccessObservation,
  isRotated: boolean,
  now: string,
): DatabaseAccessStatus["password"] {
  const before = observation.resource.status.password;
  const { password } = observation;
  const listed = roleIn(observation)?.updatedTime ?? "";
  const roleUpdatedTime = password.kind === "Known" ? listed : (before?.roleUpdatedTime ?? listed);
  const isSame = before?.roleUpdatedTime === roleUpdatedTime;
  const rotatedTime = isRotated ? now : before?.rotatedTime;
  return {
    roleUpdatedTime,
    knownSinceTime: isSame ? notLater(before.knownSinceTime, now) : now,
    ...(rotatedTime !== undefined && { rotatedTime: notLater(rotatedTime, now) }),
    ...(!isRotated && before?.rotation && { rotation: before.rotation }),
  };
}

/** Returns the earlier time. If the clock was ahead at the last reset, the later time would delay the next rotation. */
function notLater(time: string, now: string): string {
  return Date.parse(time) > Date.parse(now) ? now : time;
}
