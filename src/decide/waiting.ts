import type { Operation } from "../domain/operation.ts";
import type { ComputeEndpointSpec } from "../resource/spec-schema.ts";
import type { Observation } from "./observation.ts";
import type { Plan } from "./plan.ts";
import type { Policy } from "./resource-memory.ts";

const shortestPollMs = 250;

/**
 * The time until the next look at an operation. Most operations end within a second or two, so young ones are read soon.
 *
 * @param ageMs how long this process has known the operation, in monotonic milliseconds.
 */
export function pollDelayMs(ageMs: number, policy: Pick<Policy, "operationPollMs">): number {
  return Math.min(policy.operationPollMs, Math.max(shortestPollMs, ageMs / 2));
}

/** The message of a resource whose change waits, whether this process or a 423 of the control plane holds it back. */
export const waitingForProjectMessage = "Waiting until other changes of the project have ended.";

/** The message while operations run. It is the same whether an answer or the log named them. */
export function waitingMessage(inFlight: readonly Pick<Operation, "action">[]): string {
  const actions = [...new Set(inFlight.map(({ action }) => action))].sort();
  return `Waiting for ${actions.join(", ")} to end.`;
}

/**
 * Waits while another create on the same branch and of the same type is unresolved, where the control plane shows no
 * names: two at once could not tell their endpoints apart.
 */
export function waitForOtherCreate(observation: Observation, spec: ComputeEndpointSpec): Plan | undefined {
  const { project, claims, resource, policy } = observation;
  if (project.echoesNames || claims.unresolvedCreateAt(spec, resource) === undefined) {
    return undefined;
  }
  return {
    kind: "Wait",
    reason: "WaitingForProject",
    message: "Another create on this branch is not resolved yet. This create follows it.",
    waitMs: policy.operationPollMs,
  };
}
