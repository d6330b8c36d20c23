import { isInFlight } from "../domain/operation.ts";
import { isBeingDeleted } from "../resource/compute-endpoint.ts";
import { isTrue, type ProgressReason, type StallReason } from "../resource/conditions.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";
import type { LocalObservation } from "./observation.ts";
import type { Outcome } from "./outcome.ts";
import { assertNever, type Plan } from "./plan.ts";
import { verdictForFailure } from "./verdict-for-failure.ts";
import { waitingMessage } from "./waiting-message.ts";

/** What one pass says about the resource, before it is spelled out in conditions. */
export type Verdict =
  | { readonly kind: "Ready"; readonly message: string }
  | { readonly kind: "Progressing"; readonly reason: ProgressReason; readonly message: string }
  | { readonly kind: "Stalled"; readonly reason: StallReason; readonly message: string }
  | { readonly kind: "Paused"; readonly message: string }
  /** Nothing worth a write has been learnt. */
  | { readonly kind: "Unchanged" };

/**
 * A resource that has said nothing yet need not say that it waits, as long as the others of the project go on one after
 * the other and the wait is no long one: a hundred would otherwise cost a hundred writes that say nothing.
 */
const silentStillMs = 20_000;
const silentWaitMs = 120_000;

/** What a resource has said before may not be true any more. */
const shortWaitMs = 5_000;

/** Sums up a pass. `plan` is absent when a read failed before there was one. Pure. */
export function verdictFor(observation: LocalObservation, plan: Plan | undefined, outcome: Outcome): Verdict {
  if (outcome.kind === "Failed") {
    return verdictForFailure(observation, plan, outcome);
  }
  const isPutOff = outcome.kind === "Deferred" || outcome.kind === "Waiting";
  if (isPutOff && isSilentWait(observation.resource.status, outcome)) {
    return { kind: "Unchanged" };
  }
  if (outcome.kind === "Deferred") {
    return progressing("WaitingForProject", "Waiting until other changes of the project have ended.");
  }
  const started = outcome.kind === "Accepted" ? (outcome.mutation?.operations ?? []).filter(isInFlight) : [];
  if (started.length > 0 && plan?.kind !== "DeleteEndpoint") {
    // The next pass will say just this, so saying anything else now would cost a second write.
    return progressing("OperationInFlight", waitingMessage(started));
  }
  return plan === undefined ? { kind: "Unchanged" } : verdictForPlan(observation, plan);
}

function verdictForPlan(observation: LocalObservation, plan: Plan): Verdict {
  switch (plan.kind) {
    case "AddFinalizer":
    case "RemoveFinalizer":
      return { kind: "Unchanged" };
    case "RecordIntent":
    case "CreateEndpoint":
      return progressing("Creating", "Creating the endpoint.");
    case "CloseIntent":
      return progressing("Creating", "The open create is settled: no endpoint came of it.");
    case "RecordOwnership":
      return plan.ownership.origin === "Created"
        ? progressing("Creating", "The endpoint was created; waiting until it is up.")
        : progressing("Adopting", `Endpoint ${plan.ownership.endpointId} is ours now; comparing it with spec.`);
    case "ForgetEndpoint":
      return progressing("Forgetting", `Endpoint ${plan.endpointId} was deleted by another hand; creating another.`);
    case "UpdateEndpoint":
      return progressing("Updating", "The service accepted the change; waiting until it is done.");
    case "MoveEndpoint":
      return progressing("Moving", `The endpoint is moving to branch ${plan.branchId}.`);
    case "DeleteEndpoint":
      return plan.cause === "Deletion"
        ? progressing("Deleting", "The endpoint is being deleted; waiting for proof that it is gone.")
        : progressing("Retrying", `Deleted ${plan.endpointId}, a second endpoint that a repeated create had made.`);
    case "Wait":
      return plan.reason === "Paused"
        ? { kind: "Paused", message: plan.message }
        : progressing(plan.reason, plan.message);
    case "Settled":
      return isBeingDeleted(observation.resource) ? { kind: "Unchanged" } : ready(plan.unverifiable);
    case "Stall":
      return { kind: "Stalled", reason: plan.reason, message: plan.message };
    default:
      return assertNever(plan);
  }
}

function isSilentWait(
  { conditions }: ComputeEndpointStatus,
  { waitedMs, stillMs }: { readonly waitedMs: number; readonly stillMs: number },
): boolean {
  return conditions === undefined
    ? stillMs < silentStillMs && waitedMs < silentWaitMs
    : waitedMs < shortWaitMs && !isTrue(conditions, "Stalled");
}

function ready(unverifiable: readonly string[]): Verdict {
  const unseen = unverifiable.map((field) => `spec.${field}`).join(", ");
  return {
    kind: "Ready",
    message:
      unseen === ""
        ? "The endpoint matches spec."
        : `The endpoint matches spec. The service accepted ${unseen} and does not show it, so that cannot be verified.`,
  };
}

function progressing(reason: ProgressReason, message: string): Verdict {
  return { kind: "Progressing", reason, message };
}
