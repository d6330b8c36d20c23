/** Plans the next step of a DatabaseAccess that is not being deleted. */

import type { SecretData, SecretWriteCause } from "../domain/resource-store.ts";
import { isSameStored } from "../domain/same-stored.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import { annotations } from "../resource/names.ts";
import {
  type AccessObservation,
  isSecretUntouched,
  type ObjectType,
  roleIn,
  validSpecOf,
} from "./access-observation.ts";
import { type AccessSummary, stalls, waits } from "./access-summary.ts";
import { bindingOf } from "./binding.ts";

/** A plan that changes something in the control plane. One plan has one effect. */
export type AccessMutation =
  | { readonly kind: "Create"; readonly type: ObjectType }
  /** Resets the password. The Secret is written right after that. */
  | { readonly kind: "ResetPassword"; readonly roleUpdatedTime: string };

/** The next step of one DatabaseAccess. */
export type AccessPlan =
  | AccessMutation
  | { readonly kind: "WriteSecret"; readonly data: SecretData; readonly cause: SecretWriteCause }
  /** Only the status is stored. */
  | AccessSummary;

/** Whether a plan changes something in the control plane. */
export function isAccessMutation(plan: AccessPlan): plan is AccessMutation {
  return plan.kind === "Create" || plan.kind === "ResetPassword";
}

/** The checks in their order. The first one that returns a plan decides. If none does, the resource is Ready. */
const checks: readonly ((observation: AccessObservation) => AccessPlan | undefined)[] = [
  planSecretAccess,
  planRole,
  planDatabase,
  planConfiguration,
  planRotation,
  planPassword,
  planSecret,
];

/** Chooses the next step of a DatabaseAccess that is not being deleted. Pure and total. */
export function planAccess(observation: AccessObservation): AccessPlan {
  for (const check of checks) {
    const plan = check(observation);
    if (plan !== undefined) {
      return plan;
    }
  }
  return { kind: "Ready" };
}

/**
 * Plans to report Stalled if the Secret belongs to another object or the operator may not read it. The operator then
 * creates neither role nor database.
 */
function planSecretAccess({ secret, resource }: AccessObservation): AccessPlan | undefined {
  switch (secret.kind) {
    case "Foreign":
      return stalls.secretExists(resource);
    case "Forbidden":
      return stalls.secretsForbidden(resource, secret.account);
    default:
      return undefined;
  }
}

function planRole(observation: AccessObservation): AccessPlan | undefined {
  const { spec, endpoint } = observation;
  if (roleIn(observation) !== undefined) {
    return undefined;
  }
  return spec.role.policy === "MustExist" || spec.password?.secretRef !== undefined
    ? stalls.roleNotFound(spec, endpoint.branchId)
    : { kind: "Create", type: "Role" };
}

function planDatabase({ databases, spec, endpoint }: AccessObservation): AccessPlan | undefined {
  const { name, policy } = spec.database;
  const found = databases.find((database) => database.name === name);
  const isRequired = policy === "MustExist";
  if (found === undefined) {
    return isRequired ? stalls.databaseNotFound(name, endpoint.branchId) : { kind: "Create", type: "Database" };
  }
  return isRequired || found.ownerName === spec.role.name
    ? undefined
    : stalls.databaseOwnedByAnother(name, found.ownerName);
}

/**
 * Waits until PostgreSQL has the role. The control plane's list may show the role earlier. A resource whose Secret was
 * written before does not wait.
 */
function planConfiguration({ isConfigInFlight, resource }: AccessObservation): AccessPlan | undefined {
  return isConfigInFlight && resource.status.secret === undefined ? waits.configuration : undefined;
}

function planRotation(observation: AccessObservation): AccessPlan | undefined {
  const { resource, spec, endpoint, password, openReset, isResetAccepted, nowMs } = observation;
  const role = roleIn(observation);
  if (role === undefined || spec.password?.secretRef !== undefined) {
    return undefined;
  }
  const reset: AccessPlan = { kind: "ResetPassword", roleUpdatedTime: role.updatedTime };
  if (openReset !== undefined) {
    // The reset took effect if the role of the same branch has changed since. Then the operator reads the password. If
    // the control plane hides the password, the operator resets it again.
    const isOfBranch = (openReset.branchId ?? endpoint.branchId) === endpoint.branchId;
    const hasTakenEffect = isOfBranch && (isResetAccepted || openReset.roleUpdatedTime !== role.updatedTime);
    return hasTakenEffect && password.kind !== "Unavailable" ? undefined : reset;
  }
  return isRotationAsked(resource) || rotationDueMs(resource) <= nowMs ? reset : undefined;
}

/** Whether a person asked for a new password that is not set yet. */
export function isRotationAsked({ annotations: given, status }: DatabaseAccess): boolean {
  const asked = given[annotations.rotateRequestedAt];
  return asked !== undefined && asked !== status.lastHandledRotateAt;
}

/**
 * Returns when the password must be reset because of its age, in epoch milliseconds. Infinity: never, or no password is
 * known yet.
 */
export function rotationDueMs(resource: DatabaseAccess): number {
  const { rotatedTime, knownSinceTime } = resource.status.password ?? {};
  const since = rotatedTime ?? knownSinceTime;
  const afterSeconds = validSpecOf(resource)?.password?.rotateAfterSeconds ?? Infinity;
  return since === undefined ? Infinity : Date.parse(since) + afterSeconds * 1_000;
}

/**
 * Whether the password must be read: a person gives it in a Secret, or the Secret of this resource may not hold the
 * right one. Pure.
 */
export function needsPassword(observation: Omit<AccessObservation, "password">): boolean {
  const { resource, endpoint, spec } = observation;
  const { status } = resource;
  const role = roleIn(observation);
  return (
    spec.password?.secretRef !== undefined ||
    !isSecretUntouched(observation) ||
    status.password?.rotation !== undefined ||
    status.password?.roleUpdatedTime !== role?.updatedTime ||
    status.endpoint?.branchId !== endpoint.branchId
  );
}

function planPassword({ password, spec }: AccessObservation): AccessPlan | undefined {
  switch (password.kind) {
    case "Unavailable":
      return stalls.passwordUnavailable(spec.role.name);
    case "Missing":
      return stalls.passwordMissing(spec);
    default:
      return undefined;
  }
}

function planSecret(observation: AccessObservation): AccessPlan | undefined {
  const { password, secret } = observation;
  const held = secret.kind === "Own" ? secret.secret.data : undefined;
  const text = password.kind === "Known" ? password.password.reveal() : held?.password;
  if (text === undefined) {
    return undefined;
  }
  const data = bindingData(observation, text);
  return held !== undefined && isSameStored(held, data)
    ? undefined
    : { kind: "WriteSecret", data, cause: causeOf(observation) };
}

/** Returns the content of the Secret with this password. */
export function bindingData({ spec, endpoint, settings }: AccessObservation, password: string): SecretData {
  return bindingOf({ hosts: endpoint.hosts, settings, spec, password });
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
  if (status.password?.rotation !== undefined) {
    return "Rotated";
  }
  const hasMoved =
    status.endpoint?.endpointId !== endpoint.endpointId ||
    status.endpoint.host !== endpoint.hosts.host ||
    status.password?.roleUpdatedTime !== roleIn(observation)?.updatedTime;
  return isSecretUntouched(observation) || hasMoved ? "ConnectionChanged" : "Restored";
}
