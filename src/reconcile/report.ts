/** The step "report" of a reconcile: metrics, events, log lines and spans. */
import { eventsFor } from "../decide/events-for.ts";
import type { Outcome, ResourceStep } from "../decide/observation.ts";
import type { Plan } from "../decide/plan.ts";
import type { Logger, Tracer } from "../domain/logger.ts";
import type { OperationMetrics } from "../domain/operation.ts";
import type { EventRecorder, ResourceEvent, StoredIdentity } from "../domain/resource-store.ts";
import type { CountedOperation } from "../operations/counting.ts";
import type { OperationLogStep } from "../operations/reduce-operations.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";

/** The maximum number of operation ids in one log line or span. */
const operationIdsLimit = 20;

export interface ReportTargets {
  readonly events: EventRecorder;
  readonly metrics: OperationMetrics;
  readonly logger: Logger;
  /** Records a span for each resource. @default nothing is traced */
  readonly tracer?: Tracer | undefined;
}

export interface StoredStep {
  readonly step: ResourceStep;
  readonly status: ComputeEndpointStatus;
  readonly log: OperationLogStep;
  readonly hasChanged: boolean;
  readonly resourceVersion: string;
}

/**
 * Reports the result for one resource after its status is stored. If the status changed, it publishes events. If the
 * status or the endpoint changed, it writes one log line.
 */
export function reportStep(targets: ReportTargets, { step, status, log, hasChanged }: StoredStep): void {
  const { resource } = step.local;
  if (hasChanged) {
    publish(targets, resource, eventsFor(step, status));
    targets.logger.info(stepFields(step, log.ended), "reconciled: the status changed");
  } else if (step.outcome.kind === "Accepted") {
    targets.logger.info(stepFields(step, log.ended), "reconciled: only the endpoint changed");
  }
}

export function publish(
  { events: recorder }: Pick<ReportTargets, "events">,
  resource: ComputeEndpoint,
  events: readonly ResourceEvent[],
): void {
  for (const event of events) {
    recorder.record(resource, event);
  }
}

export function inResourceSpan<Result>(
  { tracer }: Pick<ReportTargets, "tracer">,
  { key, uid, generation }: ComputeEndpoint,
  work: () => Promise<Result>,
): Promise<Result> {
  if (tracer === undefined) {
    return work();
  }
  const attributes = {
    "k8s.namespace.name": key.namespace,
    "resource.name": key.name,
    "resource.uid": uid,
    "resource.generation": generation,
  };
  return tracer.inSpan("reconcile", attributes, work);
}

export function traceStep({ tracer }: Pick<ReportTargets, "tracer">, { local, plan, outcome }: ResourceStep): void {
  tracer?.annotate({
    "endpoint.id": local.resource.status.ownership?.endpointId,
    "reconcile.plan": plan?.kind,
    "reconcile.outcome": outcome.kind,
    "reconcile.reason": reasonOfStep(plan, outcome),
    "operation.ids": startedBy(outcome),
    "error.type": outcome.kind === "Failed" ? outcome.error.reason : undefined,
  });
}

export function resourceFields({ key, uid, kind }: Pick<StoredIdentity, "key" | "uid" | "kind">) {
  return { namespace: key.namespace, name: key.name, uid, ...(kind !== undefined && { kind }) };
}

export function countedField(ended: readonly CountedOperation[]): { readonly counted?: number } {
  return ended.length === 0 ? {} : { counted: ended.length };
}

/**
 * Returns the log fields of a reconcile's result for one resource. `operationId` is the last operation that its change
 * started, else the last one that ended.
 */
function stepFields({ local, plan, outcome }: ResourceStep, ended: readonly CountedOperation[]) {
  const operationIds = startedBy(outcome) ?? ended.map(({ operationId }) => operationId).slice(0, operationIdsLimit);
  const endpoint = outcome.kind === "Accepted" ? outcome.answer?.endpoint.id : undefined;
  return {
    ...resourceFields(local.resource),
    endpointId: endpoint ?? local.resource.status.ownership?.endpointId,
    operationId: operationIds.at(-1),
    ...(operationIds.length > 1 ? { operationIds } : {}),
    ...countedField(ended),
    plan: plan?.kind,
    outcome: outcome.kind,
    reason: reasonOfStep(plan, outcome),
    ...(outcome.kind === "Failed" ? { error: outcome.error.message } : {}),
  };
}

function startedBy(outcome: Outcome): readonly string[] | undefined {
  const operations = outcome.kind === "Accepted" ? (outcome.answer?.operations ?? []) : [];
  return operations.length === 0 ? undefined : operations.map(({ id }) => id).slice(0, operationIdsLimit);
}

function reasonOfStep(plan: Plan | undefined, outcome: Outcome): string | undefined {
  if (outcome.kind === "Failed") {
    return outcome.error.reason;
  }
  return plan !== undefined && "reason" in plan ? plan.reason : undefined;
}
