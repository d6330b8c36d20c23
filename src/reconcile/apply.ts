import type { Clock } from "../domain/clock.ts";
import type { Mutation } from "../domain/control-plane.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { ResourceEvent } from "../domain/event-recorder.ts";
import { LeaderFenceError } from "../domain/leader-fence.ts";
import { KubernetesError, type ResourceStore } from "../domain/resource-store.ts";
import { eventsBefore } from "../plan/events-for.ts";
import type { Observation } from "../plan/observation.ts";
import type { Outcome } from "../plan/outcome.ts";
import { assertNever, type Plan, type ServiceEffect } from "../plan/plan.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";
import type { Ledger } from "./ledger.ts";
import type { Service } from "./service.ts";

/** What applying needs. */
export interface ApplyContext {
  readonly clock: Clock;
  readonly store: ResourceStore<ComputeEndpoint, ComputeEndpointStatus>;
  readonly ledger: Ledger;
  readonly service: Service;
  /** Publishes what must be said before a change is sent. */
  readonly announce: (events: readonly ResourceEvent[]) => void;
}

/**
 * Carries out one plan at the service. Plans whose effect is the status itself are done here; the status patch that
 * follows is their effect.
 *
 * @throws ControlPlaneError when the service refuses or nobody knows; KubernetesError when the resource has changed.
 */
export async function apply(context: ApplyContext, observation: Observation, plan: Plan): Promise<Outcome> {
  const { key, uid } = observation.resource;
  if (plan.kind !== "RecordOwnership") {
    context.ledger.ownershipNotRecording(uid);
  }
  switch (plan.kind) {
    case "RecordIntent":
      return recordIntent(context, observation, plan);
    case "CreateEndpoint":
      return createEndpoint(context, observation, plan);
    case "UpdateEndpoint":
      return write(context, observation, plan, (projectId) =>
        context.service.controlPlane.updateEndpoint(projectId, plan.endpointId, plan.changes),
      );
    case "MoveEndpoint":
      return write(context, observation, plan, (projectId) =>
        move(context, { projectId, endpointId: plan.endpointId, branchId: plan.branchId }),
      );
    case "DeleteEndpoint":
      return write(context, observation, plan, (projectId) =>
        context.service.controlPlane.deleteEndpoint(projectId, plan.endpointId),
      );
    case "RecordOwnership":
      context.ledger.ownershipRecording(key, uid, plan.ownership.endpointId);
      return { kind: "Done" };
    case "AddFinalizer":
    case "RemoveFinalizer":
    case "ForgetEndpoint":
    case "CloseIntent":
    case "Settled":
    case "Stall":
      return { kind: "Done" };
    case "Wait":
      return outcomeOfWait(observation, plan);
    default:
      return assertNever(plan);
  }
}

function outcomeOfWait({ createTurn }: Observation, { reason }: Extract<Plan, { kind: "Wait" }>): Outcome {
  return reason === "WaitingForProject" && createTurn.kind === "Waiting" ? createTurn : { kind: "Done" };
}

/** A move that is accepted without effect would be accepted again and again: it counts as refused. */
async function move(
  { service }: ApplyContext,
  {
    projectId,
    endpointId,
    branchId,
  }: { readonly projectId: string; readonly endpointId: string; readonly branchId: string },
): Promise<Mutation> {
  const mutation = await service.controlPlane.updateEndpoint(projectId, endpointId, { branchId });
  if (mutation.endpoint.branchId !== branchId) {
    throw new ControlPlaneError("Rejected", "the service accepted the move and left the endpoint where it was", {
      effect: "NotApplied",
      subject: "Endpoint",
    });
  }
  return mutation;
}

/** The lane is entered here already and kept for the post, so that an intent does not grow old waiting for it. */
async function recordIntent(
  context: ApplyContext,
  observation: Observation,
  plan: Extract<Plan, { kind: "RecordIntent" }>,
): Promise<Outcome> {
  const deferred = enterLane(context, observation);
  if (deferred !== undefined) {
    return deferred;
  }
  const { key, uid } = observation.resource;
  context.ledger.intentRecording(key, uid, { attempt: plan.intent.attempt, nowMs: context.clock.monotonicMs() });
  return { kind: "Done" };
}

/** Exactly one POST, and only if the resource still is what the plan was made from. */
async function createEndpoint(
  context: ApplyContext,
  observation: Observation,
  plan: Extract<Plan, { kind: "CreateEndpoint" }>,
): Promise<Outcome> {
  const { clock, ledger } = context;
  const { uid } = observation.resource;
  if (!isJustStored(context, observation.resource, plan.intent.attempt)) {
    await confirmIntentIsStored(context, observation.resource, plan.intent.attempt);
  }
  let before: ReturnType<Ledger["postSending"]> | undefined;
  const send = async (projectId: string): Promise<Mutation> => {
    before = ledger.postSending(uid, clock.monotonicMs());
    const mutation = await context.service.controlPlane.createEndpoint(projectId, plan.creation);
    ledger.postAnswered(uid, { ...mutation, hash: plan.hash, attempt: plan.intent.attempt });
    return mutation;
  };
  try {
    return await write(context, observation, plan, send);
  } catch (error) {
    if (before !== undefined && isNeverApplied(error)) {
      ledger.postRefused(uid, before, clock.monotonicMs());
    }
    throw error;
  }
}

/** Anything else, a bug of ours included, leaves the question open. */
function isNeverApplied(error: unknown): boolean {
  return error instanceof LeaderFenceError || (error instanceof ControlPlaneError && error.effect === "NotApplied");
}

/** Longer ago, the resource may have changed unseen: it is read again. */
const justStoredMs = 1_000;

/** The answer to the intent's own write is a fresh read of the resource, as long as it is fresh and nothing came after it. */
function isJustStored({ clock, ledger }: ApplyContext, resource: ComputeEndpoint, attempt: string): boolean {
  const { intent } = ledger.memoryOf(resource.uid);
  return (
    intent?.attempt === attempt &&
    intent.storedVersion === resource.resourceVersion &&
    clock.monotonicMs() - intent.firstSeenMs <= justStoredMs
  );
}

async function confirmIntentIsStored(
  { store }: ApplyContext,
  resource: ComputeEndpoint,
  attempt: string,
): Promise<void> {
  const stored = await store.read(resource.key);
  const isSame =
    stored?.uid === resource.uid &&
    stored.generation === resource.generation &&
    stored.deletionTimestamp === resource.deletionTimestamp &&
    stored.status.createIntent?.attempt === attempt &&
    stored.status.ownership === undefined;
  if (!isSame) {
    throw new KubernetesError("Conflict", "the resource changed before its create was sent");
  }
}

/** After a 423 that no list explains, the whole project waits for this long. */
const lockedPauseMs = 500;

/** One write in the project's lane. Its operations hold the lane until they have ended. */
async function write(
  context: ApplyContext,
  observation: Observation,
  plan: ServiceEffect,
  send: (projectId: string) => Promise<Mutation | undefined>,
): Promise<Outcome> {
  const deferred = enterLane(context, observation);
  if (deferred !== undefined) {
    return deferred;
  }
  context.announce(eventsBefore(plan));
  const { key, uid } = observation.resource;
  const { projectId } = observation.project;
  const isDelete = plan.kind === "DeleteEndpoint" && plan.cause === "Deletion";
  let mutation: Mutation | undefined;
  try {
    mutation = await send(projectId);
    return { kind: "Accepted", mutation };
  } catch (error) {
    if (error instanceof ControlPlaneError && error.reason === "Locked") {
      context.service.lanes.close(projectId, uid, lockedPauseMs);
    }
    throw error;
  } finally {
    const operationIds = mutation?.operations.map(({ id }) => id) ?? [];
    context.ledger.writeEnded(key, uid, {
      nowMs: context.clock.monotonicMs(),
      isDelete,
      operationIds,
      answer: mutation?.endpoint,
    });
    context.service.view.noteWrite(projectId, mutation);
    context.service.lanes.leave(projectId, uid, operationIds);
  }
}

function enterLane({ service }: ApplyContext, { resource, project }: Observation): Outcome | undefined {
  const { key, uid } = resource;
  const isDeletion = resource.deletionTimestamp !== undefined;
  const answer = service.lanes.enter({ key, uid, projectId: project.projectId, isDeletion }, project);
  return answer.kind === "Granted"
    ? undefined
    : { kind: "Deferred", waitedMs: answer.waitedMs, stillMs: answer.stillMs, isFirst: answer.isFirst };
}
