import { patienceMs } from "../decide/failure-summary.ts";
import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { AccessProgressReason, AccessStallReason } from "../resource/access-reasons.ts";
import { conditionOf, mergeConditions } from "../resource/conditions.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { DatabaseAccessStatus } from "../resource/database-access-schema.ts";
import { annotations } from "../resource/names.ts";
import type { Condition } from "../resource/status-schema.ts";
import * as messages from "./messages.ts";

/** What one step means for the conditions of a DatabaseAccess. */
export type AccessSummary =
  | { readonly kind: "Ready" }
  | { readonly kind: "Progressing"; readonly reason: AccessProgressReason; readonly message: string }
  | { readonly kind: "Stalled"; readonly reason: AccessStallReason; readonly message: string }
  | { readonly kind: "Paused" }
  /** Nothing in this step is worth a write. */
  | { readonly kind: "Unchanged" };

/** Returns the status after a step. Pure: equal input gives equal status. */
export function accessStatus(
  resource: DatabaseAccess,
  {
    summary,
    changes,
    nowMs,
  }: { readonly summary: AccessSummary; readonly changes: Partial<DatabaseAccessStatus>; readonly nowMs: number },
): DatabaseAccessStatus {
  const { status, generation } = resource;
  const isUnchanged = summary.kind === "Unchanged";
  const next: DatabaseAccessStatus = {
    ...status,
    ...changes,
    observedGeneration: isUnchanged ? status.observedGeneration : generation,
    lastHandledReconcileAt: isUnchanged
      ? status.lastHandledReconcileAt
      : resource.annotations[annotations.reconcileRequestedAt],
    conditions: isUnchanged ? status.conditions : conditionsOf(resource, summary, nowMs),
  };
  return Object.fromEntries(Object.entries(next).filter(([, value]) => value !== undefined)) as DatabaseAccessStatus;
}

function conditionsOf(
  resource: DatabaseAccess,
  summary: Exclude<AccessSummary, { kind: "Unchanged" }>,
  nowMs: number,
): Condition[] {
  const { status, generation } = resource;
  const context = { generation, nowMs };
  const merge = (drafts: Parameters<typeof mergeConditions>[1]) => mergeConditions(status.conditions, drafts, context);
  switch (summary.kind) {
    case "Ready":
      return merge([{ type: "Ready", status: "True", reason: "UpToDate", message: messages.ready }]);
    case "Paused": {
      const ready = conditionOf(status.conditions, "Ready");
      const isReady = ready?.observedGeneration === generation && ready.status === "True";
      return merge([
        { type: "Ready", status: isReady ? "True" : "Unknown", reason: "Paused", message: messages.paused },
      ]);
    }
    default: {
      const { reason, message } = summary;
      const type = summary.kind === "Stalled" ? "Stalled" : "Reconciling";
      return merge([
        { type: "Ready", status: "False", reason, message },
        { type, status: "True", reason, message },
      ]);
    }
  }
}

/** The shortest outage, in milliseconds, that a Ready resource reports. */
const silentOutageMs = 30_000;

/**
 * Sums up a failed call for the conditions of a DatabaseAccess. The same failure gives the same text in every
 * reconcile.
 */
export function summaryOfAccessFailure(
  resource: DatabaseAccess,
  error: ControlPlaneError,
  forMs: number,
): AccessSummary {
  const stall = stallReasonOf(error, forMs);
  if (stall !== undefined) {
    return {
      kind: "Stalled",
      reason: stall,
      message: `${sentence(error.message)} ${remedies[stall]}${deletionRemedy(resource)}`,
    };
  }
  const { conditions } = resource.status;
  const isSettled = ["Ready", "Stalled"].some((type) =>
    conditions?.some((each) => each.type === type && each.status === "True"),
  );
  const reason = progressReasonOf(error);
  const isBrief = forMs < silentOutageMs && reason !== "Unauthorized";
  return isSettled && isBrief
    ? { kind: "Unchanged" }
    : {
        kind: "Progressing",
        reason,
        message: `${sentence(error.message)} The operator tries again.${deletionRemedy(resource)}`,
      };
}

type FailureStall = Extract<
  AccessStallReason,
  "Forbidden" | "Rejected" | "BranchNotFound" | "ProjectNotFound" | "ProjectLocked"
>;

const remedies: Readonly<Record<FailureStall, string>> = {
  Forbidden:
    "Give the API key the permission for roles and databases of this project. The operator tries again by itself.",
  Rejected:
    "Change spec so that the control plane accepts it, or raise the limit that it names. The operator tries again by itself.",
  BranchNotFound: "The branch of the endpoint is gone. Let the ComputeEndpoint name another branch.",
  ProjectNotFound: "Make sure that the project exists and that the API key has access to it.",
  ProjectLocked:
    "Look at the operation that locks the project in the control plane. The operator tries again by itself.",
};

function stallReasonOf({ reason, subject }: ControlPlaneError, forMs: number): FailureStall | undefined {
  const isPatienceOver = forMs >= patienceMs;
  switch (reason) {
    case "Forbidden":
      return "Forbidden";
    case "Malformed":
      return "Rejected";
    case "Rejected":
    case "Conflict":
      return isPatienceOver ? "Rejected" : undefined;
    case "Locked":
      return isPatienceOver ? "ProjectLocked" : undefined;
    case "NotFound":
      if (!isPatienceOver) {
        return undefined;
      }
      return subject === "Project" ? "ProjectNotFound" : subject === "Branch" ? "BranchNotFound" : "Rejected";
    default:
      return undefined;
  }
}

function progressReasonOf({ reason }: ControlPlaneError): AccessProgressReason {
  switch (reason) {
    case "Unauthorized":
    case "Throttled":
    case "UnreadableAnswer":
      return reason;
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

function deletionRemedy({ deletionTimestamp }: DatabaseAccess): string {
  return deletionTimestamp === undefined
    ? ""
    : " To remove this resource without deleting role and database, set both deletionPolicy fields to Retain.";
}

function sentence(message: string): string {
  return /[.!?]$/.test(message) ? message : `${message}.`;
}
