import { isInFlight } from "../domain/operation.ts";
import { conditionOf } from "../resource/conditions.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";
import { isFailureStall } from "./failure-stall.ts";
import { summaryOfFailure } from "./failure-summary.ts";
import type { LocalObservation } from "./observation.ts";
import type { Outcome, ResourceStep } from "./outcome.ts";
import type { Plan } from "./plan.ts";
import { entryOf, isMutation } from "./plan-table.ts";
import { remoteStateOf } from "./remote-state.ts";
import type { ConditionSummary } from "./summary.ts";
import { waitingForProjectMessage, waitingMessage } from "./waiting.ts";

/**
 * A resource without a status need not report that it waits while the project makes progress. In a burst of hundreds
 * that would cost hundreds of writes which say nothing.
 */
const silentStillMs = 20_000;
const silentWaitMs = 120_000;

/** A resource with a status reports a wait soon, because its status may be out of date. */
const shortWaitMs = 5_000;

/** Sums up a step. Pure. */
export function summaryOf(step: ResourceStep): ConditionSummary {
  const { local, plan, outcome } = step;
  switch (outcome.kind) {
    case "Failed":
      return plan === undefined || isMutation(plan)
        ? summaryOfFailure(local, plan, outcome)
        : entryOf(plan).summary(plan, local);
    case "Deferred":
      return isSilentWait(local, outcome)
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

/** The next step will say the same, so a different text now would cost a second write. */
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

/** A paused resource whose endpoint is gone is not Ready. Before the look of a reconcile, the one before it counts. */
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

function isSilentWait({ resource, memory }: LocalObservation, { waitedMs, stillMs }: WaitTimes): boolean {
  const { status } = resource;
  if (isStalledByRow(status, resource.generation, memory.failure !== undefined)) {
    return true;
  }
  return status.conditions === undefined
    ? stillMs < silentStillMs && waitedMs < silentWaitMs
    : waitedMs < shortWaitMs && conditionOf(status.conditions, "Stalled") === undefined;
}

type WaitTimes = Pick<Extract<Outcome, { kind: "Deferred" }>, "waitedMs" | "stillMs">;

/** Stalled stays until a retry succeeds or spec changes; waiting for the retry is neither. */
function isStalledByRow({ conditions }: ComputeEndpointStatus, generation: number, hasRow: boolean): boolean {
  const stalled = conditionOf(conditions, "Stalled");
  return hasRow && stalled?.observedGeneration === generation && isFailureStall(stalled.reason);
}
