/** Decides for how long a resource waits, and what its message says meanwhile. */
import type { Operation } from "../domain/operation.ts";
import type { ComputeEndpointSpec } from "../resource/spec-schema.ts";
import type { Plan } from "./plan.ts";
import type { Policy } from "./resource-memory.ts";
import type { Observation } from "./resource-step.ts";

const shortestPollMs = 250;

/**
 * Returns the time until an operation is read again. Most operations end within one or two seconds, so a young
 * operation is read soon.
 * @param ageMs how long this process has known the operation, in monotonic milliseconds.
 */
export function pollDelayMs(ageMs: number, policy: Pick<Policy, "operationPollMs">): number {
  return Math.min(policy.operationPollMs, Math.max(shortestPollMs, ageMs / 2));
}

/** The message of a resource whose change waits, either in this process or because the control plane answered 423. */
export const waitingForProjectMessage = "Waiting until other changes of the project have ended.";

/** Returns the message while operations run. It is the same whether an answer or the operation log named them. */
export function waitingMessage(inFlight: readonly Pick<Operation, "action">[]): string {
  const actions = [...new Set(inFlight.map(({ action }) => action))].sort();
  return `Waiting for ${actions.join(", ")} to end.`;
}

/**
 * Waits while another create on the same branch and of the same type is unresolved, if the control plane shows no
 * names. Otherwise the operator could not tell which create made which endpoint.
 */
export function waitForOtherCreate(observation: Observation, spec: ComputeEndpointSpec): Plan | undefined {
  const { project, claims, resource, policy } = observation;
  if (project.echoesNames || claims.unresolvedCreateAt(spec, resource) === undefined) {
    return undefined;
  }
  return {
    kind: "Wait",
    reason: "WaitingForProject",
    message: "The result of another create on this branch is not known yet. The operator sends this create after it.",
    waitMs: policy.operationPollMs,
  };
}
