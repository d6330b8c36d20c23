import { withoutEmpty } from "../decide/status-for.ts";
import type { BranchObjects, RoleChange } from "../domain/control-plane.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { Operation } from "../domain/operation.ts";
import { isSameStored } from "../domain/same-stored.ts";
import type { KindChange, KindSent } from "../reconcile/ports.ts";
import { isNeverApplied, isSameWish } from "../reconcile/send-change.ts";
import { storeOnNewest } from "../reconcile/store-on-newest.ts";
import { secondsTime } from "../resource/conditions.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { AccessObject, DatabaseAccessStatus } from "../resource/database-access-schema.ts";
import { annotations } from "../resource/names.ts";
import { type AccessContext, type AccessObservation, roleIn, type WorkedAccess } from "./access-observation.ts";
import { createKeyOf, recordedObjects, recordOf, recordsWith, withObject } from "./access-records.ts";
import { isForbidden, noteFailure, storeFailure, storeStep, wantedSecret, writeSecret } from "./access-steps.ts";
import { eventOfChange, stalls, unchanged, waits } from "./access-summary.ts";
import { type AccessMutation, bindingData } from "./plan-access.ts";
import { deletedWithResource, isDeletionGranted } from "./plan-locally.ts";

interface Change {
  readonly kind: "Change";
  readonly plan: AccessMutation;
  readonly observation: AccessObservation;
}

export type Wish = Change | { readonly kind: "Delete"; readonly object: AccessObject };

/** The result of `sendWish`. `Outdated`: nothing was sent, because the resource has changed since the decision. */
type Sent = KindSent | { readonly kind: "Outdated" };

const outdated: Sent = { kind: "Outdated" };

/**
 * Sends one change, or nothing (`Outdated`) if a person has changed, paused or deleted the resource since the decision,
 * or if the grants, the control plane or other resources no longer allow it. @throws KubernetesError before it is sent
 */
export async function sendWish(
  context: AccessContext,
  worked: WorkedAccess,
  wish: Wish,
  change: KindChange,
): Promise<Sent> {
  const { entry } = worked;
  entry.waitingSinceMs = undefined;
  try {
    await change.reserve();
    // The change may have waited for long, so the newest resource decides.
    const before = worked.resource;
    const now = await context.store.read(before.key);
    if (now === undefined) return outdated;
    worked.resource = now;
    if (!isSameWish(before, now) || !change.isCurrent() || !mayStillSend(context, now, wish)) {
      return outdated;
    }
    if (wish.kind === "Change" && !(await prepare(context, worked, wish, change))) {
      return outdated;
    }
    const operations = await send(context, worked, wish, change.controlPlane);
    entry.failure = undefined;
    return { kind: "Accepted", namespace: worked.resource.key.namespace, operations };
  } catch (error) {
    if (!(error instanceof ControlPlaneError)) throw error;
    return { kind: "Failed", error, retryAtMs: noteFailure(context, worked, error).retryAtMs };
  }
}

/**
 * After a conflict the resource is decided again. The memory of this process and the lists of the control plane then
 * show what was sent, so nothing is sent twice. @throws KubernetesError
 */
export async function storeSent(
  context: AccessContext,
  worked: WorkedAccess,
  wish: Wish,
  sent: KindSent,
): Promise<void> {
  if (sent.kind === "Failed") {
    const { error } = sent;
    // The control plane refuses to delete a role that owns something.
    const isInUse = error.reason === "Rejected" || error.reason === "Conflict";
    return wish.kind === "Delete" && wish.object.type === "Role" && isInUse
      ? storeStep(context, worked, stalls.roleInUse(wish.object.name, error))
      : storeFailure(context, worked, error);
  }
  if (wish.kind === "Delete") {
    return storeStep(context, worked, waits.deleting);
  }
  const { plan, observation } = wish;
  const { resource, entry } = worked;
  if (plan.kind === "Create") {
    const records = recordsWith(resource, context.identity, withObject(observation, plan.type, "Created"));
    return storeStep(context, worked, waits.creating(plan.type), { records });
  }
  const { pendingPassword } = entry;
  if (pendingPassword === undefined) {
    // The answer did not hold the password, so the next reconcile asks the control plane for it.
    return storeStep(context, worked, unchanged);
  }
  const { password, roleUpdatedTime } = pendingPassword;
  const roles = observation.roles.map((role) =>
    role.name === observation.spec.role.name ? { ...role, updatedTime: roleUpdatedTime } : role,
  );
  const openReset = resource.status.password?.rotation;
  const after = { ...observation, resource, roles, openReset, password: { kind: "Known", password } } as const;
  return writeSecret(context, worked, after, { data: bindingData(after, password.reveal()), cause: "Rotated" });
}

/** Whether the grants and the other resources still allow the change. They may have changed while the change waited. */
function mayStillSend(context: AccessContext, resource: DatabaseAccess, wish: Wish): boolean {
  if (wish.kind === "Change") {
    return context.grantOf(resource.key.namespace, wish.observation.endpoint.projectId).mayChange;
  }
  const { object } = wish;
  const isRecorded = (each: AccessObject) =>
    each.type === object.type && each.projectId === object.projectId && each.branchId === object.branchId;
  const recorded = recordedObjects(resource, context.identity).filter(isRecorded);
  return deletedWithResource(recorded, context, resource).length > 0 && isDeletionGranted(context, resource, object);
}

/** Notes in status that the change may have been sent. False: it must not be sent. @throws KubernetesError */
async function prepare(
  context: AccessContext,
  worked: WorkedAccess,
  wish: Change,
  { isCurrent }: Pick<KindChange, "isCurrent">,
): Promise<boolean> {
  const { plan, observation } = wish;
  const { resource: before, entry } = worked;
  if (plan.kind === "ResetPassword") {
    await trySecret(context, worked, observation);
    entry.pendingPassword = undefined;
  } else if (recordOf(observation.objects, observation.endpoint, plan.type)?.origin !== "Requested") {
    entry.creates.set(createKeyOf(plan.type, observation.endpoint), "Existing");
  }
  try {
    await storeStep(context, worked, unchanged, changesBefore(context, wish));
  } finally {
    if (!isCurrent()) await takeBack(context, before);
  }
  return isCurrent() && isSameWish(before, worked.resource) && mayStillSend(context, worked.resource, wish);
}

/** Otherwise a refused Secret would hold a password that no longer works after the reset. @throws KubernetesError */
async function trySecret(context: AccessContext, worked: WorkedAccess, observation: AccessObservation): Promise<void> {
  const { secrets } = context;
  const { secret } = observation;
  const data = bindingData(observation, trialPassword);
  try {
    await secrets.tryWrite(wantedSecret(observation, data), secret.kind === "Own" ? secret.secret : undefined);
  } catch (error) {
    if (isForbidden(error)) await storeStep(context, worked, stalls.secretsForbidden(worked.resource, secrets.account));
    throw error;
  }
}

/** Stands for the password that the control plane makes next. */
const trialPassword = "x".repeat(32);

function changesBefore({ identity }: AccessContext, wish: Change): Partial<DatabaseAccessStatus> {
  const { plan, observation } = wish;
  const { resource, objects, nowMs } = observation;
  if (plan.kind === "Create") {
    return { records: recordsWith(resource, identity, withObject(observation, plan.type, "Requested")) };
  }
  const requestedAt = resource.annotations[annotations.rotateRequestedAt];
  const now = secondsTime(nowMs);
  const roleUpdatedTime = roleIn(observation)?.updatedTime ?? "";
  const known = resource.status.password ?? { roleUpdatedTime, knownSinceTime: now };
  const startedTime = known.rotation?.startedTime ?? now;
  return {
    records: recordsWith(resource, identity, objects),
    password: { ...known, rotation: { startedTime, ...(requestedAt !== undefined && { requestedAt }) } },
  };
}

/**
 * Takes the note of `prepare` back, because nothing was sent. It may name a control plane that the resource no longer
 * uses, and then the resource would be Stalled. @throws KubernetesError
 */
async function takeBack({ store }: AccessContext, before: DatabaseAccess): Promise<void> {
  const { records, password } = before.status;
  await storeOnNewest(store, { read: () => store.current(before.key) }, (current) => {
    const status = withoutEmpty({ ...current.status, records, password });
    return current.uid === before.uid && !isSameStored(status, current.status) ? status : undefined;
  });
}

/** Sends exactly one request. @returns the operations that the request started @throws ControlPlaneError */
async function send(
  { events, observer }: AccessContext,
  { resource, entry }: WorkedAccess,
  wish: Wish,
  objects: BranchObjects,
): Promise<readonly Operation[]> {
  if (wish.kind === "Delete") {
    // The answer alone does not prove that the object is gone. A later list proves it.
    const { object } = wish;
    const { name } = object;
    const isRole = object.type === "Role";
    const answer = await (isRole ? objects.deleteRole(object, name) : objects.deleteDatabase(object, name));
    if (answer !== undefined) {
      events.record(resource, eventOfChange(isRole ? "RoleDeleted" : "DatabaseDeleted", name));
    }
    return answer?.operations ?? [];
  }
  const { plan, observation } = wish;
  const { endpoint, spec } = observation;
  const noteAnswer = ({ role, password }: RoleChange) => {
    const { branchId } = endpoint;
    entry.pendingPassword = password && { password, branchId, roleUpdatedTime: role.updatedTime };
  };
  if (plan.kind === "ResetPassword") {
    const answer = await objects.resetPassword(endpoint, spec.role.name);
    observer.passwordReset();
    noteAnswer(answer);
    return answer.operations;
  }
  const key = createKeyOf(plan.type, observation.endpoint);
  if (plan.type === "Role") {
    const answer = await noteCreate(entry, key, () => objects.createRole(endpoint, spec.role.name));
    noteAnswer(answer);
    events.record(resource, eventOfChange("RoleCreated", spec.role.name));
    return answer.operations;
  }
  const database = { name: spec.database.name, ownerName: spec.role.name };
  const { operations } = await noteCreate(entry, key, () => objects.createDatabase(endpoint, database));
  events.record(resource, eventOfChange("DatabaseCreated", database.name));
  return operations;
}

/** If the create certainly had no effect, the earlier result stays. */
async function noteCreate<Answer>(
  { creates }: WorkedAccess["entry"],
  key: string,
  create: () => Promise<Answer>,
): Promise<Answer> {
  const before = creates.get(key);
  creates.delete(key);
  try {
    const answer = await create();
    creates.set(key, "Created");
    return answer;
  } catch (error) {
    if (before !== undefined && isNeverApplied(error)) creates.set(key, before);
    throw error;
  }
}
