/** Computes the status of a DatabaseAccess. */

import {
  accessRemedies,
  briefOutageMs,
  failureProgressOf,
  failureStallOf,
  sentenceOf,
} from "../decide/call-failures.ts";
import { unfinishedDrafts } from "../decide/conditions-for.ts";
import { withoutEmpty } from "../decide/status-for.ts";
import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import {
  type AccessProgressReason,
  type AccessStallReason,
  conditionOf,
  isTrue,
  mergeConditions,
} from "../resource/conditions.ts";
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

/** Returns the summary of a step whose work goes on, or cannot go on at present. */
export function progressing(reason: AccessProgressReason, message: string): AccessSummary {
  return { kind: "Progressing", reason, message };
}

/** Returns the summary of a step after which a person must act. */
export function stalled(reason: AccessStallReason, message: string): AccessSummary {
  return { kind: "Stalled", reason, message };
}

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
  return withoutEmpty(next);
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
    default:
      return merge(unfinishedDrafts(summary));
  }
}

/**
 * Sums up a failed call for the conditions of a DatabaseAccess. The same failure gives the same text in every
 * reconcile.
 */
export function summaryOfAccessFailure(
  resource: DatabaseAccess,
  error: ControlPlaneError,
  forMs: number,
): AccessSummary {
  const stall = failureStallOf(error, forMs);
  if (stall !== undefined) {
    return stalled(stall, `${sentenceOf(error)} ${accessRemedies[stall]}${deletionRemedy(resource)}`);
  }
  const { conditions } = resource.status;
  const isSettled = isTrue(conditions, "Ready") || isTrue(conditions, "Stalled");
  const reason = failureProgressOf(error);
  const isBrief = forMs < briefOutageMs && reason !== "Unauthorized";
  return isSettled && isBrief
    ? { kind: "Unchanged" }
    : progressing(reason, `${sentenceOf(error)} The operator tries again.${deletionRemedy(resource)}`);
}

function deletionRemedy({ deletionTimestamp }: DatabaseAccess): string {
  return deletionTimestamp === undefined
    ? ""
    : " To remove this resource without deleting role and database, set both deletionPolicy fields to Retain.";
}
