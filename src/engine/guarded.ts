/** Keeps the failure of one resource from the others, and reports that the API server refuses a write of the operator. */
import { backoffMs } from "../domain/clock.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import { PutOffError } from "../domain/leader-fence.ts";
import { reasonOf } from "../domain/logger.ts";
import { boundedRetryAfterMs, KubernetesError, type ResourceStore } from "../domain/resource-store.ts";
import { isSameStored } from "../domain/same-stored.ts";
import { mergeConditions } from "../resource/conditions.ts";
import type { StoredObject } from "../resource/stored-object.ts";
import type { Target } from "./decision.ts";
import type { EngineContext, KindStatus, KindTypes } from "./kind.ts";
import { eventsOfTrouble, resourceFields } from "./report.ts";
import { unfinishedDrafts } from "./summary.ts";

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

type Patching<Resource extends StoredObject> = Pick<ResourceStore<Resource, NonNullable<unknown>>, "patchStatus">;
type Reported = StoredObject & { readonly status: Pick<KindStatus, "observedGeneration" | "conditions"> };

/**
 * Makes the resource Stalled with the API server's text if an error says that the API server refuses a write. If it
 * refuses the status too, the first failure in a row is published as an event.
 * Other errors change nothing.
 */
export async function reportRefusedWrite<Resource extends Reported>(
  { clock, events, store }: Pick<EngineContext, "clock" | "events"> & { readonly store: Patching<Resource> },
  { resource, isFirst }: { readonly resource: Resource; readonly isFirst: boolean },
  error: unknown,
): Promise<void> {
  if (!isRefusedWrite(error)) {
    return;
  }
  const { generation, status: before } = resource;
  const { conditions: former = [] } = before;
  const advice = ". Correct what the API server names. The operator tries again by itself.";
  const message = error.reason === "SecretsForbidden" ? error.message : `${error.message}${advice}`;
  const drafts = unfinishedDrafts({ kind: "Stalled", reason: error.reason, message });
  const others = former.filter(({ type }) => !["Ready", "Reconciling", "Stalled"].includes(type));
  const conditions = [...mergeConditions(former, drafts, { generation, nowMs: clock.nowMs() }), ...others];
  const status = { ...before, observedGeneration: generation, conditions };
  if (isSameStored(status, before)) {
    return;
  }
  try {
    const stored = await store.patchStatus(resource, status);
    for (const event of eventsOfTrouble(former, conditions)) events.record(stored, event);
  } catch {
    // The next try reports it again.
    if (isFirst) for (const event of eventsOfTrouble([], conditions)) events.record(resource, event);
  }
}

const refusals = ["WriteRefused", "SecretRefused", "SecretsForbidden"] as const;

function isRefusedWrite(error: unknown): error is KubernetesError & { reason: (typeof refusals)[number] } {
  return error instanceof KubernetesError && refusals.some((reason) => reason === error.reason);
}
