import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import { isBeingDeleted } from "../resource/compute-endpoint.ts";
import { conditionOf, type ProgressReason, type StallReason } from "../resource/conditions.ts";
import type { LocalObservation } from "./observation.ts";
import type { Outcome } from "./outcome.ts";
import type { Plan } from "./plan.ts";
import type { Verdict } from "./verdict.ts";

type Failed = Extract<Outcome, { kind: "Failed" }>;

/** A new project or branch may not be ready yet, and a limit may be raised: this long it is not a person's business. */
export const patienceMs = 5 * 60_000;

/** A settled resource is not disturbed by an outage shorter than this. */
const silentOutageMs = 30_000;

/** What a failed call means for the resource. The message is the same on every pass. */
export function verdictForFailure(observation: LocalObservation, plan: Plan | undefined, failed: Failed): Verdict {
  const { error } = failed;
  const stall = stallReasonFor(plan, failed);
  if (stall !== undefined) {
    const remedy = isBeingDeleted(observation.resource) ? deletionRemedy : remedies[stall];
    return { kind: "Stalled", reason: stall, message: `${sentence(error.message)} ${remedy}` };
  }
  const reason = progressReasonFor(error);
  if (reason === "ServiceUnavailable" && failed.forMs < silentOutageMs && isReadyNow(observation)) {
    return { kind: "Unchanged" };
  }
  const remedy = isBeingDeleted(observation.resource) ? ` ${deletionRemedy}` : "";
  return { kind: "Progressing", reason, message: `${sentence(error.message)} ${nextStep(reason)}${remedy}` };
}

/** The stalls that a failed call can lead to; `undefined`: it is tried again without a person. */
function stallReasonFor(plan: Plan | undefined, { error, forMs }: Failed): FailureStall | undefined {
  const isPatienceOver = forMs >= patienceMs;
  switch (error.reason) {
    case "Forbidden":
      return "Forbidden";
    case "Malformed":
      return "Rejected";
    case "Conflict":
      return plan?.kind === "MoveEndpoint" ? "BranchOccupied" : undefined;
    case "NotFound":
      return isPatienceOver ? notFoundReason(error) : undefined;
    case "Rejected":
      return isPatienceOver ? "Rejected" : undefined;
    default:
      return undefined;
  }
}

type FailureStall = Extract<
  StallReason,
  "Forbidden" | "Rejected" | "BranchOccupied" | "ProjectNotFound" | "BranchNotFound"
>;

function notFoundReason(error: ControlPlaneError): FailureStall | undefined {
  if (error.subject === "Project") {
    return "ProjectNotFound";
  }
  return error.subject === "Branch" ? "BranchNotFound" : undefined;
}

const remedies: Readonly<Record<FailureStall, string>> = {
  Forbidden: "Give the API key the permission for this project, or use another key. It is tried again by itself.",
  Rejected: "Change spec so that the service accepts it, or raise the limit it names. It is tried again by itself.",
  BranchOccupied: "Delete the other endpoint of that branch, or set spec.branchId to another branch.",
  ProjectNotFound:
    "Make sure that the project exists and that the API key may see it; projectId cannot be changed, so for another project create another ComputeEndpoint.",
  BranchNotFound: "Create the branch, or set spec.branchId to a branch of the project.",
};

const deletionRemedy =
  "To let this resource go without deleting the endpoint, set spec.deletionPolicy to Retain; that works without the service.";

function progressReasonFor(error: ControlPlaneError): ProgressReason {
  switch (error.reason) {
    case "Unauthorized":
      return "Unauthorized";
    case "Throttled":
      return "Throttled";
    case "UnreadableAnswer":
      return "UnreadableAnswer";
    case "Locked":
      return "WaitingForProject";
    case "Unavailable":
    case "ServerError":
    case "Unreachable":
    case "TimedOut":
    case "ConnectionLost":
      return "ServiceUnavailable";
    default:
      return "Retrying";
  }
}

function nextStep(reason: ProgressReason): string {
  return reason === "Unauthorized"
    ? "Replace the API key; the operator reads its file again and goes on by itself."
    : "Trying again.";
}

function isReadyNow({ resource }: LocalObservation): boolean {
  const ready = conditionOf(resource.status.conditions, "Ready");
  return ready?.status === "True" && ready.observedGeneration === resource.generation;
}

function sentence(message: string): string {
  return /[.!?]$/.test(message) ? message : `${message}.`;
}
