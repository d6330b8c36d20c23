/** Computes the conditions of a ComputeEndpoint from the result of one reconcile for it (`ResourceStep`). */
import { isInFlight } from "../domain/operation.ts";
import { type ComputeEndpoint, isBeingDeleted } from "../resource/compute-endpoint.ts";
import {
  type ConditionDraft,
  conditionOf,
  isTrue,
  mergeConditions,
  type ProgressReason,
} from "../resource/conditions.ts";
import { annotations } from "../resource/names.ts";
import type { ComputeEndpointStatus, Condition } from "../resource/status-schema.ts";
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
import type { ConditionSummary, LocalObservation, Outcome, ResourceStep } from "./observation.ts";
import { deletingMessage, type Plan, waitingForProjectMessage, waitingMessage } from "./plan.ts";
import { isMutation, rulesOf } from "./plan-table.ts";
import { remoteStateOf } from "./remote-state.ts";

type FailedActions = NonNullable<ComputeEndpointStatus["failedActions"]>;

/** Returns all conditions after a reconcile. Reconciling and Stalled are present only while they are True. */
export function conditionsFor(
  step: ResourceStep,
  summary: ConditionSummary,
  failedActions: FailedActions,
): Condition[] {
  const { resource, nowMs } = step.local;
  const previous = resource.status.conditions;
  const beside = [lastOperationDraft(failedActions), credentialsDraft(step, previous)].filter(
    (draft) => draft !== undefined,
  );
  if (summary.kind === "Unchanged") {
    const progress = (previous ?? []).filter(({ type }) => ["Ready", "Reconciling", "Stalled"].includes(type));
    const generation = conditionOf(previous, "Ready")?.observedGeneration ?? 0;
    return progress.length === 0
      ? [...(previous ?? [])]
      : [...progress, ...mergeConditions(previous, beside, { generation, nowMs })];
  }
  const drafts = [...progressDrafts(step, summary, failedActions), ...beside];
  return mergeConditions(previous, drafts, { generation: resource.generation, nowMs });
}

function progressDrafts(
  step: ResourceStep,
  summary: Exclude<ConditionSummary, { kind: "Unchanged" }>,
  failedActions: FailedActions,
): readonly ConditionDraft[] {
  const { message } = summary;
  switch (summary.kind) {
    case "Ready":
      return [readyDraft(message, failedActions)];
    case "Progressing":
    case "Stalled":
      return unfinishedDrafts(summary);
    case "Paused":
      return [pausedDraft(step, summary)];
  }
}

export function unfinishedDrafts(summary: {
  readonly kind: "Progressing" | "Stalled";
  readonly reason: ConditionDraft["reason"];
  readonly message: string;
}): readonly ConditionDraft[] {
  const { reason, message } = summary;
  return [
    draft("Ready", "False", reason, message),
    draft(summary.kind === "Stalled" ? "Stalled" : "Reconciling", "True", reason, message),
  ];
}

/**
 * Drafts the Ready condition. A failed operation does not make a matching endpoint unready, but the reason of the
 * condition shows the failure in `kubectl get`.
 */
function readyDraft(message: string, failedActions: FailedActions): ConditionDraft {
  return failedActions.length === 0
    ? draft("Ready", "True", "UpToDate", message)
    : draft("Ready", "True", "OperationFailed", `${message} An operation failed, see LastOperationSucceeded.`);
}

/**
 * Drafts the Ready condition of a paused resource. It is False if the endpoint is gone. It stays True if it was True
 * for the same generation. Otherwise it is Unknown. If this reconcile has read nothing, the result of an earlier read
 * while paused stays.
 */
function pausedDraft(
  { local, observation }: ResourceStep,
  { message, isEndpointGone }: Extract<ConditionSummary, { kind: "Paused" }>,
): ConditionDraft {
  const ready = conditionOf(local.resource.status.conditions, "Ready");
  const isCompared = ready?.observedGeneration === local.resource.generation;
  if (isEndpointGone) {
    return draft("Ready", "False", "Paused", message);
  }
  if (isCompared && ready.reason === "Paused" && observation === undefined) {
    return draft("Ready", ready.status, "Paused", ready.message);
  }
  const isStillReady = isCompared && ready.status === "True" && !isBeingDeleted(local.resource);
  return draft("Ready", isStillReady ? "True" : "Unknown", "Paused", message);
}

function lastOperationDraft(failedActions: FailedActions): ConditionDraft {
  const [first] = failedActions;
  if (first === undefined) {
    const message = "No operation has failed, or a later one of the same action succeeded.";
    return draft("LastOperationSucceeded", "True", "NoFailure", message);
  }
  const message = `Failed: ${failedActions.map(failureText).join("; ")}. A later success of the same action clears it; to clear it by hand, annotate with ${annotations.acknowledgeOperation}=${first.operationId}.`;
  return draft("LastOperationSucceeded", "False", "OperationFailed", message);
}

function failureText({ action, operationId, error }: FailedActions[number]): string {
  return `${action} (operation ${operationId})${error === undefined ? "" : `: ${error.replace(/\.$/, "")}`}`;
}

/**
 * Drafts CredentialsValid: a 401 makes it False, and a snapshot makes it True. In all other cases the condition stays
 * as it is.
 */
function credentialsDraft(
  { observation, outcome }: ResourceStep,
  previous: readonly Condition[] | undefined,
): ConditionDraft | undefined {
  if (outcome.kind === "Failed" && outcome.error.reason === "Unauthorized") {
    return draft("CredentialsValid", "False", "Unauthorized", outcome.error.message);
  }
  if (observation !== undefined) {
    return draft("CredentialsValid", "True", "Accepted", "The control plane accepts the API key.");
  }
  const known = conditionOf(previous, "CredentialsValid");
  return known === undefined ? undefined : (known as ConditionDraft);
}

function draft(
  type: ConditionDraft["type"],
  status: ConditionDraft["status"],
  reason: ConditionDraft["reason"],
  message: string,
): ConditionDraft {
  return { type, status, reason, message };
}

/**
 * Delays, in milliseconds, after which a resource without a status reports that its change waits. `quietStillMs` counts
 * from the project's last accepted change, `quietWaitMs` from the start of the wait. The first delay to pass decides.
 * In a burst of creates, this saves hundreds of status writes.
 */
const quietStillMs = 20_000;
const quietWaitMs = 120_000;

/** How long the change of a resource with a status may wait, in milliseconds, before status reports the wait. */
const shortWaitMs = 5_000;

export function summaryOf(step: ResourceStep): ConditionSummary {
  const { resource } = step.local;
  const summary = summaryOfOutcome(step);
  return summary.kind === "Unchanged" && isBeingDeleted(resource) && isTrue(resource.status.conditions, "Ready")
    ? { kind: "Progressing", reason: "Deleting", message: deletingMessage }
    : summary;
}

function summaryOfOutcome(step: ResourceStep): ConditionSummary {
  const { local, plan, outcome } = step;
  switch (outcome.kind) {
    case "Failed":
      return plan === undefined || isMutation(plan)
        ? summaryOfFailure(local, plan, outcome)
        : rulesOf(plan).summary(plan, local);
    case "Deferred":
      return isQuietWait(local, outcome)
        ? { kind: "Unchanged" }
        : { kind: "Progressing", reason: "WaitingForProject", message: waitingForProjectMessage };
    case "Accepted":
      return summaryOfAccepted(local, plan, outcome);
    case "NothingSent":
      return plan === undefined ? { kind: "Unchanged" } : summaryOfRest(plan, step);
  }
}

/** Uses the text of the next reconcile, because a different text would cost a second write. */
function summaryOfAccepted(
  local: LocalObservation,
  plan: Plan | undefined,
  { answer }: Extract<Outcome, { kind: "Accepted" }>,
): ConditionSummary {
  const started = (answer?.operations ?? []).filter(isInFlight);
  if (started.length > 0 && local.resource.deletionTimestamp === undefined) {
    return { kind: "Progressing", reason: "OperationInFlight", message: waitingMessage(started) };
  }
  return plan === undefined ? { kind: "Unchanged" } : rulesOf(plan).summary(plan, local);
}

/** A paused resource whose endpoint is gone is not Ready. */
function withEndpointGone(
  summary: ConditionSummary,
  { local, observation, isLookPending }: ResourceStep,
): ConditionSummary {
  const endpointId = local.resource.status.ownership?.endpointId;
  if (summary.kind !== "Paused" || endpointId === undefined) {
    return summary;
  }
  if (observation === undefined) {
    return isLookPending === true ? { kind: "Unchanged" } : summary;
  }
  const isGone = remoteStateOf(observation.project, endpointId).kind === "Absent";
  return isGone ? { ...summary, isEndpointGone: true, message: `${summary.message} The endpoint is gone.` } : summary;
}

/** Sums up a plan that sends nothing. A wait for an unresolved create does not end a Stalled of this generation. */
function summaryOfRest(plan: Plan, step: ResourceStep): ConditionSummary {
  const summary = rulesOf(plan).summary(plan, step.local);
  const isWaitForCreate = summary.kind === "Progressing" && summary.reason === "CreateUnresolved";
  const { status, generation } = step.local.resource;
  const isStalled = conditionOf(status.conditions, "Stalled")?.observedGeneration === generation;
  return isWaitForCreate && isStalled ? { kind: "Unchanged" } : withEndpointGone(summary, step);
}

function isQuietWait(local: LocalObservation, { waitedMs, stillMs }: WaitTimes): boolean {
  const { resource } = local;
  const { status } = resource;
  // The wait before a retry does not end a Stalled by a refusal.
  if (failureStallIn(resource) !== undefined) {
    return true;
  }
  return status.conditions === undefined
    ? stillMs < quietStillMs && waitedMs < quietWaitMs
    : waitedMs < shortWaitMs && conditionOf(status.conditions, "Stalled") === undefined;
}

type WaitTimes = Pick<Extract<Outcome, { kind: "Deferred" }>, "waitedMs" | "stillMs">;

export function failureStallIn({ status, generation }: ComputeEndpoint): FailureStall | undefined {
  const { reason = "", observedGeneration } = conditionOf(status.conditions, "Stalled") ?? {};
  return observedGeneration === generation && isFailureStall(reason) ? reason : undefined;
}

type Failed = Extract<Outcome, { kind: "Failed" }>;

/**
 * Sums up a failed call for the conditions. The same failure gives the same text in every reconcile. If refused calls
 * made the resource Stalled, it stays Stalled until a retry succeeds or spec changes. A brief outage leaves a Ready
 * resource as it is.
 */
function summaryOfFailure(local: LocalObservation, plan: Plan | undefined, failed: Failed): ConditionSummary {
  const { error, forMs } = failed;
  const { resource } = local;
  const stall = stallReasonFor(plan, failed);
  const stalled = failureStallIn(resource);
  if (stalled !== undefined && (stall === undefined || stall === stalled || forMs < patienceMs)) {
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

/** `undefined`: the call does not make the resource Stalled. For a 409, some plans have a reason of their own. */
function stallReasonFor(plan: Plan | undefined, { error, forMs }: Failed): FailureStall | undefined {
  const conflictStall = error.reason === "Conflict" && plan !== undefined ? rulesOf(plan).conflictStall : undefined;
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
