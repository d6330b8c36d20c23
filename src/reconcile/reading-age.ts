import type { Clock } from "../domain/clock.ts";
import type { LocalObservation, Observation } from "../plan/observation.ts";
import type { Plan } from "../plan/plan.ts";
import { type ComputeEndpoint, isBeingDeleted } from "../resource/compute-endpoint.ts";
import { isTrue } from "../resource/conditions.ts";
import { annotations } from "../resource/names.ts";
import type { Service } from "./service.ts";

/** What the age of a reading is judged by. */
export interface ReadingAgeContext {
  readonly clock: Clock;
  readonly service: Pick<Service, "view" | "lanes">;
  /** At rest a reading of the project may be this old. */
  readonly projectPollMs: number;
}

/**
 * A create may be decided by a reading of this age. What somebody else does meanwhile is no different from what they do
 * while the request is on its way: the service refuses a second read-write endpoint, and a reading from before a write of
 * ours is never used.
 */
const recentMs = 5_000;

/**
 * From when on a reading is worth planning from: monotonic milliseconds. Only who is settled or is about to create for the
 * first time may begin with one that others have made, and never with one from before its own last write; the plan then
 * says whether it will do.
 *
 * @see mayDecide
 */
export function readingSinceMs({ clock, projectPollMs }: ReadingAgeContext, local: LocalObservation): number {
  const nowMs = clock.monotonicMs();
  const oldestMs = nowMs - projectPollMs;
  return isSettled(local) || isAboutToCreate(local) ? Math.max(oldestMs, local.memory.lastWriteMs ?? oldestMs) : nowMs;
}

/**
 * Whether a plan may stand that was made from a reading begun before this pass. If not, it is made again from a new one.
 *
 * @param sinceMs monotonic milliseconds of the beginning of this pass.
 */
export function mayDecide(
  { clock, service }: ReadingAgeContext,
  observation: Observation,
  plan: Plan,
  sinceMs: number,
): boolean {
  const { project, resource } = observation;
  if (project.asOfMs >= sinceMs || isSettled(observation)) {
    return true;
  }
  if (plan.kind === "Wait" && plan.reason === "WaitingForProject") {
    // For another create of the branch: as with those behind in the lane.
    return true;
  }
  if (plan.kind !== "RecordIntent" && plan.kind !== "CreateEndpoint") {
    return false;
  }
  const isRecent = clock.monotonicMs() - project.asOfMs <= recentMs;
  switch (service.lanes.outlook(project.projectId, resource.uid, project)) {
    case "Free":
      return isRecent && project.asOfMs >= (service.view.lastWriteMs(project.projectId) ?? 0);
    case "Next":
      return isRecent && plan.kind === "RecordIntent";
    case "Behind":
      // Nothing will be done in this pass, whatever a newer reading shows.
      return plan.kind === "RecordIntent";
    case "Locked":
      return false;
  }
}

function isSettled({ resource, memory }: LocalObservation): boolean {
  const { status } = resource;
  return (
    memory.failure === undefined &&
    !isBeingDeleted(resource) &&
    status.ownership !== undefined &&
    status.observedGeneration === resource.generation &&
    isTrue(status.conditions, "Ready") &&
    !isLookAskedFor(resource)
  );
}

/** Nothing has been sent for it that a reading could show. */
function isAboutToCreate({ resource, memory }: LocalObservation): boolean {
  const { ownership, createIntent } = resource.status;
  const isNothingSent =
    createIntent === undefined ||
    (memory.intent?.attempt === createIntent.attempt && memory.intent.posts === "NoneSent");
  return (
    memory.failure === undefined &&
    memory.answeredCreate === undefined &&
    !isBeingDeleted(resource) &&
    ownership === undefined &&
    isNothingSent &&
    !isLookAskedFor(resource)
  );
}

function isLookAskedFor({ status, annotations: given }: ComputeEndpoint): boolean {
  return status.lastHandledReconcileAt !== given[annotations.reconcileRequestedAt];
}
