/** Checks that DatabaseAccesses end as their specs say. */
import { world as places, Refusal, type RolePath } from "../control-plane/engine.ts";
import type { StoredObject } from "../kubernetes/answers.ts";
import { isObject, type JsonObject } from "../kubernetes/merge-patch.ts";
import { secretsCollection } from "../kubernetes/resource-path.ts";
import { annotations } from "../ports.ts";
import { namespace } from "../run/perform-action.ts";
import { conditionOf, isPausedByPerson } from "../run/settled.ts";
import { specOf } from "../run/stored-records.ts";
import type { World } from "../run/world.ts";
import type { Problem } from "./at-rest.ts";
import type { Oracle } from "./oracle.ts";

/**
 * Checks at the end that every DatabaseAccess is as its spec says, and that its Secret holds the valid password. A
 * deletion leaves only what other clients have made. No password is outside a Secret.
 */
export function accesses(world: World): Oracle {
  const passwords = new Set<string>();
  /** Names of roles that a create made after their DatabaseAccess was gone. The operator had no answer to that create. */
  const lateRoles = new Set<string>();
  const note = (text: string | undefined) => void (text !== undefined && passwords.add(text));
  return {
    onControlPlaneApplied({ call }) {
      if (call.method === "DELETE" && call.role !== undefined) judgeDelete(world, call.role);
      if (call.method === "POST" && call.role !== undefined) {
        const { roleName } = call.role;
        if (!world.accesses().some((access) => partOf(access, "role").name === roleName)) lateRoles.add(roleName);
      }
      if (call.object !== "password" && call.object !== "role") return;
      for (const role of knownRoles(world)) note(passwordOf(world, role));
    },
    atEnd() {
      for (const access of world.accesses()) {
        const problem = problemOfAccess(world, access);
        if (problem !== undefined) world.violate(problem.promise, `${access.metadata.name} ${problem.text}`);
      }
      judgeRoles(world, lateRoles);
      judgeResets(world);
      if (isShown(world, passwords)) world.violate("S9", "a password stands outside its Secret");
    },
  };
}

/** Returns why a DatabaseAccess is not in the state in which it should stay; `undefined`: it is. */
export function problemOfAccess(world: World, access: StoredObject): Problem | undefined {
  if (isPausedByPerson(access)) return undefined;
  if (access.metadata.deletionTimestamp !== undefined) return { promise: "L2", text: "is still being deleted" };
  const ready = conditionOf(access, "Ready");
  if (ready === undefined || ready.observedGeneration !== access.metadata.generation) {
    return { promise: "L1", text: "was not looked at since its spec changed" };
  }
  const endpoint = world.stored(endpointNameOf(access));
  if (endpoint === undefined || conditionOf(endpoint, "Ready")?.status !== "True") return undefined;
  if (ready.reason === "ConfigurationFailed" && hasFailedConfig(world, access)) return undefined;
  if (ready.status !== "True") {
    return { promise: "L1", text: `is not Ready: ${ready.reason}: ${ready.message}` };
  }
  return secretProblem(world, access);
}

/** What a failed apply_config left out only another one brings along. */
function hasFailedConfig(world: World, access: StoredObject): boolean {
  const role = roleOf(world, access);
  const isConfig = (each: { readonly action: string; readonly branchId?: string | undefined }) =>
    each.action === "apply_config" && each.branchId === role?.branchId;
  return role !== undefined && world.controlPlane.history(role.projectId).findLast(isConfig)?.status === "failed";
}

function secretProblem(world: World, access: StoredObject): Problem | undefined {
  const role = roleOf(world, access);
  if (role === undefined) return undefined;
  const actual = passwordOf(world, role);
  if (actual === undefined) return { promise: "S8", text: "is Ready, and there is no role" };
  if (heldPassword(world, access.metadata.name) !== actual) {
    return { promise: "S8", text: "is Ready, and its Secret does not hold the password" };
  }
  const { name } = partOf(access, "database");
  const database = world.controlPlane.engine.objects
    .databases(role.projectId, role.branchId)
    .find((each) => each.name === name);
  if (database?.ownerName !== role.roleName) {
    return { promise: "S8", text: "is Ready, and its database is not there" };
  }
  const { includeReplicas } = partOf(access, "secret");
  const held = heldIn(world, access.metadata.name, "read-hosts");
  return includeReplicas !== true || !areReplicasReady(world) || held === replicaHosts(world, role)
    ? undefined
    : { promise: "L1", text: `is Ready, and its Secret names the replicas ${held}` };
}

/** A replica that is not Ready may be on another branch than its spec says, for instance if its move was refused. */
function areReplicasReady(world: World): boolean {
  const replicas = world.resources().filter((resource) => specOf(resource).type === "ReadOnly");
  return replicas.every((replica) => conditionOf(replica, "Ready")?.status === "True");
}

/** Returns the hosts of the replicas of a branch, as the Secret lists them; `undefined`: there are none. */
function replicaHosts(world: World, { branchId }: Pick<RolePath, "branchId">): string | undefined {
  const replicas = world.resources().filter((resource) => {
    const { type, branchId: named, disabled } = specOf(resource);
    return type === "ReadOnly" && named === branchId && disabled !== true;
  });
  const hosts = replicas.flatMap(({ status }) =>
    isObject(status) && typeof status.host === "string" ? status.host : [],
  );
  return hosts.length === 0 ? undefined : hosts.sort().join(",");
}

/** Checks a deletion: a role is deleted only if the operator has created it and no existing DatabaseAccess names it. */
function judgeDelete(world: World, { branchId, roleName }: Pick<RolePath, "branchId" | "roleName">): void {
  const isNamed = world.accesses().some((access) => {
    const role = access.metadata.deletionTimestamp === undefined ? roleOf(world, access) : undefined;
    return role?.branchId === branchId && role.roleName === roleName;
  });
  if (isNamed) world.violate("S1", "a role is deleted that a DatabaseAccess uses");
}

function judgeRoles(world: World, lateRoles: ReadonlySet<string>): void {
  const made = world.history.personsRoles;
  for (const { branchId, roleName } of made) {
    if (passwordOf(world, { projectId: places.project, branchId, roleName }) === undefined) {
      world.violate("S1", "a role that another client made is gone");
    }
  }
  const seen = [...world.history.accesses.values()];
  const stored = new Set(world.accesses().map(({ metadata }) => metadata.uid));
  for (const gone of seen.filter(({ metadata }) => !stored.has(metadata.uid))) {
    const { name } = partOf(gone, "role");
    // A role that a second resource has ever named may stay.
    const isShared =
      lateRoles.has(String(name)) ||
      made.some(({ roleName }) => roleName === name) ||
      seen.some((other) => other.metadata.name !== gone.metadata.name && partOf(other, "role").name === name);
    const isWanted = seen.some(({ metadata }) => metadata.name === gone.metadata.name && stored.has(metadata.uid));
    const role = roleOf(world, gone);
    if (!isShared && !isWanted && role !== undefined && passwordOf(world, role) !== undefined) {
      world.violate("S4", "a role is left of a DatabaseAccess that is gone");
    }
  }
}

/**
 * Counts the resets of passwords. A reset breaks the connections of programs, so each one must come from a person's
 * wish or from a fault.
 */
function judgeResets(world: World): void {
  // An operator that forgets a password before a Secret holds it sets another one.
  if (world.options.amnesia !== undefined) return;
  // A role on the branch of a preview gets a password of its own.
  if (world.options.hasBranches === true) return;
  const { entries } = world.log;
  const count = (is: (text: string) => boolean) => entries.filter(({ text }) => is(text)).length;
  const sent = count((text) => text === "asks the control plane to reset the role's password");
  const wished = count((text) => text.startsWith("{") && text.includes(annotations.rotateRequestedAt));
  const most = wished + world.faults.hit.size + world.history.deaths;
  if (sent > most) world.violate("L3", `${sent} resets were sent, and ${most} had a wish or a fault behind them`);
}

function isShown(world: World, passwords: ReadonlySet<string>): boolean {
  const texts = [
    ...world.log.entries.map(({ text }) => text),
    ...world.metricsPages,
    JSON.stringify([...world.history.accesses.values()]),
  ];
  return [...passwords].some((password) => texts.some((text) => text.includes(password)));
}

function knownRoles(world: World): readonly RolePath[] {
  return [...world.history.accesses.values()].flatMap((access) => roleOf(world, access) ?? []);
}

/** Returns the role of a DatabaseAccess on the branch of its endpoint; `undefined`: the ComputeEndpoint is gone. */
function roleOf(world: World, access: StoredObject): RolePath | undefined {
  const endpoint = world.stored(endpointNameOf(access));
  if (endpoint === undefined) return undefined;
  const { projectId, branchId = isObject(endpoint.status) ? endpoint.status.branchId : undefined } = specOf(endpoint);
  return { projectId: String(projectId), branchId: String(branchId), roleName: String(partOf(access, "role").name) };
}

function endpointNameOf(access: StoredObject): string {
  return String(partOf(access, "endpointRef").name);
}

function partOf(access: StoredObject, part: "endpointRef" | "role" | "database" | "secret"): JsonObject {
  const value = specOf(access)[part];
  return isObject(value) ? value : {};
}

/** Returns the password in a Secret; `undefined`: there is no such Secret. */
export function heldPassword(world: World, secretName: string): string | undefined {
  return heldIn(world, secretName, "password");
}

function heldIn(world: World, secretName: string, key: string): string | undefined {
  const secret = world.apiServer.store.get(secretsCollection, namespace, secretName);
  const held = ((secret?.data ?? {}) as Readonly<Record<string, string>>)[key];
  return held === undefined ? undefined : Buffer.from(held, "base64").toString();
}

/** Returns the password that PostgreSQL accepts; `undefined`: there is no such role. */
export function passwordOf(world: World, role: RolePath): string | undefined {
  try {
    return world.controlPlane.engine.objects.password(role);
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}
