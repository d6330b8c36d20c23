/** Sends one change to the control plane, after storing what a crash must not lose. */
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
import type { ReconcileContext } from "./ports.ts";
import { type ProjectMemory, type ResourceEntry, remember, rememberOperations } from "./project-memory.ts";
import { publish } from "./report.ts";
import { storeOnNewest } from "./store-on-newest.ts";

export interface ChangeToSend {
  readonly step: ResourceStep & { readonly plan: MutatingPlan };
  readonly entry: ResourceEntry;
  readonly project: ProjectMemory;
  readonly controlPlane: ControlPlane;
  /** Whether the control plane and the grant are still those of the decision. Storing the intent may take long. */
  readonly mayStillSend: () => boolean;
}

type Context = Pick<ReconcileContext, "clock" | "store" | "events">;

export type Sent =
  | { readonly kind: "Accepted"; readonly resource: ComputeEndpoint; readonly answer: Mutation | undefined }
  | { readonly kind: "Failed"; readonly resource: ComputeEndpoint; readonly error: ControlPlaneError }
  /**
   * Nothing was sent, because the resource, its control plane or its grant has changed. The resource must be decided
   * again.
   */
  | { readonly kind: "Outdated" };

/**
 * Sends the one change that a reconcile has chosen for its project.
 *
 * Before a create it stores the intent. Before a delete it stores the condition Deleting. Then it checks the
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
  const { failure } = entry.memory;
  // The next try of a refused change is not announced again.
  if (failure?.generation !== resource.generation || failure.error.effect === "Unknown") {
    publish(context, resource, eventsBefore(step.plan));
  }
  try {
    return { kind: "Accepted", resource, answer: await send(context, change) };
  } catch (error) {
    if (!(error instanceof ControlPlaneError)) {
      throw error;
    }
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
  if (plan.kind === "CreateEndpoint" && !plan.isIntentStored) {
    const { attempt } = plan.intent;
    remember(entry, { posts: { attempt, isUnresolved: false, sinceMs: clock.monotonicMs() } });
  }
  const hasToStore = !isSameStored(statusBefore(step), resource.status);
  const stored = hasToStore ? await store.patchStatus(resource, statusBefore(step)) : resource;
  entry.version = stored.resourceVersion;
  // The write may have been answered slowly. The watch then knows what a person did meanwhile.
  const newest =
    hasToStore || plan.kind === "DeleteEndpoint" ? store.get(resource.key) : await store.read(resource.key);
  const current = hasToStore ? stored : newest;
  const isWanted = [newest, current].every((each) => each !== undefined && isSameWish(resource, each));
  return isWanted && current !== undefined && hasOnlyIntent(plan, current) ? current : undefined;
}

/** Whether status still holds the intent of a create, and no result of it. True for every other change. */
function hasOnlyIntent(plan: MutatingPlan, { status }: ComputeEndpoint): boolean {
  return (
    plan.kind !== "CreateEndpoint" ||
    (status.createIntent?.attempt === plan.intent.attempt && status.ownership === undefined)
  );
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
  const answer = await request(context, change);
  rememberOperations(
    change.entry,
    (answer?.operations ?? []).map(({ id }) => id),
  );
  return answer;
}

/** Sends exactly one request. @returns `undefined`: a DELETE found nothing to delete */
async function request(context: Context, change: ChangeToSend): Promise<Mutation | undefined> {
  const { step, project, controlPlane } = change;
  const { plan } = step;
  switch (plan.kind) {
    case "CreateEndpoint":
      return await post(context, change, plan);
    case "UpdateEndpoint":
      return await controlPlane.updateEndpoint(project.projectId, plan.endpointId, plan.changes);
    case "ChangePower":
      return await controlPlane.changePower(project.projectId, plan.endpointId, plan.action);
    case "MoveEndpoint":
      return await move(change, plan);
    case "DeleteEndpoint":
      return await controlPlane.deleteEndpoint(project.projectId, plan.endpointId);
    default:
      return plan satisfies never;
  }
}

/** Sends the POST. Until it is answered, it may take effect at any moment. */
async function post(
  { clock }: Context,
  { entry, project, controlPlane }: ChangeToSend,
  { intent: { attempt }, creation, hash }: PlanOf<"CreateEndpoint">,
): Promise<Mutation> {
  const notePost = (isUnresolved: boolean) =>
    remember(entry, { posts: { attempt, isUnresolved, sinceMs: clock.monotonicMs() } });
  notePost(true);
  try {
    const answer = await controlPlane.createEndpoint(project.projectId, creation);
    remember(entry, { answeredCreate: { ...answer, hash } });
    return answer;
  } catch (error) {
    notePost(!isNeverApplied(error));
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
