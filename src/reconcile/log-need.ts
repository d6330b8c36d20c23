import type { Logger } from "../domain/logger.ts";
import type { OperationMetrics } from "../domain/operation-metrics.ts";
import { isIdentityProven } from "../plan/identity.ts";
import type { Identity } from "../plan/observation.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import type { Ledger } from "./ledger.ts";

/**
 * From when on the log of a project has to be read so that each of its resources finds every operation it has not counted:
 * the oldest watermark of those that this process has not looked at yet, else what their last pass has seen.
 *
 * @param resources of one project.
 * @returns epoch milliseconds of the service's clock; `undefined`: none of them has a log.
 */
export function logNeededSinceMs(
  resources: readonly ComputeEndpoint[],
  ledger: Pick<Ledger, "countedUntilMs">,
  identity: Identity,
): number | undefined {
  const needs = resources.map((resource) => {
    const { ownership, operationWatermark } = resource.status;
    // A resource whose records are not ours never counts, and would have the list read back for ever.
    return ownership === undefined || operationWatermark === undefined || !isIdentityProven(resource, identity)
      ? Number.POSITIVE_INFINITY
      : (ledger.countedUntilMs(resource.uid) ?? Date.parse(operationWatermark.createdTime));
  });
  const oldest = needs.reduce((first, each) => Math.min(first, each), Number.POSITIVE_INFINITY);
  return Number.isFinite(oldest) ? oldest : undefined;
}

/** Makes what tells of a part of a log that was needed and not read. Times are epoch milliseconds of the service's clock. */
export function tellLogGap(logger: Logger, metrics: Pick<OperationMetrics, "logCutShort">) {
  return (projectId: string, { fromMs, untilMs }: { readonly fromMs: number; readonly untilMs: number }): void => {
    metrics.logCutShort();
    const [fromTime, untilTime] = [fromMs, untilMs].map((ms) => new Date(ms).toISOString());
    logger.warn({ projectId, fromTime, untilTime }, "operations of this time were not read and are not counted");
  };
}
