/** What of a ComputeEndpoint and its step the operation log needs, and what the step shows of the endpoint. */
import type { ObservedEndpoint } from "../../domain/endpoint.ts";
import { type Operation, outcomeOf } from "../../domain/operation.ts";
import { ownPlan, type Reads } from "../../engine/kind.ts";
import type { ProjectReads } from "../../engine/project-reads.ts";
import { type LogSubject, reduceOperations } from "../../operations/reduce-operations.ts";
import { ownershipOf } from "../../resource/identity.ts";
import { annotations } from "../../resource/names.ts";
import type { EndpointFacts, EndpointPlan, EndpointStep, EndpointTypes, OperationFacts } from "./plan.ts";
import { type Records, rulesOf } from "./plan-table.ts";

export function subjectOf(step: EndpointStep): LogSubject {
  const { resource, nowMs: readMs } = step.facts;
  const endpoint = latestEndpoint(step);
  const { plan, facts } = step;
  const observed = plan?.kind === "Observe" ? ownershipOf(facts, plan.endpoint, "Adopted") : undefined;
  // The host of an endpoint has its id.
  const isSame = resource.status.host === endpoint?.host;
  const sizes = [resource.status.compute, readEndpoint(step), endpoint].filter((each) => each !== undefined);
  return {
    ...{ readMs, sizes, endpoint },
    ownership: recordsAfter(step).ownership ?? observed,
    previousOwnership: resource.status.ownership ?? (isSame ? observed : undefined),
    answeredIds: answeredOperations(step).map(({ id }) => id),
    answeredCause: step.plan?.kind === "UpdateEndpoint" && step.plan.isCorrection ? "Drift" : undefined,
    acknowledgedOperationId: resource.annotations[annotations.acknowledgeOperation],
  };
}

export function operationFactsOf(facts: EndpointFacts, project: ProjectReads): OperationFacts {
  const { resource, monotonicMs } = facts;
  const reads: Reads<EndpointTypes> = { project };
  const subject = subjectOf({ facts, reads, plan: undefined, outcome: { kind: "NothingSent" } });
  const { ownInFlight, state } = reduceOperations(resource.status, project.operations, subject);
  const { operations: shown = [] } = state;
  const failed = shown.filter((operation) => outcomeOf(operation) === "Failed");
  const [newest] = shown;
  return {
    ownInFlight,
    inFlightForMs: project.lockedForMs(monotonicMs),
    failedIds: new Set([
      ...failed.map(({ id }) => id),
      ...(state.failedActions ?? []).map(({ operationId }) => operationId),
    ]),
    shown,
    isSuspended: newest?.action === "suspend_compute" && outcomeOf(newest) === "Succeeded",
  };
}

/** `reduceOperations` needs the ownership record before the whole status can be computed. */
export function recordsAfter({ plan, outcome, facts }: EndpointStep): Records {
  const { ownership, createIntent } = facts.resource.status;
  const own = endpointPlan(plan);
  return { ownership, createIntent, ...(own && rulesOf(own).records(own, outcome, facts)) };
}

export function endpointPlan(plan: EndpointStep["plan"]): EndpointPlan | undefined {
  return ownPlan<EndpointPlan>(plan);
}

/**
 * Returns the newest state of the resource's endpoint that a reconcile knows: from our own answer, else from the
 * reads. `undefined`: it saw no endpoint, or its DELETE was accepted.
 */
export function latestEndpoint({ reads, plan, outcome, facts }: EndpointStep): ObservedEndpoint | undefined {
  const own = endpointPlan(plan);
  const shown = own && rulesOf(own).shownEndpoint(own, outcome);
  return shown !== undefined || outcome.kind === "Accepted" ? shown : readEndpoint({ reads, facts });
}

function readEndpoint({ reads, facts }: Pick<EndpointStep, "reads" | "facts">): ObservedEndpoint | undefined {
  const endpointId = facts.resource.status.ownership?.endpointId;
  return endpointId === undefined ? undefined : reads.project?.snapshot?.endpoints.get(endpointId);
}

export function answeredOperations({ outcome, plan, facts }: EndpointStep): readonly Operation[] {
  if (outcome.kind === "Accepted") {
    return outcome.answer.operations;
  }
  const own = endpointPlan(plan);
  return own !== undefined && rulesOf(own).request(own, outcome).kind === "Accepted"
    ? (facts.memory.posts?.answer?.operations ?? [])
    : [];
}
