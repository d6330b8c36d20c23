/** Computes the conditions of a ComputeEndpoint. */
import { type ConditionDraft, conditionOf, mergeConditions } from "../resource/conditions.ts";
import { annotations } from "../resource/names.ts";
import type { ComputeEndpointStatus, Condition } from "../resource/status-schema.ts";
import type { ConditionSummary, ResourceStep } from "./resource-step.ts";

type FailedActions = NonNullable<ComputeEndpointStatus["failedActions"]>;

/** The facts from which the conditions are computed. */
export interface ConditionInput {
  readonly step: ResourceStep;
  readonly summary: ConditionSummary;
  readonly failedActions: FailedActions;
}

/** Returns all conditions after a step. Reconciling and Stalled are present only while they are True. */
export function conditionsFor({ step, summary, failedActions }: ConditionInput): Condition[] {
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

/** Drafts the conditions of a resource of any kind whose work goes on, or for which a person must act. */
export function unfinishedDrafts(summary: {
  readonly kind: "Progressing" | "Stalled";
  readonly reason: ConditionDraft["reason"];
  readonly message: string;
}): readonly ConditionDraft[] {
  const { reason, message } = summary;
  return [
    { type: "Ready", status: "False", reason, message },
    { type: summary.kind === "Stalled" ? "Stalled" : "Reconciling", status: "True", reason, message },
  ];
}

/**
 * Drafts the Ready condition. A failed operation does not make a matching endpoint unready, but its reason shows the
 * failure in `kubectl get`.
 */
function readyDraft(message: string, failedActions: FailedActions): ConditionDraft {
  return failedActions.length === 0
    ? { type: "Ready", status: "True", reason: "UpToDate", message }
    : {
        type: "Ready",
        status: "True",
        reason: "OperationFailed",
        message: `${message} An operation failed, see LastOperationSucceeded.`,
      };
}

/**
 * Drafts the Ready condition of a paused resource. It is False if the endpoint is gone. It stays True if it was True
 * for the same generation. Otherwise it is Unknown. Until the next read, the result of an earlier read while paused
 * stays.
 */
function pausedDraft(
  { local, observation }: ResourceStep,
  { message, isEndpointGone }: Extract<ConditionSummary, { kind: "Paused" }>,
): ConditionDraft {
  const ready = conditionOf(local.resource.status.conditions, "Ready");
  const isCompared = ready?.observedGeneration === local.resource.generation;
  if (isEndpointGone) {
    return { type: "Ready", status: "False", reason: "Paused", message };
  }
  if (isCompared && ready.reason === "Paused" && observation === undefined) {
    return { type: "Ready", status: ready.status, reason: "Paused", message: ready.message };
  }
  return {
    type: "Ready",
    status: isCompared && ready.status === "True" ? "True" : "Unknown",
    reason: "Paused",
    message,
  };
}

function lastOperationDraft(failedActions: FailedActions): ConditionDraft {
  const [first] = failedActions;
  return first === undefined
    ? {
        type: "LastOperationSucceeded",
        status: "True",
        reason: "NoFailure",
        message: "No operation has failed, or a later one of the same action succeeded.",
      }
    : {
        type: "LastOperationSucceeded",
        status: "False",
        reason: "OperationFailed",
        message: `Failed: ${failedActions.map(failureText).join("; ")}. A later success of the same action clears it; to clear it by hand, annotate with ${annotations.acknowledgeOperation}=${first.operationId}.`,
      };
}

function failureText({ action, operationId, error }: FailedActions[number]): string {
  return `${action} (operation ${operationId})${error === undefined ? "" : `: ${error.replace(/\.$/, "")}`}`;
}

/** Drafts CredentialsValid from the calls of this step. Without a call the condition stays as it is. */
function credentialsDraft(
  { observation, outcome }: ResourceStep,
  previous: readonly Condition[] | undefined,
): ConditionDraft | undefined {
  if (outcome.kind === "Failed" && outcome.error.reason === "Unauthorized") {
    return { type: "CredentialsValid", status: "False", reason: "Unauthorized", message: outcome.error.message };
  }
  if (observation !== undefined) {
    return {
      type: "CredentialsValid",
      status: "True",
      reason: "Accepted",
      message: "The control plane accepts the API key.",
    };
  }
  const known = conditionOf(previous, "CredentialsValid");
  return known === undefined ? undefined : (known as ConditionDraft);
}
