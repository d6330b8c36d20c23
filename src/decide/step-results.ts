/** Reads from a step which endpoint and which operations it has shown. */
import type { ObservedEndpoint } from "../domain/endpoint.ts";
import type { Operation } from "../domain/operation.ts";
import type { ResourceStep } from "./outcome.ts";
import { entryOf } from "./plan-table.ts";

/**
 * Returns the newest state of the resource's endpoint in a step: from our own answer, else from the snapshot.
 * `undefined`: the step did not see the endpoint.
 */
export function latestEndpoint({ observation, plan, outcome, local }: ResourceStep): ObservedEndpoint | undefined {
  const shown = plan && entryOf(plan).shownEndpoint(plan, outcome);
  if (shown !== undefined || outcome.kind === "Accepted") {
    return shown;
  }
  const endpointId = local.resource.status.ownership?.endpointId;
  if (observation === undefined || endpointId === undefined) {
    return undefined;
  }
  const { endpoints, readsById } = observation.project;
  return readsById.get(endpointId)?.endpoint ?? endpoints.get(endpointId);
}

/** Returns the operations that answers to our own requests named and that status does not hold yet. */
export function answeredOperations({ outcome, plan, local }: ResourceStep): readonly Operation[] {
  if (outcome.kind === "Accepted") {
    return outcome.answer?.operations ?? [];
  }
  return plan !== undefined && entryOf(plan).request(plan, outcome).kind === "Accepted"
    ? (local.memory.answeredCreate?.operations ?? [])
    : [];
}
