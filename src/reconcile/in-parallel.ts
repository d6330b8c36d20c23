/**
 * Works on several items at the same time, and works for one resource so that its failure does not affect the others.
 */
import { backoffMs, type Clock } from "../domain/clock.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import { PutOffError } from "../domain/leader-fence.ts";
import type { Logger } from "../domain/logger.ts";
import { boundedRetryAfterMs, KubernetesError, type StoredIdentity } from "../domain/resource-store.ts";
import { resourceFields } from "./report.ts";

/**
 * Does the work for each item, at most `limit` items at the same time. If the work for an item fails, the promise is
 * rejected with one of the errors after all begun work has ended. Some items may then be left out.
 */
export async function inParallel<Item>(
  items: readonly Item[],
  limit: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const rest = [...items].reverse();
  const workers = Array.from({ length: Math.min(limit, rest.length) }, async () => {
    for (let item = rest.pop(); item !== undefined; item = rest.pop()) {
      await work(item);
    }
  });
  const results = await Promise.allSettled(workers);
  const failed = results.find((result) => result.status === "rejected");
  if (failed !== undefined) {
    throw failed.reason;
  }
}

/** A resource, the time at which it is due again, and the number of its failures in a row. */
interface Guarded {
  readonly resource: StoredIdentity;
  readonly entry: { dueAtMs: number; storeFailures: number };
}

/**
 * Does the work for one resource. A failure makes this resource due again after a backoff, and does not affect the
 * others. An unexpected failure is logged.
 * @param options `firstMs`: the delay after a first failure. If the resource has changed or is gone, it is 5 ms.
 *   `onFailure`: called after a failure
 */
export async function guarded(
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
  { resource, entry }: Guarded,
  work: () => Promise<void>,
  { firstMs, onFailure }: { readonly firstMs: number; readonly onFailure: (error: unknown) => void },
): Promise<void> {
  try {
    await work();
  } catch (error) {
    entry.storeFailures += 1;
    const delays = { firstMs: hasMoved(error) ? 5 : firstMs, longestMs: 60_000 };
    entry.dueAtMs = clock.monotonicMs() + Math.max(backoffMs(entry.storeFailures, delays), boundedRetryAfterMs(error));
    onFailure(error);
    // A conflict is ordinary. The loss of the lease is logged elsewhere, and throttled requests are counted.
    if (!hasMoved(error) && !(error instanceof PutOffError) && !isThrottled(error)) {
      logger.error({ ...resourceFields(resource), err: error }, "reconcile failed; the operator tries again");
    }
  }
}

/** Whether a write failed because the resource has changed or is gone. */
export function hasMoved(error: unknown): boolean {
  return error instanceof KubernetesError && (error.reason === "Conflict" || error.reason === "NotFound");
}

/** Whether a request failed with 429, or because the request budget had no room in time. */
function isThrottled(error: unknown): boolean {
  return error instanceof ControlPlaneError && error.reason === "Throttled";
}
