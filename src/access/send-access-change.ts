/** Sends one change of a DatabaseAccess to the control plane. */

import type { BranchObjects } from "../domain/control-plane.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { Operation } from "../domain/operation.ts";
import type { KindChange, KindSent } from "../reconcile/project-kind.ts";
import { isNeverApplied, isSameWish } from "../reconcile/send-change.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { AccessObject, DatabaseAccessStatus } from "../resource/database-access-schema.ts";
import { annotations } from "../resource/names.ts";
import type { AccessContext } from "./access-context.ts";
import { type AccessObservation, recordOf, type WorkedAccess } from "./access-observation.ts";
import { createKeyOf, objectOf, observedObjects, recordsWith, withObject } from "./access-records.ts";
import { doomedObjects, isDeletionGranted, type ReleaseMutation } from "./access-release.ts";
import { progressing } from "./access-status.ts";
import { type AccessStep, storeFailure, storeStep, writeSecret } from "./access-steps.ts";
import * as messages from "./messages.ts";
import { type AccessMutation, type AccessPlanOf, bindingData } from "./plan-access.ts";

/** A decision to change something in the control plane. */
export type Wish =
  | (DecidedChange & { readonly kind: "Change" })
  | { readonly kind: "Release"; readonly plan: ReleaseMutation };

/** A change, with the observation from which it was decided. */
interface DecidedChange {
  readonly plan: AccessMutation;
  readonly observation: AccessObservation;
}

/** What an accepted change means for the resource and the project. */
interface ChangeResult {
  readonly operations: readonly Operation[];
  readonly step: AccessStep;
}

/**
 * Sends the change of one resource, and stores the result. After a long wait for the request budget it sends nothing.
 * It also sends nothing if a person asks for something else by then, or if a grant or the control plane has changed.
 * @throws KubernetesError
 */
export async function sendWish(
  context: AccessContext,
  worked: WorkedAccess,
  wish: Wish,
  change: KindChange,
): Promise<KindSent> {
  const { namespace } = worked.resource.key;
  const { entry } = worked;
  const { waiting } = entry;
  entry.waiting = undefined;
  try {
    if (!(await change.reserve())) {
      entry.waiting = waiting;
      return { kind: "Outdated" };
    }
    const isWanted = await isStillWanted(context, worked);
    if (!isWanted || !change.isCurrent() || !mayStillSend(context, worked, wish)) {
      return { kind: "Outdated" };
    }
    entry.changedAtMs = context.clock.monotonicMs();
    if (wish.kind === "Release") {
      const operations = await sendRelease(context, worked, wish.plan, change.objects);
      await storeStep(context, worked, { summary: progressing("Deleting", messages.deleting) });
      return { kind: "Accepted", namespace, operations };
    }
    return await prepareAndSend(context, worked, wish, change);
  } catch (error) {
    if (!(error instanceof ControlPlaneError)) {
      throw error;
    }
    return { kind: "Failed", error, retryAtMs: await storeFailure(context, worked, error, refusedRoleOf(wish, error)) };
  }
}

/** Whether nothing that the decision depends on has changed while the change waited: grants, and other resources. */
function mayStillSend(context: AccessContext, { resource }: WorkedAccess, wish: Wish): boolean {
  if (wish.kind === "Change") {
    return isGranted(context, resource, wish.observation);
  }
  const { object } = wish.plan;
  const isDoomed = doomedObjects(context, resource).some((each) => createKeyOf(each) === createKeyOf(object));
  return isDoomed && isDeletionGranted(context, resource, object);
}

/** Whether the resource still has its grant, which may have been withdrawn while its change waited. */
function isGranted({ grantOf }: AccessContext, { key }: DatabaseAccess, { endpoint }: AccessObservation): boolean {
  return grantOf(key.namespace, endpoint.projectId).mayChange;
}

async function prepareAndSend(
  context: AccessContext,
  worked: WorkedAccess,
  change: DecidedChange,
  { objects, isCurrent }: KindChange,
): Promise<KindSent> {
  const { records, password } = worked.resource.status;
  const isPrepared = await prepareChange(context, worked, change);
  if (!isCurrent()) {
    // The control plane was changed or became unusable meanwhile. Nothing was sent, so no record may name it.
    await storeStep(context, worked, { summary: { kind: "Unchanged" }, changes: { records, password } });
    return { kind: "Outdated" };
  }
  if (!isPrepared || !isGranted(context, worked.resource, change.observation)) {
    return { kind: "Outdated" };
  }
  const { operations, step } = await sendAccessChange(context, worked, change, objects);
  worked.entry.failure = undefined;
  await storeStep(context, worked, step);
  return { kind: "Accepted", namespace: worked.resource.key.namespace, operations };
}

/**
 * Returns the name of the role that the control plane refuses to delete, because the role owns something. `undefined`:
 * the change deletes no role, or it failed for another reason.
 */
function refusedRoleOf(wish: Wish, { reason }: ControlPlaneError): string | undefined {
  const isRole = wish.kind === "Release" && wish.plan.kind === "DeleteRole";
  return isRole && (reason === "Rejected" || reason === "Conflict") ? wish.plan.object.name : undefined;
}

/**
 * Reads the resource before a change is sent, because the change may have waited for long.
 * @returns false if the resource is gone, or a person asks for something else since the plan was made. @throws
 * KubernetesError
 */
async function isStillWanted({ store }: AccessContext, worked: WorkedAccess): Promise<boolean> {
  const before = worked.resource;
  const now = await store.read(before.key);
  worked.resource = now ?? before;
  return now !== undefined && isSameWish(before, now);
}

/**
 * Stores, before the change is sent, that a create or a reset may have been sent.
 * @returns false if the resource has changed since the plan was made.
 * @throws KubernetesError
 */
async function prepareChange(
  context: AccessContext,
  worked: WorkedAccess,
  { plan, observation }: DecidedChange,
): Promise<boolean> {
  const before = worked.resource;
  if (plan.kind !== "ResetPassword" && !isRequested(plan, observation)) {
    worked.entry.creates.set(createKeyOf(createdObject(plan, observation)), "NotApplied");
  }
  await storeStep(context, worked, {
    summary: { kind: "Unchanged" },
    changes: changesBefore(context, plan, observation),
  });
  return isSameWish(before, worked.resource);
}

function changesBefore(
  { identity }: AccessContext,
  plan: AccessMutation,
  observation: AccessObservation,
): Partial<DatabaseAccessStatus> {
  const { resource } = observation;
  const objects = observedObjects(observation);
  if (plan.kind === "ResetPassword") {
    const requestedAt = resource.annotations[annotations.rotateRequestedAt];
    const { roleUpdatedTime } = plan;
    const { branchId } = observation.endpoint;
    const rotation = { roleUpdatedTime, branchId, ...(requestedAt === undefined ? {} : { requestedAt }) };
    const known = resource.status.password ?? {
      roleUpdatedTime,
      knownSinceTime: new Date(observation.nowMs).toISOString(),
    };
    return { records: recordsWith(resource, identity, objects), password: { ...known, rotation } };
  }
  const requested = isRequested(plan, observation) ? objects : withObject(objects, createdObject(plan, observation));
  return { records: recordsWith(resource, identity, requested) };
}

type CreatePlan = AccessPlanOf<"CreateRole" | "CreateDatabase">;

/** Whether status records already that a create of the object may have been sent. */
function isRequested(plan: CreatePlan, observation: AccessObservation): boolean {
  const { type } = createdObject(plan, observation);
  return recordOf(observedObjects(observation), observation.endpoint, type)?.origin === "Requested";
}

/** Makes the record of the object that the plan creates. */
function createdObject(plan: CreatePlan, observation: AccessObservation): AccessObject {
  return objectOf(observation, plan.kind === "CreateRole" ? "Role" : "Database", "Requested");
}

/**
 * Sends exactly one request. @throws ControlPlaneError; KubernetesError if the Secret cannot be written after a reset
 */
async function sendAccessChange(
  context: AccessContext,
  worked: WorkedAccess,
  { plan, observation }: DecidedChange,
  objects: BranchObjects,
): Promise<ChangeResult> {
  switch (plan.kind) {
    case "CreateRole":
      return createRole(context, worked, { plan, observation }, objects);
    case "CreateDatabase":
      return createDatabase(context, worked, { plan, observation }, objects);
    case "ResetPassword":
      return resetPassword(context, worked, observation, objects);
  }
}

async function createRole(
  context: AccessContext,
  worked: WorkedAccess,
  { plan, observation }: { readonly plan: AccessPlanOf<"CreateRole">; readonly observation: AccessObservation },
  objects: BranchObjects,
): Promise<ChangeResult> {
  const { endpoint } = observation;
  const { role, password, operations } = await sendCreate(worked, createdObject(plan, observation), () =>
    objects.createRole(endpoint, plan.name),
  );
  if (password !== undefined) {
    worked.entry.pendingPassword = { password, branchId: endpoint.branchId, roleUpdatedTime: role.updatedTime };
  }
  context.events.record(worked.resource, messages.eventOfChange("RoleCreated", plan.name));
  return { operations, step: createdStep(context, worked, observation, "Role") };
}

/** Sends one create, and remembers its result until status holds it. */
async function sendCreate<Answer>(
  { entry: { creates } }: WorkedAccess,
  object: AccessObject,
  send: () => Promise<Answer>,
): Promise<Answer> {
  const key = createKeyOf(object);
  const before = creates.get(key) ?? "Unknown";
  creates.set(key, "Unknown");
  try {
    const answer = await send();
    creates.set(key, "Accepted");
    return answer;
  } catch (error) {
    creates.set(key, isNeverApplied(error) ? before : "Unknown");
    throw error;
  }
}

async function createDatabase(
  context: AccessContext,
  worked: WorkedAccess,
  { plan, observation }: { readonly plan: AccessPlanOf<"CreateDatabase">; readonly observation: AccessObservation },
  objects: BranchObjects,
): Promise<ChangeResult> {
  const { operations } = await sendCreate(worked, createdObject(plan, observation), () =>
    objects.createDatabase(observation.endpoint, plan),
  );
  context.events.record(worked.resource, messages.eventOfChange("DatabaseCreated", plan.name));
  return { operations, step: createdStep(context, worked, observation, "Database") };
}

function createdStep(
  { identity }: AccessContext,
  { resource }: WorkedAccess,
  observation: AccessObservation,
  type: AccessObject["type"],
): AccessStep {
  const objects = withObject(resource.status.records?.objects ?? [], objectOf(observation, type, "Created"));
  const reason = type === "Role" ? "CreatingRole" : "CreatingDatabase";
  const message = `The operator creates ${type === "Role" ? "the role" : "the database"}.`;
  return {
    summary: progressing(reason, message),
    changes: { records: recordsWith(resource, identity, objects) },
  };
}

async function resetPassword(
  context: AccessContext,
  worked: WorkedAccess,
  observation: AccessObservation,
  objects: BranchObjects,
): Promise<ChangeResult> {
  const { spec, endpoint } = observation;
  const { role, password, operations } = await objects.resetPassword(endpoint, spec.role.name);
  context.observer.passwordReset();
  if (password === undefined) {
    // The answer did not hold the password, so the next reconcile asks the control plane for it.
    return { operations, step: { summary: { kind: "Unchanged" } } };
  }
  worked.entry.pendingPassword = { password, branchId: endpoint.branchId, roleUpdatedTime: role.updatedTime };
  const roles = observation.roles.map((each) => (each.name === role.name ? role : each));
  const known = { kind: "Known", password, roleUpdatedTime: role.updatedTime } as const;
  const after = { ...observation, resource: worked.resource, roles, password: known };
  const data = bindingData(after, password.reveal());
  return { operations, step: await writeSecret(context, worked, after, { data, cause: "Rotated" }) };
}

/** Sends the deletion of one recorded role or database. A later list proves that it is gone. */
async function sendRelease(
  { events }: AccessContext,
  { resource }: WorkedAccess,
  { kind, object }: ReleaseMutation,
  objects: BranchObjects,
): Promise<readonly Operation[]> {
  const isRole = kind === "DeleteRole";
  const answer = isRole
    ? await objects.deleteRole(object, object.name)
    : await objects.deleteDatabase(object, object.name);
  if (answer !== undefined) {
    events.record(resource, messages.eventOfChange(isRole ? "RoleDeleted" : "DatabaseDeleted", object.name));
  }
  return answer?.operations ?? [];
}
