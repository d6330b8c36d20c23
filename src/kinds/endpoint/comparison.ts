/** What status says about the comparison of endpoint and spec: drift, a change that waits, schedules, and InSync. */
import type { Summary } from "../../engine/summary.ts";
import { type ConditionDraft, conditionOf, secondsTime } from "../../resource/conditions.ts";
import { annotations } from "../../resource/names.ts";
import type { ComputeEndpointStatus, PendingChange } from "../../resource/status-schema.ts";
import { isBeingDeleted } from "../../resource/stored-object.ts";
import { diffEndpoint, driftOf, nextScheduleMs, type Scheduled } from "./desired-endpoint.ts";
import { type EndpointStep, rulingIn } from "./plan.ts";
import { endpointPlan, latestEndpoint, recordsAfter } from "./plan-table.ts";

/** Of ChangePending and InSync. */
export type ComparisonDrafts = readonly (ConditionDraft | undefined)[];

/** @param wanted what spec asks for now; `undefined`: it is invalid */
export function comparisonOf(step: EndpointStep, summary: Summary, wanted: Scheduled | undefined) {
  const { status, annotations: given } = step.facts.resource;
  if (summary.kind === "Unchanged") {
    const kept = (["ChangePending", "InSync"] as const).map((type) => conditionOf(status.conditions, type));
    return { fields: {}, drafts: kept as ComparisonDrafts };
  }
  if (!isComparable(step)) {
    const none = { drift: undefined, pendingChange: undefined, activeSchedule: undefined, nextScheduleTime: undefined };
    return { fields: none, drafts: [] };
  }
  const compared = wanted && !isRunning(summary) ? compare(wanted, step) : undefined;
  const pendingChange = pendingAfter(step);
  const nextMs = wanted === undefined ? Infinity : nextScheduleMs(wanted.spec, step.facts.nowMs);
  const approval = given[annotations.approveChange];
  const isApprovalUsed = isCarriedOut(step) && approval === rulingIn(step.plan)?.change?.hash;
  const fields: Partial<ComputeEndpointStatus> = {
    drift: compared?.drift ?? status.drift,
    pendingChange,
    activeSchedule: wanted?.active,
    nextScheduleTime: nextMs < Infinity ? secondsTime(nextMs) : undefined,
    ...(isApprovalUsed && { lastHandledApproval: approval }),
  };
  return {
    fields,
    drafts: [pendingDraft(step, summary, pendingChange), inSyncDraft(step, summary, { ...fields, compared })],
  };
}

/** A resource without an endpoint, or one that is being deleted, has nothing to compare. */
function isComparable(step: EndpointStep): boolean {
  const hasEndpoint = recordsAfter(step).ownership !== undefined || step.plan?.kind === "Observe";
  return hasEndpoint && !isBeingDeleted(step.facts.resource);
}

/** Before its own operation has ended, the operator does not call a difference drift. */
function isRunning(summary: Summary): boolean {
  return summary.kind === "Progressing" && summary.reason === "OperationInFlight";
}

/** Compares spec with an endpoint that a plan, an answer or a read by id shows; `undefined`: none does. */
function compare({ spec }: Scheduled, step: EndpointStep) {
  const endpoint = latestEndpoint(step);
  const isRead =
    endpointPlan(step.plan) !== undefined || step.reads.project?.snapshot?.readsById.has(endpoint?.id ?? "");
  return endpoint === undefined || !isRead
    ? undefined
    : { drift: driftOf(spec, endpoint), hidden: diffEndpoint(spec, endpoint).unverifiable };
}

/** A plan that was made from a read of the endpoint says what waits. */
function pendingAfter(step: EndpointStep): PendingChange | undefined {
  const plan = endpointPlan(step.plan);
  const isRuled = plan?.kind === "Settled" || plan?.kind === "UpdateEndpoint" || plan?.kind === "MoveEndpoint";
  const { pendingChange } = step.facts.resource.status;
  return isCarriedOut(step) || plan?.kind === "Observe" ? undefined : isRuled ? plan.ruling?.change : pendingChange;
}

/** Whether the control plane has accepted the last field of the change. */
function isCarriedOut({ plan, outcome }: EndpointStep): boolean {
  const { wait, change } = rulingIn(plan) ?? {};
  return outcome.kind === "Accepted" && wait === undefined && change?.fields.length === 1;
}

/** Absent while the operator cannot say whether anything still waits: Stalled, paused, or without answers. */
function pendingDraft(step: EndpointStep, summary: Summary, pendingChange?: PendingChange): ConditionDraft | undefined {
  const type = "ChangePending";
  const ruling = rulingIn(step.plan);
  const isAtWork = summary.kind === "Progressing" && serving.includes(summary.reason);
  if (!(summary.kind === "Ready" || isAtWork) || pendingChange === undefined) {
    return undefined;
  }
  return ruling === undefined
    ? (conditionOf(step.facts.resource.status.conditions, type) as ConditionDraft | undefined)
    : ruling.wait && { type, status: "True", reason: ruling.wait.reason, message: ruling.wait.message };
}

const serving: readonly string[] = ["ChangePending", "OperationInFlight", "Updating"];

type Found = Pick<ComputeEndpointStatus, "pendingChange" | "activeSchedule"> & {
  readonly compared: ReturnType<typeof compare>;
};

function inSyncDraft({ facts: { resource } }: EndpointStep, summary: Summary, found: Found): ConditionDraft {
  const type = "InSync";
  if (isRunning(summary)) {
    return { type, status: "False", reason: "OperationInFlight", message: "A change has not ended." };
  }
  const { drift = [], hidden = [] } = found.compared ?? {};
  if (drift.length > 0) {
    const pending = (found.pendingChange?.fields ?? []).map(({ field }) => field);
    const differing = drift.map(({ field }) => field);
    const reason = differing.every((field) => pending.includes(field)) ? "ChangePending" : "Drift";
    return { type, status: "False", reason, message: `The endpoint differs from spec in ${differing.join(", ")}.` };
  }
  if (hidden.length > 0) {
    const unseen = hidden.map(({ field }) => `spec.${field}`).join(", ");
    return { type, status: "Unknown", reason: "NotShown", message: `The control plane does not show ${unseen}.` };
  }
  if (found.compared !== undefined && summary.kind !== "Stalled") {
    return { type, status: "True", reason: "UpToDate", message: "The endpoint has every managed value." };
  }
  const { status, generation } = resource;
  const known = conditionOf(status.conditions, type);
  const isKept =
    known?.observedGeneration === generation &&
    (summary.kind === "Ready" || summary.kind === "Progressing") &&
    found.activeSchedule === status.activeSchedule;
  const message = "The operator has no comparison with the control plane that holds now.";
  return isKept ? (known as ConditionDraft) : { type, status: "Unknown", reason: "NotCompared", message };
}
