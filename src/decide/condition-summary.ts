/** Sums up what one step means for the conditions. */
import { isInFlight } from "../domain/operation.ts";
import { conditionOf } from "../resource/conditions.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";
import { isFailureStall } from "./failure-reasons.ts";
import { summaryOfFailure } from "./failure-summary.ts";
import type { LocalObservation } from "./observation.ts";
import type { ConditionSummary, Outcome, ResourceStep } from "./outcome.ts";
import type { Plan } from "./plan.ts";
import { entryOf, isMutation } from "./plan-table.ts";
import { remoteStateOf } from "./remote-state.ts";
import { waitingForProjectMessage, waitingMessage } from "./waiting.ts";

/**
 * A resource without a status reports that its change waits after this time without any accepted change of the
 * project, in milliseconds. In a burst, this saves hundreds of writes without information.
 */
const quietStillMs = 20_000;
const quietWaitMs = 120_000;

/**
 * How long a resource with a status may wait, in milliseconds, before it reports that. This limit is short because its
 * status may be out of date.
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
