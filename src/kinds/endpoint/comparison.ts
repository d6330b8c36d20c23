/** What status says about the comparison of endpoint and spec: drift, a change that waits, schedules, and InSync. */
import type { Summary } from "../../engine/summary.ts";
import { isObserved } from "../../resource/compute-endpoint.ts";
import { type ConditionDraft, conditionOf, secondsTime } from "../../resource/conditions.ts";
import { annotations } from "../../resource/names.ts";
import { type ComputeEndpointStatus, driftLimit, type PendingChange } from "../../resource/status-schema.ts";
import { isBeingDeleted } from "../../resource/stored-object.ts";
import { diffEndpoint } from "./desired-endpoint.ts";
import { driftOf } from "./drift.ts";
import { endpointPlan, latestEndpoint, recordsAfter } from "./log-subject.ts";
import type { EndpointFacts, EndpointStep } from "./observation.ts";
import { rulingIn } from "./plan.ts";
import { type Scheduled, scheduledSpec } from "./schedules.ts";

/** What spec asks for now; `undefined`: it is invalid. */
export function wantedOf({ resource, nowMs }: EndpointFacts): Scheduled | undefined {
  if (resource.spec.kind === "Invalid") {
    return undefined;
  }
  const { spec } = resource.spec;
  return isObserved(resource) ? { spec, active: undefined, nextMs: undefined } : scheduledSpec(spec, nowMs);
}

/** Members that are `undefined` are removed from status. */
export function comparisonAfter(step: EndpointStep, summary: Summary): Partial<ComputeEndpointStatus> {
  if (!isComparable(step)) {
    return { drift: undefined, pendingChange: undefined, activeSchedule: undefined, nextScheduleTime: undefined };
  }
  const { status, annotations: given } = step.facts.resource;
  const { active, nextMs } = wantedOf(step.facts) ?? {};
  const { drift = status.drift } = isRunning(summary) ? status : (compared(step) ?? {});
  const approval = given[annotations.approveChange];
  const isApprovalUsed = isCarriedOut(step) && approval === rulingIn(endpointPlan(step.plan))?.change?.hash;
  return {
    drift: drift?.slice(0, driftLimit),
    pendingChange: pendingAfter(step),
    activeSchedule: active,
    nextScheduleTime: nextMs === undefined ? undefined : secondsTime(nextMs),
    ...(isApprovalUsed && { lastHandledApproval: approval }),
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
function compared(step: EndpointStep) {
  const { reads, plan, facts } = step;
  const endpoint = latestEndpoint(step);
  const { spec } = wantedOf(facts) ?? {};
  const isRead = endpointPlan(plan) !== undefined || reads.project?.snapshot?.readsById.has(endpoint?.id ?? "");
  return endpoint === undefined || spec === undefined || !isRead
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
  const { wait, change } = rulingIn(endpointPlan(plan)) ?? {};
  return outcome.kind === "Accepted" && wait === undefined && change?.fields.length === 1;
}

/** Absent while the operator cannot say whether anything still waits: Stalled, paused, or without answers. */
function pendingDraft(step: EndpointStep, summary: Summary): ConditionDraft | undefined {
  const type = "ChangePending";
  const ruling = rulingIn(endpointPlan(step.plan));
  const isAtWork = summary.kind === "Progressing" && serving.includes(summary.reason);
  if (!(summary.kind === "Ready" || isAtWork) || pendingAfter(step) === undefined) {
    return undefined;
  }
  return ruling === undefined
    ? (conditionOf(step.facts.resource.status.conditions, type) as ConditionDraft | undefined)
    : ruling.wait && { type, status: "True", reason: ruling.wait.reason, message: ruling.wait.message };
}

const serving: readonly string[] = ["ChangePending", "OperationInFlight", "Updating"];

function inSyncDraft(step: EndpointStep, summary: Summary): ConditionDraft {
  const type = "InSync";
  const { status, generation } = step.facts.resource;
  if (isRunning(summary)) {
    return { type, status: "False", reason: "OperationInFlight", message: "A change has not ended." };
  }
  const { drift, hidden = [] } = compared(step) ?? {};
  if (drift === undefined) {
    const known = conditionOf(status.conditions, type);
    const message = "The operator has not compared this generation with the control plane.";
    return known?.observedGeneration === generation
      ? (known as ConditionDraft)
      : { type, status: "Unknown", reason: "NotCompared", message };
  }
  const pending = (pendingAfter(step)?.fields ?? []).map(({ field }) => field);
  const differing = drift.slice(0, driftLimit).map(({ field }) => field);
  if (differing.length > 0) {
    const reason = differing.every((field) => pending.includes(field)) ? "ChangePending" : "Drift";
    return { type, status: "False", reason, message: `The endpoint differs from spec in ${differing.join(", ")}.` };
  }
  const unseen = hidden.map(({ field }) => `spec.${field}`).join(", ");
  return unseen === ""
    ? { type, status: "True", reason: "UpToDate", message: "The endpoint has every managed value." }
    : { type, status: "Unknown", reason: "NotShown", message: `The control plane does not show ${unseen}.` };
}

/** ChangePending and InSync. While the other conditions stay as they are, so do these. */
export function comparisonDrafts(step: EndpointStep, summary: Summary): readonly ConditionDraft[] {
  const { conditions } = step.facts.resource.status;
  const kept = [conditionOf(conditions, "ChangePending"), conditionOf(conditions, "InSync")] as ConditionDraft[];
  const own = isComparable(step) ? [pendingDraft(step, summary), inSyncDraft(step, summary)] : [];
  return (summary.kind === "Unchanged" ? kept : own).filter((draft) => draft !== undefined);
}
