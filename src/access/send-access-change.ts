/** Sends one change of a DatabaseAccess to the control plane, and stores the result. */
import { withoutEmpty } from "../decide/status-for.ts";
import type { BranchObjects, RoleChange } from "../domain/control-plane.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { Operation } from "../domain/operation.ts";
import { isSameStored } from "../domain/same-stored.ts";
import type { KindChange, KindSent } from "../reconcile/ports.ts";
import { isNeverApplied, isSameWish } from "../reconcile/send-change.ts";
import { storeOnNewest } from "../reconcile/store-on-newest.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { AccessObject, DatabaseAccessStatus } from "../resource/database-access-schema.ts";
import { annotations } from "../resource/names.ts";
import type { AccessContext, AccessObservation, WorkedAccess } from "./access-observation.ts";
import { createKeyOf, objectOf, recordedObjects, recordOf, recordsWith, withObject } from "./access-records.ts";
import { noteFailure, storeFailure, storeStep, writeSecret } from "./access-steps.ts";
import { eventOfChange, stalls, unchanged, waits } from "./access-summary.ts";
import { type AccessMutation, bindingData } from "./plan-access.ts";
import { deletedWithResource, isDeletionGranted } from "./plan-locally.ts";

/** A change, with the observation from which it was decided. */
interface Change {
  readonly kind: "Change";
  readonly plan: AccessMutation;
  readonly observation: AccessObservation;
}

/** A decision to change something in the control plane. */
export type Wish = Change | { readonly kind: "Delete"; readonly object: AccessObject };

/** The result of `sendWish`. `Outdated`: nothing was sent, because the resource has changed since the decision. */
type Sent = KindSent | { readonly kind: "Outdated" };

const outdated: Sent = { kind: "Outdated" };

/**
 * Sends the change of one resource. It sends nothing, and the result is `Outdated`, after a long wait for the request
 * budget. The same holds if a person has changed, paused or deleted the resource since the decision, or if the grants,
 * the control plane or other resources no longer allow the change.
 * @throws KubernetesError before anything was sent
 */
export async function sendWish(
  context: AccessContext,
  worked: WorkedAccess,
  wish: Wish,
  change: KindChange,
): Promise<Sent> {
  const { entry } = worked;
  const { waitingSinceMs } = entry;
  entry.waitingSinceMs = undefined;
  try {
    if (!(await change.reserve())) {
      entry.waitingSinceMs = waitingSinceMs;
      return outdated;
    }
    const isWanted = await isStillWanted(context, worked);
    if (!isWanted || !change.isCurrent() || !mayStillSend(context, worked.resource, wish)) {
      return outdated;
    }
    entry.changedAtMs = context.clock.monotonicMs();
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
 * Stores the result of `sendWish`. After a conflict the resource is decided again. The memory of this process and the
 * lists of the control plane then show what was sent, so nothing is sent twice.
 * @throws KubernetesError
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
  const after = { ...observation, resource, roles, password: { kind: "Known", password, roleUpdatedTime } } as const;
  return writeSecret(context, worked, after, { data: bindingData(after, password.reveal()), cause: "Rotated" });
}

/**
 * Reads the resource before a change is sent, because the change may have waited for long.
 * @returns false if the resource is gone, or a person has changed, paused or deleted it since the plan was made.
 */
async function isStillWanted({ store }: AccessContext, worked: WorkedAccess): Promise<boolean> {
  const before = worked.resource;
  const now = await store.read(before.key);
  worked.resource = now ?? before;
  return now !== undefined && isSameWish(before, now);
}

/** Whether the grants and the other resources still allow the change. They may have changed while the change waited. */
function mayStillSend(context: AccessContext, resource: DatabaseAccess, wish: Wish): boolean {
  if (wish.kind === "Change") {
    return context.grantOf(resource.key.namespace, wish.observation.endpoint.projectId).mayChange;
  }
  const { object } = wish;
  const isRecorded = (each: AccessObject) => createKeyOf(each) === createKeyOf(object);
  const recorded = recordedObjects(resource, context.identity).filter(isRecorded);
  return deletedWithResource(recorded, context, resource).length > 0 && isDeletionGranted(context, resource, object);
}

/**
 * Stores, before the change is sent, that a create or a reset may have been sent.
 * @returns whether the change may still be sent after that
 * @throws KubernetesError
 */
async function prepare(
  context: AccessContext,
  worked: WorkedAccess,
  wish: Change,
  { isCurrent }: Pick<KindChange, "isCurrent">,
): Promise<boolean> {
  const { plan, observation } = wish;
  const { resource: before, entry } = worked;
  if (plan.kind === "ResetPassword") {
    entry.isResetAccepted = false;
  } else if (!isRequested(wish)) {
    entry.creates.set(createKeyOf(objectOf(observation, plan.type, "Requested")), "NotApplied");
  }
  try {
    await storeStep(context, worked, unchanged, changesBefore(context, wish));
  } finally {
    if (!isCurrent()) await takeBack(context, before);
  }
  return isCurrent() && isSameWish(before, worked.resource) && mayStillSend(context, worked.resource, wish);
}

/** Whether status records already that a create of the object may have been sent. */
function isRequested({ plan, observation: { objects, endpoint } }: Change): boolean {
  return plan.kind === "Create" && recordOf(objects, endpoint, plan.type)?.origin === "Requested";
}

function changesBefore({ identity }: AccessContext, wish: Change): Partial<DatabaseAccessStatus> {
  const { plan, observation } = wish;
  const { resource, objects, nowMs } = observation;
  if (plan.kind === "Create") {
    return { records: recordsWith(resource, identity, withObject(observation, plan.type, "Requested")) };
  }
  const requestedAt = resource.annotations[annotations.rotateRequestedAt];
  const { roleUpdatedTime } = plan;
  const { branchId } = observation.endpoint;
  const known = resource.status.password ?? { roleUpdatedTime, knownSinceTime: new Date(nowMs).toISOString() };
  return {
    records: recordsWith(resource, identity, objects),
    password: { ...known, rotation: { roleUpdatedTime, branchId, ...(requestedAt !== undefined && { requestedAt }) } },
  };
}

/**
 * Takes back the note in status that a create or a reset may have been sent, because nothing was sent. The note may
 * name a control plane that the resource no longer uses, and then the resource would be Stalled. After a conflict, the
 * note is taken back from the newest version.
 * @throws KubernetesError
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
  { events, observer, clock }: AccessContext,
  { resource, entry }: WorkedAccess,
  wish: Wish,
  objects: BranchObjects,
): Promise<readonly Operation[]> {
  if (wish.kind === "Delete") {
    // The answer alone does not prove that the object is gone. A later list proves it.
    const { object } = wish;
    const { name } = object;
    const isRole = object.type === "Role";
    const answer = await noteUnanswered({ entry, clock, key: createKeyOf(object) }, () =>
      isRole ? objects.deleteRole(object, name) : objects.deleteDatabase(object, name),
    ).catch((error: unknown) => {
      if (!isNeverApplied(error)) entry.unansweredDeleteMs = clock.monotonicMs();
      throw error;
    });
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
    entry.isResetAccepted = true;
    observer.passwordReset();
    noteAnswer(answer);
    return answer.operations;
  }
  const notes = { entry, clock, key: createKeyOf(objectOf(observation, plan.type, "Requested")) };
  if (plan.type === "Role") {
    const answer = await noteCreate(notes, () => objects.createRole(endpoint, spec.role.name));
    noteAnswer(answer);
    events.record(resource, eventOfChange("RoleCreated", spec.role.name));
    return answer.operations;
  }
  const database = { name: spec.database.name, ownerName: spec.role.name };
  const { operations } = await noteCreate(notes, () => objects.createDatabase(endpoint, database));
  events.record(resource, eventOfChange("DatabaseCreated", database.name));
  return operations;
}

type Notes = Pick<WorkedAccess, "entry"> & Pick<AccessContext, "clock"> & { readonly key: string };

/**
 * Sends one create, and notes its result in the memory. If the create certainly had no effect, the earlier result
 * stays.
 */
async function noteCreate<Answer>(notes: Notes, create: () => Promise<Answer>): Promise<Answer> {
  const { key, entry } = notes;
  const { creates, unanswered, firstSeenMs } = entry;
  const before = creates.get(key);
  if (before === undefined) {
    // Status records a create of which this process knows nothing, so an earlier process may have sent one.
    unanswered.set(key, firstSeenMs);
  }
  creates.set(key, "Unknown");
  try {
    const answer = await noteUnanswered(notes, create);
    creates.set(key, "Accepted");
    return answer;
  } catch (error) {
    creates.set(key, isNeverApplied(error) ? (before ?? "Unknown") : "Unknown");
    throw error;
  }
}

/** Sends one create or DELETE. If it fails and may still take effect, its time is noted. */
async function noteUnanswered<Answer>({ entry, key, clock }: Notes, send: () => Promise<Answer>): Promise<Answer> {
  try {
    return await send();
  } catch (error) {
    if (!isNeverApplied(error)) entry.unanswered.set(key, clock.monotonicMs());
    throw error;
  }
}
