/** Sends one change of a DatabaseAccess to the control plane. */

import type { BranchObjects } from "../domain/branch-objects.ts";
import type { Operation } from "../domain/operation.ts";
import { isNeverApplied, isSameWish } from "../reconcile/send-change.ts";
import type { AccessObject, DatabaseAccessStatus } from "../resource/database-access-schema.ts";
import { annotations } from "../resource/names.ts";
import type { AccessContext } from "./access-context.ts";
import { type AccessObservation, recordOf, type WorkedAccess } from "./access-observation.ts";
import { createKeyOf, objectOf, observedObjects, recordsWith, withObject } from "./access-records.ts";
import type { ReleaseMutation } from "./access-release.ts";
import { progressing } from "./access-status.ts";
import { type AccessStep, storeStep, writeSecret } from "./access-steps.ts";
import * as messages from "./messages.ts";
import { type AccessMutation, type AccessPlanOf, bindingData } from "./plan-access.ts";

/** A change, with the observation from which it was decided. */
export interface DecidedChange {
  readonly plan: AccessMutation;
  readonly observation: AccessObservation;
}

/** What an accepted change means for the resource and the project. */
export interface ChangeResult {
  readonly operations: readonly Operation[];
  readonly step: AccessStep;
}

/**
 * Reads the resource before a change is sent, because the change may have waited for long.
 * @returns false if the resource is gone, or a person asks for something else since the plan was made. @throws
 * KubernetesError
 */
export async function isStillWanted({ store }: AccessContext, worked: WorkedAccess): Promise<boolean> {
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
export async function prepareChange(
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
export async function sendAccessChange(
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

/** Deletes one role or database that the resource created. A later list proves that it is gone. */
export async function sendRelease(
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
