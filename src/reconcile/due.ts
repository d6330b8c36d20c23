/** Decides whether a resource is due, and how urgent its reads are. */
import type { Caller } from "../domain/control-plane-requests.ts";
import { type ComputeEndpoint, isBeingDeleted } from "../resource/compute-endpoint.ts";
import { conditionOf, isTrue } from "../resource/conditions.ts";
import { annotations } from "../resource/names.ts";
import type { KindRound } from "./project-kind.ts";
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

/** The resources of one reconcile, of every kind. */
interface RoundResources {
  readonly project: { readonly projectId: string };
  readonly all: readonly ComputeEndpoint[];
  readonly kinds: readonly Pick<KindRound, "urgentNamespace">[];
}

/**
 * Makes the caller for reads of the resources of a project that are due. Reads are urgent if a resource of any kind has
 * unfinished work, else they are background requests.
 */
export function callerFor({ project, all, kinds }: RoundResources, due: readonly ComputeEndpoint[]): Caller {
  const urgent = due.find((resource) => isAskedFor(resource) || isAtWork(resource))?.key.namespace;
  const further = kinds.map((kind) => kind.urgentNamespace()).find((namespace) => namespace !== undefined);
  const namespace = urgent ?? further ?? (due[0] ?? all[0])?.key.namespace ?? "";
  const urgency = urgent === undefined && further === undefined ? "Background" : "Urgent";
  return { urgency, namespace, project: project.projectId };
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
