/** Computes the conditions of a ComputeEndpoint from the result of one reconcile. */
import { isInFlight } from "../../domain/operation.ts";
import {
  commonSummary,
  conditionsAfter,
  progressing,
  type Summary,
  unchanged,
  type Wording,
  whileDeleting,
} from "../../engine/summary.ts";
import { failureCause } from "../../operations/status-operations.ts";
import { type ConditionDraft, conditionOf } from "../../resource/conditions.ts";
import { annotations } from "../../resource/names.ts";
import type { ComputeEndpointStatus, Condition } from "../../resource/status-schema.ts";
import type { ComparisonDrafts } from "./comparison.ts";
import { deletingMessage, type EndpointStep, waitingMessage } from "./plan.ts";
import { endpointPlan, rulesOf } from "./plan-table.ts";

type FailedActions = NonNullable<ComputeEndpointStatus["failedActions"]>;

export const endpointWording: Wording = {
  deleting: deletingMessage,
  deletionRemedy:
    "To remove this resource without deleting the endpoint, set spec.deletionPolicy to Retain. That works without the control plane.",
};

export function summaryOf(step: EndpointStep): Summary {
  const common = commonSummary(step, endpointWording);
  return whileDeleting(step.facts.resource, withEndpoint(common ?? ownSummary(step), step), endpointWording);
}

/** After an accepted change it has the text of the next reconcile, because another text would cost a second write. */
function ownSummary({ plan: given, outcome, facts }: EndpointStep): Summary {
  const plan = endpointPlan(given);
  if (plan === undefined) {
    return unchanged;
  }
  const started = outcome.kind === "Accepted" ? outcome.answer.operations.filter(isInFlight) : [];
  return started.length > 0 && facts.resource.deletionTimestamp === undefined
    ? progressing("OperationInFlight", waitingMessage(started))
    : rulesOf(plan).summary(plan);
}

/** A paused resource is not Ready if the control plane does not show its endpoint. */
function withEndpoint(summary: Summary, { facts, reads }: EndpointStep): Summary {
  const endpointId = facts.resource.status.ownership?.endpointId;
  const snapshot = reads.project?.snapshot;
  const isMissing = endpointId !== undefined && snapshot !== undefined && !snapshot.endpoints.has(endpointId);
  return summary.kind === "Paused" && isMissing ? { ...summary, remote: "Gone" } : summary;
}

type Beside = Pick<ComputeEndpointStatus, "failedActions"> & { readonly drafts?: ComparisonDrafts };

export function endpointConditions(step: EndpointStep, summary: Summary, beside: Beside): Condition[] {
  const { failedActions = [], drafts = [] } = beside;
  const own = [lastOperationDraft(failedActions), credentialsDraft(step), ...drafts].filter(
    (each) => each !== undefined,
  );
  return conditionsAfter(step.facts, withFailures(summary, failedActions), own);
}

/** A failed operation does not make a matching endpoint unready, but the reason shows the failure in `kubectl get`. */
function withFailures(summary: Summary, failedActions: FailedActions): Summary {
  return summary.kind === "Ready" && failedActions.length > 0
    ? {
        kind: "Ready",
        reason: "OperationFailed",
        message: `${summary.message} An operation failed, see LastOperationSucceeded.`,
      }
    : summary;
}

function lastOperationDraft(failedActions: FailedActions): ConditionDraft {
  const [first] = failedActions;
  const type = "LastOperationSucceeded";
  if (first === undefined) {
    const message = "No operation has failed, or a later one of the same action succeeded.";
    return { type, status: "True", reason: "NoFailure", message };
  }
  const failed = failedActions.map((each) => `${each.action} (operation ${each.operationId})${failureCause(each)}`);
  const message = `Failed: ${failed.join("; ")}. A later success of the same action clears it; to clear it by hand, annotate with ${annotations.acknowledgeOperation}=${first.operationId}.`;
  return { type, status: "False", reason: "OperationFailed", message };
}

/** A 401 makes CredentialsValid False, and a read of the project makes it True. Otherwise it stays as it is. */
function credentialsDraft({ reads, outcome, facts }: EndpointStep): ConditionDraft | undefined {
  const type = "CredentialsValid";
  if (outcome.kind === "Failed" && outcome.error.reason === "Unauthorized") {
    return { type, status: "False", reason: "Unauthorized", message: outcome.error.message };
  }
  if (reads.project !== undefined && outcome.kind !== "Failed") {
    return { type, status: "True", reason: "Accepted", message: "The control plane accepts the API key." };
  }
  return conditionOf(facts.resource.status.conditions, type) as ConditionDraft | undefined;
}
