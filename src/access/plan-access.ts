/** Plans the next step of a DatabaseAccess. */
import type { ObservedRole } from "../domain/control-plane.ts";
import type { SecretData, SecretWriteCause } from "../domain/resource-store.ts";
import { isSameStored } from "../domain/same-stored.ts";
import type { AccessProgressReason, AccessStallReason } from "../resource/conditions.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import { annotations } from "../resource/names.ts";
import { type AccessObservation, isSecretUntouched } from "./access-observation.ts";
import { bindingOf } from "./binding.ts";
import * as messages from "./messages.ts";

/** The next step of one DatabaseAccess. One plan has at most one effect on the control plane. */
export type AccessPlan =
  | { readonly kind: "CreateRole"; readonly name: string }
  | { readonly kind: "CreateDatabase"; readonly name: string; readonly ownerName: string }
  /** Resets the password, and writes the Secret right after that. */
  | { readonly kind: "ResetPassword"; readonly roleUpdatedTime: string }
  | { readonly kind: "WriteSecret"; readonly data: SecretData; readonly cause: SecretWriteCause }
  | {
      readonly kind: "Wait";
      readonly reason: AccessProgressReason;
      readonly message: string;
      readonly waitMs: number | undefined;
    }
  | { readonly kind: "Stall"; readonly reason: AccessStallReason; readonly message: string }
  | { readonly kind: "Settled" };

/** A plan of one kind. */
export type AccessPlanOf<Kind extends AccessPlan["kind"]> = Extract<AccessPlan, { kind: Kind }>;

/** A plan that changes something in the control plane. */
export type AccessMutation = AccessPlanOf<"CreateRole" | "CreateDatabase" | "ResetPassword">;

/** Whether a plan changes something in the control plane. */
export function isAccessMutation(plan: AccessPlan): plan is AccessMutation {
  return plan.kind === "CreateRole" || plan.kind === "CreateDatabase" || plan.kind === "ResetPassword";
}

function stall(reason: AccessStallReason, message: string): AccessPlan {
  return { kind: "Stall", reason, message };
}

type Check = (observation: AccessObservation) => AccessPlan | undefined;

/** The checks in their order. The first one that returns a plan decides. */
const checks: readonly Check[] = [
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
  return { kind: "Settled" };
}

/** Plans a stall if the Secret belongs to another object or cannot be read. Nothing else is created in that case. */
function planSecretAccess({ secret, resource }: AccessObservation): AccessPlan | undefined {
  switch (secret.kind) {
    case "Foreign":
      return stall("SecretExists", messages.secretExists(resource));
    case "Forbidden":
      return stall("SecretsForbidden", messages.secretsForbidden(resource, secret.account));
    default:
      return undefined;
  }
}

function planRole({ roles, spec, endpoint }: AccessObservation): AccessPlan | undefined {
  const { name, policy } = spec.role;
  if (roles.some((role) => role.name === name)) {
    return undefined;
  }
  if (policy === "MustExist" || spec.password?.secretRef !== undefined) {
    const isGiven = policy !== "MustExist";
    return stall("RoleNotFound", messages.roleNotFound(name, endpoint.branchId, isGiven));
  }
  return { kind: "CreateRole", name };
}

function planDatabase({ databases, spec, endpoint }: AccessObservation): AccessPlan | undefined {
  const { name, policy } = spec.database;
  const found = databases.find((database) => database.name === name);
  const isRequired = policy === "MustExist";
  if (found === undefined) {
    return isRequired
      ? stall("DatabaseNotFound", messages.databaseNotFound(name, endpoint.branchId))
      : { kind: "CreateDatabase", name, ownerName: spec.role.name };
  }
  return isRequired || found.ownerName === spec.role.name
    ? undefined
    : stall("DatabaseOwnedByAnother", messages.databaseOwnedByAnother(name, found.ownerName));
}

/**
 * Waits until PostgreSQL has the role, which may be later than the control plane's list shows it. If the Secret works
 * already, the resource does not wait.
 */
function planConfiguration({ isConfigInFlight, resource }: AccessObservation): AccessPlan | undefined {
  return isConfigInFlight && resource.status.secret === undefined
    ? { kind: "Wait", reason: "OperationInFlight", message: messages.waitingForConfiguration, waitMs: undefined }
    : undefined;
}

/** Returns the role that spec names; `undefined`: the branch does not have it, and `planRole` decides. */
export function roleIn({ roles, spec }: Pick<AccessObservation, "roles" | "spec">): ObservedRole | undefined {
  return roles.find(({ name }) => name === spec.role.name);
}

function planRotation(observation: AccessObservation): AccessPlan | undefined {
  const { resource, password } = observation;
  const role = roleIn(observation);
  if (role === undefined || observation.spec.password?.secretRef !== undefined) {
    return undefined;
  }
  const reset: AccessPlan = { kind: "ResetPassword", roleUpdatedTime: role.updatedTime };
  // In a status that was copied from another resource, the rotation is that of the other one.
  const open = observation.objects.length === 0 ? undefined : resource.status.password?.rotation;
  if (open !== undefined) {
    // The reset took effect if the role of the same branch has changed since. Then the password is read, unless the
    // control plane hides it.
    const isOfBranch = (open.branchId ?? observation.endpoint.branchId) === observation.endpoint.branchId;
    const hasTakenEffect = isOfBranch && open.roleUpdatedTime !== role.updatedTime;
    return hasTakenEffect && password.kind !== "Unavailable" ? undefined : reset;
  }
  return isRotationAsked(resource) || isRotationDue(observation) ? reset : undefined;
}

/** Whether a person asked for a new password that is not set yet. */
export function isRotationAsked({ annotations: given, status }: DatabaseAccess): boolean {
  const asked = given[annotations.rotateRequestedAt];
  return asked !== undefined && asked !== status.lastHandledRotateAt;
}

function isRotationDue({ resource, spec, nowMs }: AccessObservation): boolean {
  const dueMs = rotationDueMs(resource, spec.password?.rotateAfterSeconds);
  return dueMs !== undefined && dueMs <= nowMs;
}

/**
 * Returns when the password must be reset because of its age, in epoch milliseconds; `undefined`: never, or no password
 * is known yet.
 */
export function rotationDueMs({ status }: DatabaseAccess, afterSeconds: number | undefined): number | undefined {
  const since = status.password?.rotatedTime ?? status.password?.knownSinceTime;
  return afterSeconds === undefined || since === undefined ? undefined : Date.parse(since) + afterSeconds * 1_000;
}

/** Whether the password must be read, because the Secret may not hold the right one. Pure. */
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
      return stall("PasswordUnavailable", messages.passwordUnavailable(spec.role.name));
    case "Missing":
      return stall("PasswordMissing", messages.passwordMissing(spec.password?.secretRef));
    default:
      return undefined;
  }
}

function planSecret(observation: AccessObservation): AccessPlan | undefined {
  const { secret, resource } = observation;
  const text = passwordText(observation);
  if (text === undefined) {
    return undefined;
  }
  const data = bindingData(observation, text);
  if (secret.kind !== "Own") {
    return { kind: "WriteSecret", data, cause: resource.status.secret === undefined ? "Created" : "Restored" };
  }
  return isSameStored(secret.secret.data, data)
    ? undefined
    : { kind: "WriteSecret", data, cause: causeOf(observation) };
}

/** Returns the content of the Secret with this password. */
export function bindingData({ spec, endpoint, settings }: AccessObservation, password: string): SecretData {
  return bindingOf({ hosts: endpoint.hosts, settings, spec, password });
}

function passwordText({ password, secret }: AccessObservation): string | undefined {
  if (password.kind === "Known") {
    return password.password.reveal();
  }
  return secret.kind === "Own" ? secret.secret.data.password : undefined;
}

function causeOf(observation: AccessObservation): SecretWriteCause {
  const { resource } = observation;
  if (resource.status.secret === undefined) {
    return "Created";
  }
  if (resource.status.password?.rotation !== undefined) {
    return "Rotated";
  }
  return isSecretUntouched(observation) || hasMoved(observation) ? "ConnectionChanged" : "Restored";
}

function hasMoved(observation: AccessObservation): boolean {
  const { status } = observation.resource;
  const { endpoint } = observation;
  return (
    status.endpoint?.endpointId !== endpoint.endpointId ||
    status.endpoint.host !== endpoint.hosts.host ||
    status.password?.roleUpdatedTime !== roleIn(observation)?.updatedTime
  );
}
