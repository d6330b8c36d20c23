/** Computes which request the control plane has accepted last. */
import { isBeingDeleted } from "../resource/compute-endpoint.ts";
import type { Acknowledged } from "../resource/status-schema.ts";
import { desiredChanges, desiredFields, hashOf } from "./desired-endpoint.ts";
import { acknowledge, diffEndpoint } from "./drift.ts";
import type { LocalObservation } from "./observation.ts";
import type { ResourceStep } from "./outcome.ts";
import { entryOf } from "./plan-table.ts";
import { answeredOperations, latestEndpoint } from "./step-results.ts";

/**
 * Returns `status.acknowledged` after a step: the last request that the control plane accepted, or that was not
 * necessary.
 */
export function acknowledgedAfter(step: ResourceStep): Acknowledged | undefined {
  const { plan, outcome, local } = step;
  const previous = local.resource.status.acknowledged;
  if (plan === undefined) {
    return previous;
  }
  const request = entryOf(plan).request(plan, outcome);
  switch (request.kind) {
    case "Accepted":
      return accepted(step, request.hash);
    case "Forgotten":
      return undefined;
    case "Unnecessary":
      return isBeingDeleted(local.resource) ? previous : matched(step);
    case "None":
      return previous;
  }
}

function accepted(step: ResourceStep, hash: string): Acknowledged {
  const { resource, nowMs } = step.local;
  const operationIds = answeredOperations(step).map(({ id }) => id);
  const request = { generation: resource.generation, hash, fields: managedFields(step.local), operationIds };
  return acknowledge(resource.status.acknowledged, request, nowMs);
}

/**
 * Marks the request that spec describes as acknowledged if no managed field of the endpoint shows another value.
 * Otherwise the record stays as it was.
 */
function matched(step: ResourceStep): Acknowledged | undefined {
  const { resource, nowMs } = step.local;
  const previous = resource.status.acknowledged;
  const endpoint = latestEndpoint(step);
  if (resource.spec.kind === "Invalid" || endpoint === undefined) {
    return previous;
  }
  const { spec } = resource.spec;
  if (diffEndpoint(spec, endpoint).differing.length > 0) {
    return previous;
  }
  const { generation } = resource;
  const hash = hashOf(desiredChanges(spec));
  const fields = managedFields(step.local);
  return previous?.hash === hash
    ? { ...previous, generation, fields, unmatchedAttempts: 0 }
    : { generation, hash, fields, attempts: 0, unmatchedAttempts: 0, time: new Date(nowMs).toISOString() };
}

function managedFields({ resource }: LocalObservation): string[] {
  return resource.spec.kind === "Valid" ? desiredFields(resource.spec.spec).map(({ field }) => field) : [];
}
