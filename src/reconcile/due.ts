import type { Caller } from "../domain/request-budget.ts";
import { type ComputeEndpoint, isBeingDeleted } from "../resource/compute-endpoint.ts";
import { conditionOf, isTrue } from "../resource/conditions.ts";
import { annotations } from "../resource/names.ts";
import type { ResourceEntry } from "./project-memory.ts";

/**
 * Whether a resource must be reconciled with the control plane: it changed since its last step, or its time has come.
 */
export function isDue(resource: ComputeEndpoint, entry: ResourceEntry, nowMs: number): boolean {
  return entry.version !== resource.resourceVersion || entry.dueAtMs <= nowMs;
}

/** Whether a person asked for a reconcile, or changed spec, since the last stored step. */
export function isAskedFor({ annotations: given, generation, status }: ComputeEndpoint): boolean {
  const requested = given[annotations.reconcileRequestedAt];
  return generation !== status.observedGeneration || (requested ?? "") !== (status.lastHandledReconcileAt ?? "");
}

/**
 * Makes the caller for reads of these resources. Reads are urgent if a resource has unfinished work, else they are
 * background requests.
 */
export function callerFor(due: readonly ComputeEndpoint[], all: readonly ComputeEndpoint[]): Caller {
  const urgent = due.find((resource) => isAskedFor(resource) || isAtWork(resource));
  const namespace = (urgent ?? due[0] ?? all[0])?.key.namespace ?? "";
  return { urgency: urgent === undefined ? "Background" : "Urgent", namespace };
}

/** Whether a resource has unfinished work: it is neither settled nor Stalled. */
function isAtWork(resource: ComputeEndpoint): boolean {
  const { conditions } = resource.status;
  return isBeingDeleted(resource) || (!isTrue(conditions, "Ready") && !isTrue(conditions, "Stalled"));
}

/** Stalled reasons that can end when another resource of the project changes. */
const stallsByOthers: readonly string[] = ["ClaimedByAnother", "BranchOccupied", "EndpointExists", "OwnershipConflict"];

/** Whether the resource waits for a change of another resource of its project. */
export function waitsForOthers({ status }: ComputeEndpoint): boolean {
  return stallsByOthers.includes(conditionOf(status.conditions, "Stalled")?.reason ?? "");
}
