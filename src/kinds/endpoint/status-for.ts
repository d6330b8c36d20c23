/** Computes the status of a resource from the result of one reconcile for it (`EndpointStep`). */
import { pooledHostOf } from "../../domain/endpoint.ts";
import { isSameStored } from "../../domain/same-stored.ts";
import { handledAfter, withoutEmpty } from "../../engine/summary.ts";
import type { OperationLogStep } from "../../operations/reduce-operations.ts";
import { type Acknowledged, acknowledgedIn } from "../../resource/bookkeeping.ts";
import { conditionOf, isTrue } from "../../resource/conditions.ts";
import type { ComputeEndpointSpec } from "../../resource/spec-schema.ts";
import type { ComputeEndpointStatus } from "../../resource/status-schema.ts";
import { isBeingDeleted } from "../../resource/stored-object.ts";
import { comparisonOf } from "./comparison.ts";
import { desiredChanges, desiredFields, diffEndpoint, hashOf, scheduledSpec, sizeText } from "./desired-endpoint.ts";
import { endpointConditions, summaryOf } from "./endpoint-conditions.ts";
import { type EndpointFacts, type EndpointStep, rulingIn } from "./plan.ts";
import { answeredOperations, endpointPlan, latestEndpoint, recordsAfter, rulesOf } from "./plan-table.ts";

/** Equal input gives equal status, so a resource at rest causes no write. */
export function statusFor(step: EndpointStep, log: OperationLogStep): ComputeEndpointStatus {
  const { resource } = step.facts;
  const summary = summaryOf(step);
  const records = recordsAfter(step);
  const own = endpointPlan(step.plan);
  const { operations, failedActions, bookkeeping, usage } = log.state;
  const wanted = resource.spec.kind === "Valid" ? scheduledSpec(resource.spec.spec, step.facts.nowMs) : undefined;
  const comparison = comparisonOf(step, summary, wanted);
  const acknowledged = acknowledgedAfter(step, wanted?.spec);
  const isMissing = step.plan?.kind === "Stall" && step.plan.reason === "AdoptionTargetMissing";
  const isReadyKept = summary.kind === "Unchanged" && isTrue(resource.status.conditions, "Ready");
  const isForgotten = records.ownership === undefined && (resource.status.ownership !== undefined || isMissing);
  const fields = isForgotten ? noEndpoint : endpointFields(step, isReadyKept);
  const { compute } = fields;
  const latest = latestEndpoint(step);
  // Usage is counted up to a change of size together with that size.
  const isSizeKept = compute !== undefined && latest !== undefined && compute.size !== sizeText(latest);
  const status: ComputeEndpointStatus = {
    ...resource.status,
    ...fields,
    ...comparison.fields,
    ...records,
    operations,
    failedActions,
    usage: isSizeKept ? resource.status.usage : usage,
    bookkeeping: withoutEmpty({ ...bookkeeping, acknowledged: acknowledged && JSON.stringify(acknowledged) }),
    ...handledAfter(step, summary),
    ...(own && rulesOf(own).echo(own, step.outcome)),
    conditions: endpointConditions(step, summary, { failedActions, drafts: comparison.drafts }),
  };
  return keepQuietFields(withoutEmpty(status), resource.status, log);
}

const noEndpoint = {
  branchId: undefined,
  host: undefined,
  poolerHost: undefined,
  state: undefined,
  pendingState: undefined,
  compute: undefined,
  lastActiveTime: undefined,
};

function endpointFields(step: EndpointStep, isKept: boolean): Partial<ComputeEndpointStatus> {
  const endpoint = latestEndpoint(step);
  if (endpoint === undefined) {
    return {};
  }
  const { minUnits, maxUnits } = endpoint;
  return {
    branchId: endpoint.branchId,
    host: endpoint.host,
    poolerHost: pooledHostOf(endpoint),
    state: endpoint.state,
    pendingState: endpoint.pendingState,
    // Ready does not say UpToDate beside another size.
    compute: (isKept && step.facts.resource.status.compute) || {
      minUnits,
      maxUnits,
      size: sizeText(endpoint),
      ...maxConnectionsOf(minUnits),
    },
    lastActiveTime: endpoint.lastActiveTime,
  };
}

/**
 * Keeps the stored values of `lastActiveTime`, `usage`, and a watermark that counts nothing new, if nothing else
 * changed. Alone, they are not worth a write. While our own operation runs, state and pendingState are kept too; they are
 * written when it ends.
 */
function keepQuietFields(
  next: ComputeEndpointStatus,
  previous: ComputeEndpointStatus,
  { mustStore }: OperationLogStep,
): ComputeEndpointStatus {
  const isOperationRunning = conditionOf(next.conditions, "Reconciling")?.reason === "OperationInFlight";
  const { operationWatermark } = previous.bookkeeping ?? {};
  const quiet = withoutEmpty({
    ...next,
    lastActiveTime: previous.lastActiveTime,
    usage: previous.usage,
    ...(mustStore ? {} : { bookkeeping: withoutEmpty({ ...next.bookkeeping, operationWatermark }) }),
    ...(isOperationRunning ? { state: previous.state, pendingState: previous.pendingState } : {}),
  });
  return isSameStored(quiet, withoutEmpty(previous)) ? quiet : next;
}

/**
 * The memory of the minimum size, 4 GiB for each unit, divided by 9,531,392 bytes. The number stays the same while the
 * endpoint scales. Above 8 units it is not known.
 * @see https://neon.tech/docs/connect/connection-pooling, "Default connection limits" (an earlier version of it)
 */
function maxConnectionsOf(minUnits: number): { readonly maxConnections?: number } {
  const isKnown = minUnits > 0 && minUnits <= 8;
  return isKnown ? { maxConnections: Math.floor((minUnits * 4 * 2 ** 30) / 9_531_392) } : {};
}

function acknowledgedAfter(step: EndpointStep, wanted: ComputeEndpointSpec | undefined): Acknowledged | undefined {
  const { outcome, facts } = step;
  const plan = endpointPlan(step.plan);
  const previous = acknowledgedIn(facts.resource.status);
  if (plan === undefined) {
    return previous;
  }
  const request = rulesOf(plan).request(plan, outcome);
  switch (request.kind) {
    case "Accepted":
      return accepted(step, request.hash);
    case "Forgotten":
      return undefined;
    case "Unnecessary":
      return isBeingDeleted(facts.resource) ? previous : matched(step, wanted);
    case "None":
      return previous;
  }
}

/** Records an accepted request. Requests with the same values are counted together. */
function accepted(step: EndpointStep, hash: string): Acknowledged {
  const { resource, nowMs } = step.facts;
  const previous = acknowledgedIn(resource.status);
  const row = previous?.hash === hash ? previous : { attempts: 0, unmatchedAttempts: 0 };
  return {
    hash,
    fields: managedFields(step.facts),
    attempts: row.attempts + 1,
    unmatchedAttempts: row.unmatchedAttempts + 1,
    time: new Date(nowMs).toISOString(),
    operationIds: answeredOperations(step).map(({ id }) => id),
  };
}

/**
 * Marks the request that spec describes as acknowledged if no managed field of the endpoint shows another value. If only
 * fields that wait do, the attempts begin anew. Otherwise the record stays as it was.
 */
function matched(step: EndpointStep, spec: ComputeEndpointSpec | undefined): Acknowledged | undefined {
  const { resource, nowMs } = step.facts;
  const previous = acknowledgedIn(resource.status);
  const endpoint = latestEndpoint(step);
  if (spec === undefined || endpoint === undefined) {
    return previous;
  }
  const { held = [] } = rulingIn(step.plan) ?? {};
  const { differing } = diffEndpoint(spec, endpoint);
  if (differing.length > 0) {
    const isSent = differing.some(({ field }) => !held.includes(`spec.${field}`));
    return isSent ? previous : previous && { ...previous, unmatchedAttempts: 0 };
  }
  const hash = hashOf(desiredChanges(spec));
  const fields = managedFields(step.facts);
  return previous?.hash === hash
    ? { ...previous, fields, unmatchedAttempts: 0 }
    : { hash, fields, attempts: 0, unmatchedAttempts: 0, time: new Date(nowMs).toISOString() };
}

function managedFields({ resource }: EndpointFacts): string[] {
  return resource.spec.kind === "Valid" ? desiredFields(resource.spec.spec).map(({ field }) => field) : [];
}
