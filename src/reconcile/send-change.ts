/** Sends one change to the control plane, after storing what a crash must not lose. */
import { eventsBefore } from "../decide/events-for.ts";
import type { ResourceStep } from "../decide/observation.ts";
import { assertNever, type Mutation, type PlanOf } from "../decide/plan.ts";
import { statusBefore } from "../decide/status-for.ts";
import type { Clock } from "../domain/clock.ts";
import type { Mutation as Answer, ControlPlane } from "../domain/control-plane.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import { PutOffError } from "../domain/leader-fence.ts";
import type { EventRecorder, ResourceStore } from "../domain/resource-store.ts";
import { isSameStored } from "../domain/same-stored.ts";
import { type ComputeEndpoint, isPaused } from "../resource/compute-endpoint.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";
import type { StoredObject } from "../resource/stored-object.ts";
import { hasMoved } from "./in-parallel.ts";
import { noteWrite } from "./observe-project.ts";
import {
  type ProjectMemory,
  type ResourceEntry,
  remember,
  rememberOperations,
  rememberUnsent,
} from "./project-memory.ts";

/** The parts that sending a change uses. */
export interface ChangeContext {
  readonly clock: Clock;
  readonly store: ResourceStore<ComputeEndpoint, ComputeEndpointStatus>;
  readonly events: EventRecorder;
  readonly controlPlane: ControlPlane;
  readonly project: ProjectMemory;
  /** Whether the control plane and the grant are still those of the decision. Storing the intent may take long. */
  readonly mayStillSend: () => boolean;
}

/** The result of sending a change. */
export type Sent =
  | { readonly kind: "Accepted"; readonly resource: ComputeEndpoint; readonly answer: Answer | undefined }
  | { readonly kind: "Failed"; readonly resource: ComputeEndpoint; readonly error: ControlPlaneError }
  /** The resource changed before anything was sent, so it must be decided again. */
  | { readonly kind: "Outdated" };

/** The maximum age of a check of the resource before a POST, in milliseconds. An older check is made again. */
const checkAgeLimitMs = 1_000;

/**
 * Carries out the one change of a project.
 *
 * Before a create it stores the intent. Before a delete it stores that a DELETE may have been sent. Then it checks the
 * newest version of the resource that it knows. It sends nothing if the resource is gone, is paused, has another
 * generation, or is being deleted since the decision.
 *
 * @throws KubernetesError when the resource cannot be stored or read; PutOffError when nothing may be sent.
 */
export async function sendChange(
  context: ChangeContext,
  step: ResourceStep & { readonly plan: Mutation },
  entry: ResourceEntry,
): Promise<Sent> {
  const resource = await prepare(context, step, entry);
  const mayStillSend = context.mayStillSend();
  if (!mayStillSend) {
    await takeBackIntent(context, step, resource);
  }
  if (resource === undefined || !mayStillSend) {
    return { kind: "Outdated" };
  }
  const { kind } = step.plan;
  const { generation } = resource;
  const { refusedChange } = entry;
  entry.refusedChange = undefined;
  if (refusedChange?.kind !== kind || refusedChange.generation !== generation) {
    for (const event of eventsBefore(step.plan)) {
      context.events.record(resource, event);
    }
  }
  try {
    return { kind: "Accepted", resource, answer: await send(context, step.plan, entry) };
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
async function prepare(
  { clock, store }: ChangeContext,
  step: ResourceStep & { readonly plan: Mutation },
  entry: ResourceEntry,
): Promise<ComputeEndpoint | undefined> {
  const { plan } = step;
  const { resource } = step.local;
  const known = store.get(resource.key);
  if (known === undefined || !isSameWish(resource, known)) {
    return undefined;
  }
  if (plan.kind !== "CreateEndpoint" && plan.kind !== "DeleteEndpoint") {
    return resource;
  }
  let checkedAtMs = clock.monotonicMs();
  const hasToStore = !isSameStored(statusBefore(step), resource.status);
  let current: ComputeEndpoint | undefined = hasToStore ? await storeBefore(store, step, entry) : resource;
  if (plan.kind === "CreateEndpoint" && !plan.isIntentStored) {
    const { attempt } = plan.intent;
    remember(entry, { intent: { attempt, posts: "NoneSent", firstSeenMs: checkedAtMs, lastPostMs: undefined } });
  }
  entry.version = current.resourceVersion;
  if (plan.kind === "DeleteEndpoint") {
    return isSameWish(resource, current) ? current : undefined;
  }
  if (!hasToStore || clock.monotonicMs() - checkedAtMs > checkAgeLimitMs) {
    checkedAtMs = clock.monotonicMs();
    current = await store.read(resource.key);
  }
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
  store: ChangeContext["store"],
  step: ResourceStep & { readonly plan: Mutation },
  entry: ResourceEntry,
): Promise<ComputeEndpoint> {
  const { plan } = step;
  try {
    return await store.patchStatus(step.local.resource, statusBefore(step));
  } catch (error) {
    if (plan.kind === "CreateEndpoint" && !plan.isIntentStored) {
      rememberUnsent(entry, plan.intent.attempt);
    }
    throw error;
  }
}

/** The maximum number of attempts to remove an intent, if each attempt ends in a conflict. */
const takeBackLimit = 5;

/**
 * Removes an intent under which nothing was sent. The intent may name a control plane that the resource no longer uses,
 * and then the resource would be Stalled. After a conflict it is removed from the newest version.
 * @param stored the resource with the intent; `undefined`: the resource has changed since, and is read again.
 * @throws KubernetesError
 */
async function takeBackIntent(
  { store }: Pick<ChangeContext, "store">,
  { plan, local }: ResourceStep & { readonly plan: Mutation },
  stored: ComputeEndpoint | undefined,
): Promise<void> {
  if (plan.kind !== "CreateEndpoint" || plan.isIntentStored) {
    return;
  }
  const { key, uid } = local.resource;
  let current = stored ?? (await store.read(key));
  for (let attempt = 1; attempt <= takeBackLimit; attempt += 1) {
    if (current?.uid !== uid || current.status.createIntent?.attempt !== plan.intent.attempt) {
      return;
    }
    const { createIntent: _unsent, ...status } = current.status;
    try {
      await store.patchStatus(current, status);
      return;
    } catch (error) {
      if (!hasMoved(error) || attempt === takeBackLimit) throw error;
    }
    current = await store.read(key);
  }
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

async function send(context: ChangeContext, plan: Mutation, entry: ResourceEntry): Promise<Answer | undefined> {
  const { clock, controlPlane, project } = context;
  const { projectId } = project;
  let answer: Answer | undefined;
  try {
    switch (plan.kind) {
      case "CreateEndpoint":
        answer = await post(context, plan, entry);
        break;
      case "UpdateEndpoint":
        answer = await controlPlane.updateEndpoint(projectId, plan.endpointId, plan.changes);
        remember(entry, { acknowledgedAtMs: clock.monotonicMs() });
        break;
      case "ChangePower":
        answer = await controlPlane.changePower(projectId, plan.endpointId, plan.action);
        break;
      case "MoveEndpoint":
        answer = await move(controlPlane, projectId, plan);
        break;
      case "DeleteEndpoint":
        remember(entry, { lastDelete: { atMs: clock.monotonicMs(), isAnswered: false } });
        answer = await deleteEndpoint(context, plan.endpointId, entry);
        break;
      default:
        assertNever(plan);
    }
    return answer;
  } finally {
    noteAnswer(context, answer, { entry, isDelete: plan.kind === "DeleteEndpoint" });
  }
}

function noteAnswer(
  { clock, project }: ChangeContext,
  answer: Answer | undefined,
  { entry, isDelete }: { readonly entry: ResourceEntry; readonly isDelete: boolean },
): void {
  const nowMs = clock.monotonicMs();
  noteWrite(project, answer, { isDelete, nowMs });
  rememberOperations(
    entry,
    (answer?.operations ?? []).map(({ id }) => id),
  );
  if (answer !== undefined && !isDelete) {
    const { id: endpointId, updatedTime } = answer.endpoint;
    remember(entry, { lastAnswer: { endpointId, updatedTime, atMs: nowMs } });
  }
}

/** Sends exactly one POST. Until it is answered, it may take effect at any moment. */
async function post(
  { clock, controlPlane, project }: ChangeContext,
  { intent, creation, hash }: PlanOf<"CreateEndpoint">,
  entry: ResourceEntry,
): Promise<Answer> {
  const before = entry.memory.intent?.attempt === intent.attempt ? entry.memory.intent : undefined;
  const firstSeenMs = before?.firstSeenMs ?? clock.monotonicMs();
  const { attempt } = intent;
  remember(entry, {
    intent: { attempt, posts: "Unresolved", firstSeenMs, lastPostMs: clock.monotonicMs() },
  });
  try {
    const answer = await controlPlane.createEndpoint(project.projectId, creation);
    const acknowledgedAtMs = clock.monotonicMs();
    remember(entry, { answeredCreate: { ...answer, hash, attempt }, acknowledgedAtMs });
    return answer;
  } catch (error) {
    const wasClean = before !== undefined && before.posts !== "Unresolved";
    const posts = wasClean && isNeverApplied(error) ? "AllRefused" : "Unresolved";
    remember(entry, { intent: { attempt, posts, firstSeenMs, lastPostMs: clock.monotonicMs() } });
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
  controlPlane: ControlPlane,
  projectId: string,
  { endpointId, branchId }: PlanOf<"MoveEndpoint">,
): Promise<Answer> {
  const answer = await controlPlane.updateEndpoint(projectId, endpointId, { branchId });
  if (answer.endpoint.branchId !== branchId) {
    const message = "the control plane accepted the move, but the endpoint stayed on its branch";
    throw new ControlPlaneError("Rejected", message, { effect: "NotApplied", subject: "Endpoint" });
  }
  return answer;
}

async function deleteEndpoint(
  { clock, controlPlane, project }: ChangeContext,
  endpointId: string,
  entry: ResourceEntry,
): Promise<Answer | undefined> {
  const settle = () => remember(entry, { lastDelete: { atMs: clock.monotonicMs(), isAnswered: true } });
  try {
    const answer = await controlPlane.deleteEndpoint(project.projectId, endpointId);
    settle();
    return answer;
  } catch (error) {
    if (isNeverApplied(error)) {
      remember(entry, { lastDelete: undefined });
    }
    throw error;
  }
}
