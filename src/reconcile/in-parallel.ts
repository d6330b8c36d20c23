/** Works on several items at the same time, and keeps the failure of one resource from the others. */
import { backoffMs } from "../domain/clock.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import { PutOffError } from "../domain/leader-fence.ts";
import type { Logger } from "../domain/logger.ts";
import { boundedRetryAfterMs, KubernetesError } from "../domain/resource-store.ts";
import type { StoredObject } from "../resource/stored-object.ts";
import { type RefusalTargets, reportRefusedWrite } from "./refused-write.ts";
import { resourceFields } from "./report.ts";

/**
 * Does the work for each item. What is scarce is limited where it is: requests to the API server at its connection,
 * requests to a control plane in its budget. If the work for an item fails, the promise is rejected after all work has
 * ended.
 */
export async function inParallel<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const results = await Promise.allSettled(items.map(work));
  const failed = results.find((result) => result.status === "rejected");
  if (failed !== undefined) {
    throw failed.reason;
  }
}

interface Guarded<Resource> {
  resource: Resource;
  readonly entry: { dueAtMs: number; storeFailures: number };
}

/**
 * Does the work for one resource. A failure makes this resource due again after a backoff, and does not affect the
 * others. An unexpected failure is logged. If the API server refuses a write, the status reports it.
 * @param options `firstMs`: the delay after a first failure. If the resource has changed or is gone, it is 5 ms.
 *   `onFailure`: called after a failure
 */
export async function guarded<Resource extends StoredObject & { readonly status: object }>(
  context: RefusalTargets<Resource> & { readonly logger: Logger },
  worked: Guarded<Resource>,
  work: () => Promise<void>,
  { firstMs, onFailure }: { readonly firstMs: number; readonly onFailure: (error: unknown) => void },
): Promise<void> {
  try {
    await work();
  } catch (error) {
    const { clock, logger } = context;
    const { entry } = worked;
    entry.storeFailures += 1;
    const delays = { firstMs: hasMoved(error) ? 5 : firstMs, longestMs: 60_000 };
    entry.dueAtMs = clock.monotonicMs() + Math.max(backoffMs(entry.storeFailures, delays), boundedRetryAfterMs(error));
    const isFirst = entry.storeFailures === 1;
    worked.resource = await reportRefusedWrite(context, { resource: worked.resource, isFirst }, error);
    onFailure(error);
    // A conflict is ordinary. The loss of the lease is logged elsewhere, and throttled requests are counted.
    if (!hasMoved(error) && !(error instanceof PutOffError) && !isThrottled(error)) {
      logger.error({ ...resourceFields(worked.resource), err: error }, "reconcile failed; the operator tries again");
    }
  }
}

export function hasMoved(error: unknown): boolean {
  return error instanceof KubernetesError && (error.reason === "Conflict" || error.reason === "NotFound");
}

function isThrottled(error: unknown): boolean {
  return error instanceof ControlPlaneError && error.reason === "Throttled";
}
