/** The step "schedule" of a reconcile: when a resource and its project are due, and which change comes first. */
import type { Policy } from "../decide/observation.ts";
import { pollDelayMs } from "../decide/plan.ts";
import { type ComputeEndpoint, noProject } from "../resource/compute-endpoint.ts";
import type { KindRound } from "./ports.ts";
import { changeOrder, type ProjectMemory, type ResourceEntry, type WaitingChange } from "./project-memory.ts";
import type { Round, WorkedResource } from "./round.ts";

/**
 * How long the operator waits for a locked project, in milliseconds. After that it sends changes although the control
 * plane may answer 423.
 */
const lockPatienceMs = 60_000;

/**
 * Returns the id of an operation that has locked the project for less than `lockPatienceMs`. `undefined`: there is
 * none.
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
 * A resource that is due within this many milliseconds is reconciled together with those that are due now. So the
 * project is not read twice.
 */
const dueSoonMs = 250;

/** What one reconcile wants to read of the control plane. */
export interface WantedLook {
  readonly due: readonly WorkedResource[];
  /** True: the regular poll is due, and the reconcile decides about every resource of the project. */
  readonly isPoll: boolean;
}

/** Returns what to read of the control plane now; `undefined`: nothing needs to be read. */
export function wantedLook(round: Round, projectPollMs: number): WantedLook | undefined {
  const { project, facts } = round;
  const { monotonicMs: nowMs, planeProblem, policy } = facts;
  if (project.projectId === noProject) {
    return undefined;
  }
  if (planeProblem !== undefined || round.isUngranted()) {
    // The operator does not poll a project that it cannot read, or for which no namespace has a grant.
    project.nextPollAtMs = Math.max(project.nextPollAtMs, nowMs + projectPollMs);
  }
  if (planeProblem !== undefined) {
    return undefined;
  }
  const isPoll = project.nextPollAtMs <= nowMs;
  const lookable = round.lookable();
  const dueBy = (timeMs: number) => lookable.filter(({ resource, entry }) => isPoll || isDue(resource, entry, timeMs));
  const isChangeDue = round.isWaiting() && nextChangeMs(project, nowMs, policy) <= nowMs;
  const isAbandonedDue = project.lockedUntilMs <= nowMs && nextAbandonedMs(project) <= nowMs;
  const isKindDue = round.kinds.some((kind) => kind.wantsLook());
  const isLookDue = isPoll || isChangeDue || isAbandonedDue || isKindDue || dueBy(nowMs).length > 0;
  return isLookDue ? { due: dueBy(nowMs + dueSoonMs), isPoll } : undefined;
}

/** Returns when the next try to delete an endpoint of a resource that is gone is due; infinite if there is none. */
function nextAbandonedMs({ abandoned }: ProjectMemory): number {
  return Math.min(...[...abandoned.values()].map(({ retryAtMs }) => retryAtMs));
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
  const changeMs = isWaiting ? nextChangeMs(project, nowMs, policy) : Number.POSITIVE_INFINITY;
  // During a series of failed reads, only one read at a time is due.
  const lookMs = Math.max(
    Math.min(project.nextPollAtMs, changeMs, nextAbandonedMs(project)),
    project.readFailure?.retryAtMs ?? nowMs,
  );
  const dues = [...entries.map(({ dueAtMs }) => dueAtMs), ...kinds.map((kind) => kind.nextDueMs())];
  return dues.reduce((first, dueAtMs) => Math.min(first, dueAtMs), lookMs);
}

/**
 * Returns when the project is read for the next change. While an operation locks the project, the time counts from the
 * last read, so that other work does not cause more reads.
 */
function nextChangeMs(project: ProjectMemory, nowMs: number, policy: Policy): number {
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
 * Whether a resource must be decided again: it changed since its last step, or its time has come.
 */
export function isDue(resource: ComputeEndpoint, entry: ResourceEntry, nowMs: number): boolean {
  return entry.version !== resource.resourceVersion || entry.dueAtMs <= nowMs;
}

/**
 * Returns the uids of waiting resources in the order in which their changes are tried. The reconcile carries out the
 * first change that is still wanted, and no other.
 * | rule | why |
 * |---|---|
 * | deletions come first | other changes may wait for what they free |
 * | then creates whose intent is stored | such a create can delay other creates on its branch |
 * | all other changes come last | |
 * | within each of these kinds, namespaces take turns | a burst of one namespace does not delay another |
 * | within a namespace, the oldest comes first | |
 * @param lastNamespace the namespace of the project's last change; its turn comes last.
 */
export function orderOfChanges(
  waiting: readonly WaitingChange[],
  lastNamespace: string | undefined,
): readonly string[] {
  const lines = changeOrder.map((urgency) => waiting.filter((change) => change.urgency === urgency));
  return lines.flatMap((line) => inRotation(line, lastNamespace)).map(({ uid }) => uid);
}

/**
 * Orders changes so that namespaces take turns: one change of each namespace, then the second of each. Within a
 * namespace the oldest change comes first.
 */
function inRotation(line: readonly WaitingChange[], lastNamespace: string | undefined): readonly WaitingChange[] {
  const byNamespace = Map.groupBy([...line].sort(byAge), ({ namespace }) => namespace);
  const names = [...byNamespace.keys()].sort();
  const next = lastNamespace === undefined ? 0 : names.findIndex((name) => name > lastNamespace);
  const start = Math.max(0, next);
  const turns = [...names.slice(start), ...names.slice(0, start)].map((name) => byNamespace.get(name) ?? []);
  const rounds = Math.max(0, ...turns.map((changes) => changes.length));
  return Array.from({ length: rounds }, (_, round) => turns.flatMap((changes) => changes[round] ?? [])).flat();
}

function byAge(a: WaitingChange, b: WaitingChange): number {
  return a.sinceMs - b.sinceMs || (a.uid < b.uid ? -1 : 1);
}
