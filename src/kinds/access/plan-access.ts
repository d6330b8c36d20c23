import type { ObservedRole } from "../../domain/control-plane.ts";
import type { SecretData, SecretWriteCause } from "../../domain/resource-store.ts";
import { isSameStored } from "../../domain/same-stored.ts";
import { isInherited } from "./access-records.ts";
import { stalls, waits } from "./access-texts.ts";
import { type AccessObservation, isSecretUntouched, type ObjectType, type Plan, roleIn } from "./access-types.ts";
import { bindingOf } from "./binding.ts";
import { isRotationWanted } from "./rotation.ts";

/** The checks in their order. The first one that returns a plan decides. If none does, the resource is settled. */
const checks: readonly ((observation: AccessObservation) => Plan | undefined)[] = [
  planSecretAccess,
  planRole,
  planDatabase,
  planConfiguration,
  planRotation,
  planPassword,
  planSecret,
];

export function planAccess(observation: AccessObservation): Plan {
  for (const check of checks) {
    const plan = check(observation);
    if (plan !== undefined) return plan;
  }
  return { kind: "Settled" };
}

/** Without its Secret, a resource gets neither role nor database. */
function planSecretAccess({ secret, resource, account }: AccessObservation): Plan | undefined {
  if (secret.kind === "Foreign") return stalls.secretExists(resource);
  return secret.kind === "Forbidden" ? stalls.secretsForbidden(resource, account) : undefined;
}

function planRole(observation: AccessObservation): Plan | undefined {
  const { spec, endpoint } = observation;
  if (roleIn(observation) !== undefined) {
    return undefined;
  }
  return spec.role.policy === "MustExist" || spec.password?.secretRef !== undefined
    ? stalls.roleNotFound(spec, endpoint.branchId)
    : create(observation, "Role");
}

function planDatabase(observation: AccessObservation): Plan | undefined {
  const { databases, spec, endpoint } = observation;
  const { name, policy } = spec.database;
  const found = databases.find((database) => database.name === name);
  const isRequired = policy === "MustExist";
  if (found === undefined) {
    return isRequired ? stalls.databaseNotFound(name, endpoint.branchId) : create(observation, "Database");
  }
  return isRequired || found.ownerName === spec.role.name
    ? undefined
    : stalls.databaseOwnedByAnother(name, found.ownerName);
}

function create({ endpoint, spec }: AccessObservation, type: ObjectType): Plan {
  const { projectId, branchId } = endpoint;
  const { name } = type === "Role" ? spec.role : spec.database;
  return { kind: "CreateObject", object: { type, name, projectId, branchId, origin: "Requested" } };
}

/** The list may show a role before PostgreSQL has it. A resource whose Secret was written before does not wait. */
function planConfiguration({ isConfigInFlight, resource, policy }: AccessObservation): Plan | undefined {
  return isConfigInFlight && resource.status.secret === undefined
    ? waits.configuration(policy.operationPollMs)
    : undefined;
}

/** Plans a reset if a rotation is wanted, or the password may be the parent's, unless there is a new one already. */
function planRotation(observation: AccessObservation): Plan | undefined {
  const role = roleIn(observation);
  const isGiven = observation.spec.password?.secretRef !== undefined;
  if (role === undefined || isGiven) {
    return undefined;
  }
  const isWanted = isInherited(observation)
    ? !observation.isAnswered
    : isRotationWanted(observation) && !hasNewPassword(observation, role);
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

function planPassword({ password, spec }: AccessObservation): Plan | undefined {
  if (password.kind === "Unavailable") return stalls.passwordUnavailable(spec.role.name);
  return password.kind === "Missing" ? stalls.passwordMissing(spec) : undefined;
}

function planSecret(observation: AccessObservation): Plan | undefined {
  const { password, secret } = observation;
  const held = secret.kind === "Own" ? secret.secret.data : undefined;
  const text = password.kind === "Known" ? password.password.reveal() : held?.password;
  if (text === undefined) {
    return undefined;
  }
  const data = bindingData(observation, text);
  return held !== undefined && isSameStored(held, data) && hasMetadata(observation)
    ? undefined
    : { kind: "WriteSecret", data, cause: causeOf(observation) };
}

function hasMetadata({ secret, spec }: AccessObservation): boolean {
  const isIn = (wanted: object = {}, held: object = {}) => isSameStored({ ...held, ...wanted }, held);
  const { labels, annotations } = secret.kind === "Own" ? secret.secret : {};
  return isIn(spec.secret?.labels, labels) && isIn(spec.secret?.annotations, annotations);
}

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
  if (isRotationWanted(observation)) {
    return "Rotated";
  }
  const hasMoved =
    status.endpoint?.endpointId !== endpoint.endpointId ||
    status.endpoint.host !== endpoint.hosts.host ||
    status.password?.roleUpdatedTime !== roleIn(observation)?.updatedTime;
  return isSecretUntouched(observation) || hasMoved ? "ConnectionChanged" : "Restored";
}
