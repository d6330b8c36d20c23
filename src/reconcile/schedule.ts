/** The step "schedule" of a reconcile: when a resource and its project are due, and how urgent their requests are. */
import type { Policy } from "../decide/observation.ts";
import { pollDelayMs } from "../decide/plan.ts";
import type { Caller } from "../domain/control-plane.ts";
import { type ComputeEndpoint, isBeingDeleted } from "../resource/compute-endpoint.ts";
import { conditionOf, isTrue } from "../resource/conditions.ts";
import { annotations } from "../resource/names.ts";
import type { KindRound } from "./project-kind.ts";
import type { ProjectMemory, ResourceEntry } from "./project-memory.ts";

/**
 * How long the operator waits for a locked project, in milliseconds. After that it sends changes although the control
 * plane may answer 423.
 */
const lockPatienceMs = 60_000;

/**
 * Returns the id of an operation that locks the project, as long as it is better to wait for its end than to try.
 * `undefined`: there is none.
 */
export function lockHolderOf(project: ProjectMemory, nowMs: number): string | undefined {
  for (const [id, sinceMs] of project.lockHolders) {
    if (nowMs - sinceMs < lockPatienceMs) {
      return id;
    }
  }
  return undefined;
}

/**
 * Whether no change should be sent now: an operation locks the project, or the control plane refused a change with 423
 * shortly before.
 */
export function isLocked(project: ProjectMemory, nowMs: number): boolean {
  return lockHolderOf(project, nowMs) !== undefined || nowMs < project.lockedUntilMs;
}

/**
 * Returns the earliest time at which anything in the project is due again. Pure.
 * @returns monotonic milliseconds; infinite if nothing is due.
 */
export function nextDueMs(
  project: ProjectMemory,
  nowMs: number,
  policy: Policy,
  kinds: readonly Pick<KindRound, "isWaiting" | "nextDueMs">[] = [],
): number {
  const entries = [...project.resources.values()];
  const isWaiting = entries.some(({ waiting }) => waiting !== undefined) || kinds.some((kind) => kind.isWaiting());
  const abandonedMs = Math.min(...[...project.abandoned.values()].map(({ retryAtMs }) => retryAtMs));
  const changeMs = isWaiting ? nextChangeMs(project, nowMs, policy) : Number.POSITIVE_INFINITY;
  // During a series of failed reads, only one read at a time is due.
  const lookMs = Math.max(
    Math.min(project.nextPollAtMs, changeMs, abandonedMs),
    project.readFailure?.retryAtMs ?? nowMs,
  );
  const dues = [...entries.map(({ dueAtMs }) => dueAtMs), ...kinds.map((kind) => kind.nextDueMs())];
  return dues.reduce((first, dueAtMs) => Math.min(first, dueAtMs), lookMs);
}

/**
 * Returns when the project is read for the next change. While an operation locks the project, the time counts from the
 * last read, so that other work does not cause more reads.
 */
export function nextChangeMs(project: ProjectMemory, nowMs: number, policy: Policy): number {
  const holder = lockHolderOf(project, nowMs);
  const sinceMs = holder === undefined ? undefined : project.lockHolders.get(holder);
  if (sinceMs === undefined) {
    return Math.max(nowMs, project.lockedUntilMs);
  }
  const lookedAtMs = Math.max(sinceMs, project.operationsReadAtMs);
  return lookedAtMs + pollDelayMs(lookedAtMs - sinceMs, policy);
}

/**
 * Returns the interval of regular polls. With many projects it grows, so that polls stay within their share of the
 * request budget.
 * @param options `pollsPerMinute`: how many projects the request budget lets the operator poll in a minute.
 */
export function pollIntervalMs(options: {
  readonly projectPollMs: number;
  readonly projects: number;
  readonly pollsPerMinute: number;
}): number {
  return Math.max(options.projectPollMs, (options.projects / options.pollsPerMinute) * 60_000);
}

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
 * Makes the caller for reads of the resources of a project that are due. Reads are urgent if one of these resources, of
 * any kind, has unfinished work or a person asked for it. Otherwise they are background requests.
 */
export function callerFor({ project, all, kinds }: RoundResources, due: readonly ComputeEndpoint[]): Caller {
  const urgent = due.find((resource) => isAskedFor(resource) || isAtWork(resource))?.key.namespace;
  const further = kinds.map((kind) => kind.urgentNamespace()).find((namespace) => namespace !== undefined);
  const namespace = urgent ?? further ?? (due[0] ?? all[0])?.key.namespace ?? "";
  const urgency = urgent === undefined && further === undefined ? "Background" : "Urgent";
  return { urgency, namespace, project: project.projectId };
}

/** Whether a resource has unfinished work: it is being deleted, or it is neither Ready nor Stalled. */
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
