/** Sends one change to the control plane, after storing what a crash must not lose. */

import type { PostState } from "../decide/claims.ts";
import { eventsBefore } from "../decide/events-for.ts";
import type { ResourceStep } from "../decide/observation.ts";
import type { MutatingPlan, PlanOf } from "../decide/plan.ts";
import { statusBefore } from "../decide/status-for.ts";
import type { ControlPlane, Mutation } from "../domain/control-plane.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import { PutOffError } from "../domain/leader-fence.ts";
import { isSameStored } from "../domain/same-stored.ts";
import { type ComputeEndpoint, isPaused } from "../resource/compute-endpoint.ts";
import type { StoredObject } from "../resource/stored-object.ts";
import { noteWrite } from "./observe-project.ts";
import type { ReconcileContext } from "./ports.ts";
import {
  type ProjectMemory,
  type ResourceEntry,
  remember,
  rememberOperations,
  rememberUnconfirmed,
} from "./project-memory.ts";
import { publish } from "./report.ts";
import { storeOnNewest } from "./store-on-newest.ts";

/** A change, with the memory and the control plane that sending it uses. */
export interface ChangeToSend {
  readonly step: ResourceStep & { readonly plan: MutatingPlan };
  readonly entry: ResourceEntry;
  readonly project: ProjectMemory;
  readonly controlPlane: ControlPlane;
  /** Whether the control plane and the grant are still those of the decision. Storing the intent may take long. */
  readonly mayStillSend: () => boolean;
}

type Context = Pick<ReconcileContext, "clock" | "store" | "events">;

/** The result of sending a change. */
export type Sent =
  | { readonly kind: "Accepted"; readonly resource: ComputeEndpoint; readonly answer: Mutation | undefined }
  | { readonly kind: "Failed"; readonly resource: ComputeEndpoint; readonly error: ControlPlaneError }
  /**
   * Nothing was sent, because the resource, its control plane or its grant has changed. The resource must be decided
   * again.
   */
  | { readonly kind: "Outdated" };

/** The maximum age of a check of the resource before a POST, in milliseconds. An older check is made again. */
const checkAgeLimitMs = 1_000;

/**
 * Sends the one change that a reconcile has chosen for its project.
 *
 * Before a create it stores the intent. Before a delete it stores that a DELETE may have been sent. Then it checks the
 * newest version of the resource that it knows. It sends nothing if the resource is gone, is paused, has another
 * generation, or is being deleted since the decision. It also sends nothing if the control plane or the grant has
 * changed.
 *
 * @throws KubernetesError when the resource cannot be stored or read; PutOffError when nothing may be sent.
 */
export async function sendChange(context: Context, change: ChangeToSend): Promise<Sent> {
  const { step, entry, mayStillSend } = change;
  if (!mayStillSend()) {
    return { kind: "Outdated" };
  }
  const resource = await prepare(context, change);
  if (!mayStillSend()) {
    await takeBackIntent(context, step, resource);
    return { kind: "Outdated" };
  }
  if (resource === undefined) {
    return { kind: "Outdated" };
  }
  const { kind } = step.plan;
  const { generation } = resource;
  const { refusedChange } = entry;
  entry.refusedChange = undefined;
  if (refusedChange?.kind !== kind || refusedChange.generation !== generation) {
    publish(context, resource, eventsBefore(step.plan));
  }
  try {
    return { kind: "Accepted", resource, answer: await send(context, change) };
  } catch (error) {
    if (!(error instanceof ControlPlaneError)) {
      throw error;
    }
    entry.refusedChange = error.effect === "Unknown" ? undefined : { kind, generation };
    return { kind: "Failed", resource, error };
  }
}

/**
 * Stores what must be stored before the change. @returns `undefined` if the resource is gone, or has changed since the
 * plan was made
 */
async function prepare({ clock, store }: Context, { step, entry }: ChangeToSend): Promise<ComputeEndpoint | undefined> {
  const { plan } = step;
  const { resource } = step.local;
  const known = store.get(resource.key);
  if (known === undefined || !isSameWish(resource, known)) {
    return undefined;
  }
  if (plan.kind !== "CreateEndpoint" && plan.kind !== "DeleteEndpoint") {
    return resource;
  }
  const checkedAtMs = clock.monotonicMs();
  const hasToStore = !isSameStored(statusBefore(step), resource.status);
  const stored = hasToStore ? await storeBefore(store, step, entry) : resource;
  entry.version = stored.resourceVersion;
  if (plan.kind === "DeleteEndpoint") {
    return isSameWish(resource, stored) ? stored : undefined;
  }
  if (!plan.isIntentStored) {
    const { attempt } = plan.intent;
    remember(entry, { intent: { attempt, posts: "NoneSent", firstSeenMs: checkedAtMs, lastPostMs: undefined } });
  }
  const isOldCheck = !hasToStore || clock.monotonicMs() - checkedAtMs > checkAgeLimitMs;
  const current = isOldCheck ? await store.read(resource.key) : stored;
  const isWanted =
    current !== undefined &&
    isSameWish(resource, current) &&
    current.status.createIntent?.attempt === plan.intent.attempt &&
    current.status.ownership === undefined;
  return isWanted ? current : undefined;
}

/**
 * Stores the status that comes before a change. @throws KubernetesError. After this error the API server may still
 * store the status.
 */
async function storeBefore(
  store: Context["store"],
  step: ChangeToSend["step"],
  entry: ResourceEntry,
): Promise<ComputeEndpoint> {
  const { plan } = step;
  const status = statusBefore(step);
  try {
    return await store.patchStatus(step.local.resource, status);
  } catch (error) {
    const unsentAttempt = plan.kind === "CreateEndpoint" && !plan.isIntentStored ? plan.intent.attempt : undefined;
    rememberUnconfirmed(entry, { status, ended: [], dropped: [], events: [], unsentAttempt });
    throw error;
  }
}

/**
 * Removes an intent under which nothing was sent. The intent may name a control plane that the resource no longer uses,
 * and then the resource would be Stalled. After a conflict it is removed from the newest version.
 * @param stored the resource with the intent; `undefined`: the resource has changed since, and is read again.
 * @throws KubernetesError
 */
async function takeBackIntent(
  { store }: Context,
  { plan, local }: ChangeToSend["step"],
  stored: ComputeEndpoint | undefined,
): Promise<void> {
  if (plan.kind !== "CreateEndpoint" || plan.isIntentStored) {
    return;
  }
  const { key, uid } = local.resource;
  await storeOnNewest(store, { known: stored, read: () => store.read(key) }, (current) => {
    const { createIntent, ...status } = current.status;
    return current.uid === uid && createIntent?.attempt === plan.intent.attempt ? status : undefined;
  });
}

/** Whether a person asks for the same as when the plan was made, and has not paused the resource since. */
export function isSameWish(before: StoredObject, now: StoredObject): boolean {
  return (
    now.uid === before.uid &&
    now.generation === before.generation &&
    now.deletionTimestamp === before.deletionTimestamp &&
    !isPaused(now)
  );
}

async function send(context: Context, change: ChangeToSend): Promise<Mutation | undefined> {
  let answer: Mutation | undefined;
  try {
    answer = await request(context, change);
    return answer;
  } finally {
    noteAnswer(change, answer, context.clock.monotonicMs());
  }
}

/** Sends exactly one request. @returns `undefined`: a DELETE found nothing to delete */
async function request(context: Context, change: ChangeToSend): Promise<Mutation | undefined> {
  const { step, entry, project, controlPlane } = change;
  const { plan } = step;
  switch (plan.kind) {
    case "CreateEndpoint":
      return await post(context, change, plan);
    case "UpdateEndpoint": {
      const answer = await controlPlane.updateEndpoint(project.projectId, plan.endpointId, plan.changes);
      remember(entry, { acknowledgedAtMs: context.clock.monotonicMs() });
      return answer;
    }
    case "ChangePower":
      return await controlPlane.changePower(project.projectId, plan.endpointId, plan.action);
    case "MoveEndpoint":
      return await move(change, plan);
    case "DeleteEndpoint":
      return await deleteEndpoint(context, change, plan);
    default:
      return plan satisfies never;
  }
}

/**
 * Updates snapshot and memory after a request. @param answer `undefined`: the request failed, or there was nothing to
 * delete
 */
function noteAnswer({ step, entry, project }: ChangeToSend, answer: Mutation | undefined, nowMs: number): void {
  const isDelete = step.plan.kind === "DeleteEndpoint";
  noteWrite(project, answer, { isDelete });
  rememberOperations(
    entry,
    (answer?.operations ?? []).map(({ id }) => id),
  );
  if (answer !== undefined && !isDelete) {
    const { id: endpointId, updatedTime } = answer.endpoint;
    remember(entry, { lastAnswer: { endpointId, updatedTime, atMs: nowMs } });
  }
}

/** Sends the POST. Until it is answered, it may take effect at any moment. */
async function post(
  { clock }: Context,
  { entry, project, controlPlane }: ChangeToSend,
  { intent: { attempt }, creation, hash }: PlanOf<"CreateEndpoint">,
): Promise<Mutation> {
  const before = entry.memory.intent?.attempt === attempt ? entry.memory.intent : undefined;
  const firstSeenMs = before?.firstSeenMs ?? clock.monotonicMs();
  const notePost = (posts: PostState) =>
    remember(entry, { intent: { attempt, posts, firstSeenMs, lastPostMs: clock.monotonicMs() } });
  notePost("Unresolved");
  try {
    const answer = await controlPlane.createEndpoint(project.projectId, creation);
    remember(entry, { answeredCreate: { ...answer, hash, attempt }, acknowledgedAtMs: clock.monotonicMs() });
    return answer;
  } catch (error) {
    const wasClean = before !== undefined && before.posts !== "Unresolved";
    notePost(wasClean && isNeverApplied(error) ? "AllRefused" : "Unresolved");
    throw error;
  }
}

/**
 * Whether an error proves that the request had no effect. After any other error, also after a bug of ours, the
 * request may have had one.
 */
export function isNeverApplied(error: unknown): boolean {
  return error instanceof PutOffError || (error instanceof ControlPlaneError && error.effect === "NotApplied");
}

/**
 * Sends a move. If the control plane accepts a move and does not carry it out, the move counts as refused. Otherwise
 * the operator would send it again and again.
 */
async function move(
  { project, controlPlane }: ChangeToSend,
  { endpointId, branchId }: PlanOf<"MoveEndpoint">,
): Promise<Mutation> {
  const answer = await controlPlane.updateEndpoint(project.projectId, endpointId, { branchId });
  if (answer.endpoint.branchId !== branchId) {
    const message = "the control plane accepted the move, but the endpoint stayed on its branch";
    throw new ControlPlaneError("Rejected", message, { effect: "NotApplied", subject: "Endpoint" });
  }
  return answer;
}

async function deleteEndpoint(
  { clock }: Context,
  { entry, project, controlPlane }: ChangeToSend,
  { endpointId }: PlanOf<"DeleteEndpoint">,
): Promise<Mutation | undefined> {
  remember(entry, { lastDelete: { atMs: clock.monotonicMs(), isAnswered: false } });
  try {
    const answer = await controlPlane.deleteEndpoint(project.projectId, endpointId);
    const atMs = clock.monotonicMs();
    const before = entry.memory.deleteAnswered;
    const deleteAnswered = before?.endpointId === endpointId ? before : { endpointId, atMs };
    remember(entry, { lastDelete: { atMs, isAnswered: true }, deleteAnswered });
    return answer;
  } catch (error) {
    if (isNeverApplied(error)) {
      remember(entry, { lastDelete: undefined });
    }
    throw error;
  }
}
