import type { EventRecorder } from "../domain/event-recorder.ts";
import { durationMsOf } from "../domain/operation.ts";
import type { OperationMetrics } from "../domain/operation-metrics.ts";
import { eventsFor } from "../plan/events-for.ts";
import type { Pass } from "../plan/pass.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import type { Logger } from "../telemetry/logger.ts";
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
  for (const { operation, outcome, cause } of stored.ended) {
    metrics.countEnded({
      ...resource.key,
      operationId: operation.id,
      action: operation.action,
      outcome: outcome === "Succeeded" ? "succeeded" : "failed",
      cause,
      durationMs: durationMsOf(operation),
    });
  }
  if (!stored.hasChanged) {
    return;
  }
  for (const event of eventsFor(pass, stored.status)) {
    events.record(resource, event);
  }
  logger.info(passFields(pass, stored), "pass changed the status");
}

/** Names the resource in a log line. */
export function resourceFields({ key, uid }: ComputeEndpoint) {
  return { namespace: key.namespace, name: key.name, uid };
}

function passFields({ local, plan, outcome }: Pass, { status }: StoredStep) {
  return {
    ...resourceFields(local.resource),
    endpointId: status.ownership?.endpointId,
    plan: plan?.kind,
    outcome: outcome.kind,
    ...(plan?.kind === "Stall" || plan?.kind === "Wait" ? { reason: plan.reason } : {}),
    ...(outcome.kind === "Failed" ? { reason: outcome.error.reason, error: outcome.error.message } : {}),
  };
}
