/** Keeps the failure of one resource from the others. */
import { backoffMs } from "../domain/clock.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import { PutOffError } from "../domain/leader-fence.ts";
import { reasonOf } from "../domain/logger.ts";
import { boundedRetryAfterMs, KubernetesError } from "../domain/resource-store.ts";
import type { Target } from "./decision.ts";
import type { KindTypes } from "./kind-types.ts";
import { reportRefusedWrite } from "./refused-write.ts";
import { resourceFields } from "./report.ts";

/** The delays after failed writes. A resource that has changed or is gone is decided again almost at once. */
const delays = { movedMs: 5, firstMs: 100, longestMs: 60_000 };

/** Does the work for one resource. A failure makes it due again after a backoff. @returns whether the work succeeded */
export async function guarded<T extends KindTypes>(target: Target<T>, work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    const { context, kind, memory, resource } = target;
    const firstMs = hasMoved(error) ? delays.movedMs : delays.firstMs;
    memory.writeFailures += 1;
    const delayMs = backoffMs(memory.writeFailures, { firstMs, longestMs: delays.longestMs });
    memory.dueAtMs = context.clock.monotonicMs() + Math.max(delayMs, boundedRetryAfterMs(error));
    memory.waitingSinceMs = undefined;
    context.tracer?.annotate({ "error.type": reasonOf(error) });
    const { store } = kind;
    await reportRefusedWrite({ ...context, store }, { resource, isFirst: memory.writeFailures === 1 }, error);
    // A conflict is ordinary. The loss of the lease is logged elsewhere, and throttled requests are counted.
    if (!hasMoved(error) && !(error instanceof PutOffError) && !isThrottled(error)) {
      context.logger.error({ ...resourceFields(resource), err: error }, "reconcile failed; the operator tries again");
    }
    return false;
  }
}

export function hasMoved(error: unknown): boolean {
  return error instanceof KubernetesError && (error.reason === "Conflict" || error.reason === "NotFound");
}

function isThrottled(error: unknown): boolean {
  return error instanceof ControlPlaneError && error.reason === "Throttled";
}
