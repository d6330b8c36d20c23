import type { Caller } from "../domain/request-budget.ts";
import { type ComputeEndpoint, isBeingDeleted } from "../resource/compute-endpoint.ts";
import { conditionOf, isTrue } from "../resource/conditions.ts";
import { annotations } from "../resource/names.ts";
import type { ResourceEntry } from "./project-memory.ts";

/** Whether a resource has to be looked at: it changed since its last step, or its time has come. */
export function isDue(resource: ComputeEndpoint, entry: ResourceEntry, nowMs: number): boolean {
  return entry.version !== resource.resourceVersion || entry.dueAtMs <= nowMs;
}

/** Whether a person asked for a reconcile, or changed spec, since the last step that was stored. */
export function isAskedFor({ annotations: given, generation, status }: ComputeEndpoint): boolean {
  const requested = given[annotations.reconcileRequestedAt];
  return generation !== status.observedGeneration || (requested ?? "") !== (status.lastHandledReconcileAt ?? "");
}

/** What the reads for these resources are for: an unfinished change is urgent, and everything at rest is background. */
export function callerFor(due: readonly ComputeEndpoint[], all: readonly ComputeEndpoint[]): Caller {
  const urgent = due.find((resource) => isAskedFor(resource) || isAtWork(resource));
  const namespace = (urgent ?? due[0] ?? all[0])?.key.namespace ?? "";
  return { urgency: urgent === undefined ? "Background" : "Urgent", namespace };
}

/** Neither settled nor Stalled. */
function isAtWork(resource: ComputeEndpoint): boolean {
  const { conditions } = resource.status;
  return isBeingDeleted(resource) || (!isTrue(conditions, "Ready") && !isTrue(conditions, "Stalled"));
}

/** Stalls that end when another resource of the project changes. */
const stallsByOthers: readonly string[] = ["ClaimedByAnother", "BranchOccupied", "EndpointExists", "OwnershipConflict"];

/** Whether the resource waits for another resource of its project to give way. */
export function waitsForOthers({ status }: ComputeEndpoint): boolean {
  return stallsByOthers.includes(conditionOf(status.conditions, "Stalled")?.reason ?? "");
}
