/** When the password of a DatabaseAccess is to be reset. */
import type { DatabaseAccess } from "../../resource/database-access.ts";
import { type DisruptionPolicy, isHoldingBack, timingOf } from "../../resource/disruption.ts";
import { annotations } from "../../resource/names.ts";
import { type AccessContext, type AccessObservation, roleIn, validSpecOf } from "./access-types.ts";
import { endpointOf } from "./endpoint-reference.ts";

/** Whether a person asked for a new password, the old one is too old, or a reset has begun and changed the role. */
export function isRotationWanted(observation: AccessObservation): boolean {
  const { openReset, resource, rotationDueMs, nowMs } = observation;
  const hasChanged = roleIn(observation)?.updatedTime !== resource.status.password?.roleUpdatedTime;
  return (openReset !== undefined && hasChanged) || isRotationAsked(resource) || rotationDueMs <= nowMs;
}

/** Whether a person asked for a new password that is not set yet. */
function isRotationAsked({ annotations: given, status }: DatabaseAccess): boolean {
  const asked = given[annotations.rotateRequestedAt];
  return asked !== undefined && asked !== status.lastHandledRotateAt;
}

export function isRotationDue(context: DueContext, resource: DatabaseAccess): boolean {
  return isRotationAsked(resource) || rotationDueMs(context, resource) <= context.nowMs;
}

/**
 * In epoch milliseconds; Infinity: never, or not before the compute is idle. A rotation by age waits for
 * `spec.disruption` of the ComputeEndpoint. In place of an approval, a person asks for the rotation.
 * @param isIdle whether the compute is idle. @default as the ComputeEndpoint's status says, which only asks for a look
 */
export function rotationDueMs(context: DueContext, resource: DatabaseAccess, isIdle?: boolean): number {
  const { nowMs } = context;
  const dueMs = ageDueMs(resource);
  const policy = policyFor(context, resource);
  if (dueMs > nowMs || !isHoldingBack(policy)) {
    return dueMs;
  }
  const isShownIdle = endpointOf(resource, context.findEndpoint)?.status.state === "idle";
  const { isNow, nextMs } = timingOf(policy, { nowMs, sinceMs: dueMs, isIdle: isIdle ?? isShownIdle });
  return policy.approval === "Required" ? Infinity : isNow ? dueMs : nextMs;
}

/** An invalid spec may have any policy, so a rotation by age waits until a person corrects it. */
function policyFor({ findEndpoint }: DueContext, resource: DatabaseAccess): DisruptionPolicy {
  const spec = endpointOf(resource, findEndpoint)?.spec;
  return spec?.kind === "Invalid" ? { approval: "Required" } : (spec?.spec.disruption ?? {});
}

type DueContext = Pick<AccessContext, "nowMs" | "findEndpoint">;

/** The period belongs to the role: after a reset by another resource, the password is known since then. */
function ageDueMs(resource: DatabaseAccess): number {
  const { rotatedTime, knownSinceTime } = resource.status.password ?? {};
  const known = [rotatedTime, knownSinceTime].flatMap((time) => time ?? []).map((time) => Date.parse(time));
  const afterMs = (validSpecOf(resource)?.password?.rotateAfterSeconds ?? Infinity) * 1_000;
  return known.length === 0 ? Infinity : Math.max(...known) + afterMs;
}
