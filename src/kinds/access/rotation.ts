/** When the password of a DatabaseAccess is to be reset. */
import type { ObservedRole } from "../../domain/control-plane.ts";
import { secondsTime } from "../../resource/conditions.ts";
import type { DatabaseAccess } from "../../resource/database-access.ts";
import { type DisruptionPolicy, isHoldingBack, timingOf } from "../../resource/disruption.ts";
import { annotations } from "../../resource/names.ts";
import { isInherited } from "./access-records.ts";
import {
  type AccessContext,
  type AccessObservation,
  isSecretUntouched,
  type Plan,
  roleIn,
  validSpecOf,
} from "./access-types.ts";
import { endpointOf } from "./endpoint-reference.ts";

/** Plans a reset if a rotation is wanted, or the password may be the parent's, unless there is a new one already. */
export function planRotation(observation: AccessObservation): Plan | undefined {
  const role = roleIn(observation);
  const isGiven = observation.spec.password?.secretRef !== undefined;
  if (role === undefined || isGiven) {
    return undefined;
  }
  const isWanted = isInherited(observation)
    ? !observation.isAnswered
    : isRotationOpen(observation) && !hasNewPassword(observation, role);
  return isWanted ? { kind: "ResetPassword" } : undefined;
}

/** Any other password than the last written one counts as the rotation, also if another client has set it. */
function hasNewPassword(observation: AccessObservation, role: ObservedRole): boolean {
  const { isAnswered, password, resource, endpoint, secret } = observation;
  const { status } = resource;
  if (password.kind !== "Known" || isAnswered) {
    return isAnswered;
  }
  const isHeld = secret.kind === "Own" && secret.secret.data.password === password.password.reveal();
  const hasChanged =
    status.password?.roleUpdatedTime !== role.updatedTime || (isSecretUntouched(observation) && !isHeld);
  return status.endpoint?.branchId === endpoint.branchId && hasChanged;
}

/** Whether a person asked for a new password, the old one is too old, or a reset has begun and changed the role. */
export function isRotationOpen(observation: AccessObservation): boolean {
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

/** What a rotation by age waits for, and what ends the wait, as a sentence with a blank before it; "": none waits. */
export function rotationWait(context: DueContext, resource: DatabaseAccess): string {
  const { nowMs } = context;
  const sinceMs = ageDueMs(resource);
  const policy = policyFor(context, resource);
  if (sinceMs > nowMs || !isHoldingBack(policy)) {
    return "";
  }
  const { nextMs } = timingOf(policy, { nowMs, sinceMs, isIdle: false });
  const latest = Number.isFinite(nextMs) ? `, at the latest at ${secondsTime(nextMs)}` : "";
  const allowed = policy.when === "WhenIdle" ? `the compute is idle${latest}` : `a window opens${latest}`;
  const end = policy.approval === "Required" ? "a person asks for it" : allowed;
  return ` The password is older than rotateAfterSeconds. Its rotation waits for spec.disruption of the ComputeEndpoint until ${end}. To rotate now, annotate this resource with ${annotations.rotateRequestedAt}=<any new value>.`;
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
