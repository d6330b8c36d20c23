/** Reports in status that the API server refuses a write of the operator, for resources of every kind. */
import { KubernetesError, type ResourceStore } from "../domain/resource-store.ts";
import { isSameStored } from "../domain/same-stored.ts";
import { mergeConditions } from "../resource/conditions.ts";
import type { StoredObject } from "../resource/stored-object.ts";
import type { EngineContext } from "./context.ts";
import type { KindStatus } from "./kind-types.ts";
import { eventsOfTrouble } from "./report.ts";
import { unfinishedDrafts } from "./summary.ts";

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
  const message = `${error.message}. Correct what the API server names. The operator tries again by itself.`;
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

function isRefusedWrite(error: unknown): error is KubernetesError & { reason: "WriteRefused" | "SecretRefused" } {
  return error instanceof KubernetesError && (error.reason === "WriteRefused" || error.reason === "SecretRefused");
}
