import type { EventRecorder, ResourceEvent } from "../domain/event-recorder.ts";
import type { Logger } from "../domain/logger.ts";
import { durationMsOf } from "../domain/operation.ts";
import type { OperationMetrics } from "../domain/operation-metrics.ts";
import type { Tracer } from "../domain/tracer.ts";
import type { AttributedOperation } from "../plan/attribute-operations.ts";
import { eventsFor } from "../plan/events-for.ts";
import type { Outcome } from "../plan/outcome.ts";
import type { Pass } from "../plan/pass.ts";
import type { Plan } from "../plan/plan.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import type { StoredStep } from "./store-status.ts";

/** Where a pass is told of. */
export interface ReportTargets {
  readonly events: EventRecorder;
  readonly metrics: OperationMetrics;
  readonly logger: Logger;
}

/** Tells of a pass whose status is stored: counts what ended, publishes transitions, logs one line if it did anything. */
export function reportPass({ events, metrics, logger }: ReportTargets, pass: Pass, stored: StoredStep): void {
  const { resource } = pass.local;
  countEnded(metrics, resource, stored.ended);
  if (stored.hasChanged) {
    tellDropped({ metrics, logger }, resource, stored.dropped);
    publish(events, resource, eventsFor(pass, stored.status));
    logger.info(passFields(pass, stored), "pass changed the status");
  } else if (pass.outcome.kind === "Accepted") {
    logger.info(passFields(pass, stored), "pass changed the endpoint alone");
  }
}

/** Says which operations are waited for no more, as part of the log that nobody has counted. */
export function tellDropped(
  { metrics, logger }: Pick<ReportTargets, "metrics" | "logger">,
  resource: ComputeEndpoint,
  dropped: readonly string[],
): void {
  if (dropped.length > 0) {
    metrics.logCutShort();
    const told = { dropped: dropped.length, operationIds: dropped.slice(0, mostOperations) };
    logger.warn(
      { ...resourceFields(resource), ...told },
      "too many operations have not ended: the oldest were not read to their end and are not counted",
    );
  }
}

/** Publishes events in their order. */
export function publish(recorder: EventRecorder, resource: ComputeEndpoint, events: readonly ResourceEvent[]): void {
  for (const event of events) {
    recorder.record(resource, event);
  }
}

/** Counts what has ended, once that it is counted can no longer be forgotten. */
export function countEnded(
  metrics: OperationMetrics,
  { key }: Pick<ComputeEndpoint, "key">,
  ended: readonly AttributedOperation[],
): void {
  for (const { operation, outcome, cause } of ended) {
    metrics.countEnded({
      ...key,
      operationId: operation.id,
      action: operation.action,
      outcome: outcome === "Succeeded" ? "succeeded" : "failed",
      cause,
      durationMs: durationMsOf(operation),
    });
  }
}

/** A pass on its span, whatever became of its status. */
export function tracePass(tracer: Tracer, { local, plan, outcome }: Pass): void {
  tracer.annotate({
    "resource.uid": local.resource.uid,
    "resource.generation": local.resource.generation,
    "endpoint.id": local.resource.status.ownership?.endpointId,
    "pass.plan": plan?.kind,
    "pass.outcome": outcome.kind,
    "pass.reason": reasonOfPass(plan, outcome),
    "operation.ids": startedBy(outcome),
  });
  if (outcome.kind === "Failed") {
    tracer.fail(outcome.error.reason);
  }
}

/** Names the resource in a log line. */
export function resourceFields({ key, uid }: ComputeEndpoint) {
  return { namespace: key.namespace, name: key.name, uid };
}

/** `operationId` is the one to wait for: the last that this pass started, else the latest that it saw to have ended. */
function passFields({ local, plan, outcome }: Pass, { status, ended }: StoredStep) {
  const operationIds = startedBy(outcome) ?? ended.map(({ operation }) => operation.id).slice(0, mostOperations);
  return {
    ...resourceFields(local.resource),
    endpointId: status.ownership?.endpointId,
    operationId: operationIds.at(-1),
    ...(operationIds.length > 1 ? { operationIds } : {}),
    ...countedField(ended),
    plan: plan?.kind,
    outcome: outcome.kind,
    reason: reasonOfPass(plan, outcome),
    ...(outcome.kind === "Failed" ? { error: outcome.error.message } : {}),
  };
}

/** How many ended operations the metrics rose by; what the log says and what they say is then the same. */
export function countedField(ended: readonly AttributedOperation[]): { readonly counted?: number } {
  return ended.length === 0 ? {} : { counted: ended.length };
}

/** Of one pass; more are not told. */
const mostOperations = 20;

function startedBy(outcome: Outcome): readonly string[] | undefined {
  const operations = outcome.kind === "Accepted" ? (outcome.mutation?.operations ?? []) : [];
  return operations.length === 0 ? undefined : operations.map(({ id }) => id).slice(0, mostOperations);
}

function reasonOfPass(plan: Plan | undefined, outcome: Outcome): string | undefined {
  if (outcome.kind === "Failed") {
    return outcome.error.reason;
  }
  return plan?.kind === "Stall" || plan?.kind === "Wait" ? plan.reason : undefined;
}
