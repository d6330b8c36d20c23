/** Sums up what a failed call means for the conditions. */
import { isBeingDeleted } from "../resource/compute-endpoint.ts";
import { conditionOf, type ProgressReason } from "../resource/conditions.ts";
import {
  briefOutageMs,
  type FailureStall,
  failureProgressOf,
  failureStallOf,
  isFailureStall,
  patienceMs,
  sentenceOf,
} from "./failure-reasons.ts";
import type { LocalObservation } from "./observation.ts";
import type { ConditionSummary, Outcome } from "./outcome.ts";
import type { Plan } from "./plan.ts";
import { entryOf } from "./plan-table.ts";
import { waitingForProjectMessage } from "./waiting.ts";

type Failed = Extract<Outcome, { kind: "Failed" }>;

/**
 * Sums up a failed call for the conditions. The same failure gives the same text in every reconcile. A resource that is
 * Stalled by a refusal stays Stalled until a retry succeeds or spec changes.
 */
export function summaryOfFailure(local: LocalObservation, plan: Plan | undefined, failed: Failed): ConditionSummary {
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

const remedies: Readonly<Record<FailureStall, string>> = {
  Forbidden:
    "Give the API key the permission for this project, or use another key. The operator tries again by itself.",
  Rejected:
    "Change spec so that the control plane accepts it, or raise the limit that it names. The operator tries again by itself.",
  BranchOccupied: "Delete the other endpoint of that branch, or set spec.branchId to another branch.",
  ProjectLocked:
    "Look at that operation in the control plane, and ask its support if the operation never ends. The operator tries again by itself.",
  ProjectNotFound:
    "Make sure that the project exists and that the API key has access to it. projectId cannot be changed: for another project create another ComputeEndpoint.",
  BranchNotFound: "Create the branch, or set spec.branchId to a branch of the project.",
};

const deletionRemedy =
  "To remove this resource without deleting the endpoint, set spec.deletionPolicy to Retain. That works without the control plane.";

function nextStep(reason: ProgressReason): string {
  return reason === "Unauthorized"
    ? "Replace the API key. The operator reads the key's file again and continues by itself."
    : "The operator tries again.";
}

function isReadyNow({ resource }: LocalObservation): boolean {
  const ready = conditionOf(resource.status.conditions, "Ready");
  return ready?.status === "True" && ready.observedGeneration === resource.generation;
}
