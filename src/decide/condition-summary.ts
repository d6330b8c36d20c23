/** Sums up what one step means for the conditions. */
import { isInFlight } from "../domain/operation.ts";
import { isBeingDeleted } from "../resource/compute-endpoint.ts";
import { conditionOf, type ProgressReason } from "../resource/conditions.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";
import {
  briefOutageMs,
  type FailureStall,
  failureProgressOf,
  failureStallOf,
  isFailureStall,
  patienceMs,
  remedies,
  sentenceOf,
} from "./call-failures.ts";
import type { Plan } from "./plan.ts";
import { entryOf, isMutation } from "./plan-table.ts";
import { remoteStateOf } from "./remote-state.ts";
import type { ConditionSummary, LocalObservation, Outcome, ResourceStep } from "./resource-step.ts";
import { waitingForProjectMessage, waitingMessage } from "./waiting.ts";

/**
 * A resource without a status reports that its change waits after `quietStillMs` without any accepted change of the
 * project, and after `quietWaitMs` in any case. In a burst, this saves hundreds of writes without information.
 */
const quietStillMs = 20_000;
const quietWaitMs = 120_000;

/**
 * How long a resource with a status may wait, in milliseconds, before it reports that. This limit is short because its
 * status may be out of date. A Stalled resource reports it at once, unless a refused call made it Stalled.
 */
const shortWaitMs = 5_000;

/** Returns what the conditions will say about a step. Pure. */
export function summaryOf(step: ResourceStep): ConditionSummary {
  const { local, plan, outcome } = step;
  switch (outcome.kind) {
    case "Failed":
      return plan === undefined || isMutation(plan)
        ? summaryOfFailure(local, plan, outcome)
        : entryOf(plan).summary(plan, local);
    case "Deferred":
      return isQuietWait(local, outcome)
        ? { kind: "Unchanged" }
        : {
            kind: "Progressing",
            reason: "WaitingForProject",
            message: waitingForProjectMessage,
          };
    case "Accepted":
      return summaryOfAccepted(local, plan, outcome);
    case "NothingSent":
      return plan === undefined ? { kind: "Unchanged" } : withEndpointGone(entryOf(plan).summary(plan, local), step);
  }
}

/**
 * Sums up an accepted change. It gives the text that the next step will give, because a different text now would cost a
 * second write.
 */
function summaryOfAccepted(
  local: LocalObservation,
  plan: Plan | undefined,
  { answer }: Extract<Outcome, { kind: "Accepted" }>,
): ConditionSummary {
  const started = (answer?.operations ?? []).filter(isInFlight);
  if (started.length > 0 && local.resource.deletionTimestamp === undefined) {
    return { kind: "Progressing", reason: "OperationInFlight", message: waitingMessage(started) };
  }
  return plan === undefined ? { kind: "Unchanged" } : entryOf(plan).summary(plan, local);
}

/**
 * Adds to the summary of a paused resource that its endpoint is gone. Such a resource is not Ready. Until a reconcile has
 * read the control plane, the result of the previous reconcile counts.
 */
function withEndpointGone(summary: ConditionSummary, { local, observation }: ResourceStep): ConditionSummary {
  const { memory } = local;
  const endpointId = local.resource.status.ownership?.endpointId;
  if (summary.kind !== "Paused" || endpointId === undefined) {
    return summary;
  }
  const isGone =
    observation === undefined
      ? memory.goneEndpointId === endpointId
      : remoteStateOf(observation.project, endpointId, memory).kind === "Absent";
  return isGone ? { ...summary, isEndpointGone: true, message: `${summary.message} The endpoint is gone.` } : summary;
}

function isQuietWait({ resource, memory }: LocalObservation, { waitedMs, stillMs }: WaitTimes): boolean {
  const { status } = resource;
  if (isStalledByRow(status, resource.generation, memory.failure !== undefined)) {
    return true;
  }
  return status.conditions === undefined
    ? stillMs < quietStillMs && waitedMs < quietWaitMs
    : waitedMs < shortWaitMs && conditionOf(status.conditions, "Stalled") === undefined;
}

type WaitTimes = Pick<Extract<Outcome, { kind: "Deferred" }>, "waitedMs" | "stillMs">;

/**
 * Whether the resource is Stalled because of repeated failures. Stalled stays until a retry succeeds or spec changes;
 * the wait before the retry does not end it.
 */
function isStalledByRow({ conditions }: ComputeEndpointStatus, generation: number, hasRow: boolean): boolean {
  const stalled = conditionOf(conditions, "Stalled");
  return hasRow && stalled?.observedGeneration === generation && isFailureStall(stalled.reason);
}

type Failed = Extract<Outcome, { kind: "Failed" }>;

/**
 * Sums up a failed call for the conditions. The same failure gives the same text in every reconcile. A resource that is
 * Stalled by a refusal stays Stalled until a retry succeeds or spec changes.
 */
function summaryOfFailure(local: LocalObservation, plan: Plan | undefined, failed: Failed): ConditionSummary {
  const { error, forMs } = failed;
  const { resource } = local;
  const stall = stallReasonFor(plan, failed);
  const stalled = conditionOf(resource.status.conditions, "Stalled");
  const isStalledAlready = stalled?.observedGeneration === resource.generation && isFailureStall(stalled.reason);
  if (isStalledAlready && (stall === undefined || stall === stalled.reason || forMs < patienceMs)) {
    return { kind: "Unchanged" };
  }
  if (stall !== undefined) {
    return { kind: "Stalled", reason: stall, message: stallMessage(local, stall, failed) };
  }
  const reason = failureProgressOf(error);
  if (reason === "ServiceUnavailable" && forMs < briefOutageMs && isReadyNow(local)) {
    return { kind: "Unchanged" };
  }
  if (reason === "WaitingForProject") {
    return { kind: "Progressing", reason, message: waitingForProjectMessage };
  }
  const remedy = isBeingDeleted(resource) ? ` ${deletionRemedy}` : "";
  return { kind: "Progressing", reason, message: `${sentenceOf(error)} ${nextStep(reason)}${remedy}` };
}

function stallMessage({ resource }: LocalObservation, stall: FailureStall, { error, lockHolder }: Failed): string {
  const holder =
    stall === "ProjectLocked" && lockHolder !== undefined
      ? ` Operation ${lockHolder.id} (${lockHolder.action}) locks the project.`
      : "";
  const remedy = isBeingDeleted(resource) ? deletionRemedy : remedies[stall];
  return `${sentenceOf(error)}${holder} ${remedy}`;
}

/** Returns the Stalled reason of a failed call. For a 409 some kinds of plan have a reason of their own. */
function stallReasonFor(plan: Plan | undefined, { error, forMs }: Failed): FailureStall | undefined {
  const conflictStall = error.reason === "Conflict" && plan !== undefined ? entryOf(plan).conflictStall : undefined;
  return conflictStall ?? failureStallOf(error, forMs);
}

const deletionRemedy =
  "To remove this resource without deleting the endpoint, set spec.deletionPolicy to Retain. That works without the control plane.";

function nextStep(reason: ProgressReason): string {
  return reason === "Unauthorized"
    ? "Replace the API key. The operator reads the new key and continues by itself."
    : "The operator tries again.";
}

function isReadyNow({ resource }: LocalObservation): boolean {
  const ready = conditionOf(resource.status.conditions, "Ready");
  return ready?.status === "True" && ready.observedGeneration === resource.generation;
}
