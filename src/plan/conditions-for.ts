import { type ConditionDraft, conditionOf, mergeConditions } from "../resource/conditions.ts";
import type { Condition } from "../resource/status-schema.ts";
import type { FailedAction } from "./failed-actions.ts";
import type { Pass } from "./pass.ts";
import type { Verdict } from "./verdict.ts";

/** What the conditions are made from. */
export interface ConditionInput {
  readonly pass: Pass;
  readonly verdict: Verdict;
  readonly failedActions: readonly FailedAction[];
}

/** All conditions after a pass. Reconciling and Stalled are present only while they are True. */
export function conditionsFor({ pass, verdict, failedActions }: ConditionInput): Condition[] {
  const { resource, nowMs } = pass.local;
  const previous = resource.status.conditions;
  const drafts = [
    ...progressDrafts({ pass, verdict, failedActions }),
    lastOperationDraft(failedActions),
    credentialsDraft(pass, previous),
  ].filter((draft) => draft !== undefined);
  if (verdict.kind === "Unchanged") {
    return keepProgress(previous, mergeConditions(previous, drafts, { generation: generationOf(previous), nowMs }));
  }
  return mergeConditions(previous, drafts, { generation: resource.generation, nowMs });
}

function progressDrafts({ verdict, pass, failedActions }: ConditionInput): readonly ConditionDraft[] {
  switch (verdict.kind) {
    case "Unchanged":
      return [];
    case "Ready":
      return [readyDraft(verdict.message, failedActions)];
    case "Progressing":
      return [
        { ...verdict, type: "Ready", status: "False" },
        { ...verdict, type: "Reconciling", status: "True" },
      ].map(withoutKind);
    case "Stalled":
      return [
        { ...verdict, type: "Ready", status: "False" },
        { ...verdict, type: "Stalled", status: "True" },
      ].map(withoutKind);
    case "Paused":
      return [{ type: "Ready", status: pausedReady(pass), reason: "Paused", message: verdict.message }];
  }
}

/** A failure does not make a matching endpoint unready, but whoever lists the resources must see it. */
function readyDraft(message: string, failedActions: readonly FailedAction[]): ConditionDraft {
  return failedActions.length === 0
    ? { type: "Ready", status: "True", reason: "UpToDate", message }
    : {
        type: "Ready",
        status: "True",
        reason: "OperationFailed",
        message: `${message} An operation failed, see LastOperationSucceeded.`,
      };
}

function withoutKind({ type, status, reason, message }: Record<"type" | "status" | "reason" | "message", string>) {
  return { type, status, reason, message } as ConditionDraft;
}

/** A pause does not undo what was compared for this generation; of a newer one nothing is known. */
function pausedReady({ local }: Pass): "True" | "Unknown" {
  const ready = conditionOf(local.resource.status.conditions, "Ready");
  return ready?.status === "True" && ready.observedGeneration === local.resource.generation ? "True" : "Unknown";
}

function lastOperationDraft(failedActions: readonly FailedAction[]): ConditionDraft {
  const [first] = failedActions;
  return first === undefined
    ? {
        type: "LastOperationSucceeded",
        status: "True",
        reason: "NoFailure",
        message: "No operation has failed, or a later one of the same kind succeeded.",
      }
    : {
        type: "LastOperationSucceeded",
        status: "False",
        reason: "OperationFailed",
        message: `Failed: ${failedActions.map(failureText).join("; ")}. A later success of the same action clears it; to clear it by hand, annotate with endpoint-operator.dev/acknowledge-operation=${first.operationId}.`,
      };
}

function failureText({ action, operationId, error }: FailedAction): string {
  return `${action} (operation ${operationId})${error === undefined ? "" : `: ${error.replace(/\.$/, "")}`}`;
}

/** Says nothing new when this pass made no call. */
function credentialsDraft(
  { observation, outcome }: Pass,
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
      message: "The service accepts the API key.",
    };
  }
  const known = conditionOf(previous, "CredentialsValid");
  return known === undefined ? undefined : (known as ConditionDraft);
}

/** Ready, Reconciling and Stalled stay as they were; they come first, as always. */
function keepProgress(previous: readonly Condition[] | undefined, others: Condition[]): Condition[] {
  const progress = (previous ?? []).filter(({ type }) => ["Ready", "Reconciling", "Stalled"].includes(type));
  return progress.length === 0 ? [...(previous ?? [])] : [...progress, ...others];
}

function generationOf(previous: readonly Condition[] | undefined): number {
  return conditionOf(previous, "Ready")?.observedGeneration ?? 0;
}
