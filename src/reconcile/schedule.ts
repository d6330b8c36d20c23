/** The step "schedule" of a reconcile: when a resource and its project are due, and which change comes first. */
import type { FailureRow, Policy } from "../decide/observation.ts";
import { pollDelayMs } from "../decide/plan.ts";
import { isMutation, rulesOf } from "../decide/plan-table.ts";
import { type ComputeEndpoint, isBeingDeleted, noProject } from "../resource/compute-endpoint.ts";
import type { KindRound } from "./ports.ts";
import {
  type ChangeUrgency,
  changeOrder,
  type ProjectMemory,
  type ResourceEntry,
  type WaitingChange,
} from "./project-memory.ts";
import { type Decided, isAskedFor, type Round } from "./round.ts";

/**
 * How long the operator waits for a locked project, in milliseconds. After that it sends changes although the control
 * plane may answer 423.
 */
const lockPatienceMs = 60_000;

/** Returns the id of an operation that has locked the project for less than `lockPatienceMs`. */
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
 * Returns how to read the project in the control plane now.
 * `Poll`: the regular poll is due, and the reconcile decides about every resource of the project. `Part`: only some
 * resources or a waiting change need a read. `undefined`: nothing needs to be read.
 */
export function wantedLook(
  round: Round,
  kinds: readonly KindRound[],
  projectPollMs: number,
): "Poll" | "Part" | undefined {
  const { project, facts } = round;
  const { monotonicMs: nowMs, planeProblem, policy } = facts;
  const isNamed = round.all.length > 0 || kinds.length > 1;
  if (project.projectId === noProject || (!isNamed && project.listedWith === undefined)) {
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
  const isWaiting = kinds.some((kind) => kind.isWaiting());
  const isChangeDue = isWaiting && nextChangeMs(project, nowMs, policy) <= nowMs;
  const isDueOfKind = kinds.map((kind) => kind.chooseDue(isPoll));
  if (isPoll) {
    return "Poll";
  }
  return isChangeDue || isDueOfKind.includes(true) ? "Part" : undefined;
}

/** @returns monotonic milliseconds; infinite if nothing is due */
export function nextDueMs(
  project: ProjectMemory,
  kinds: readonly Pick<KindRound, "isWaiting" | "nextDueMs">[],
  { nowMs, policy }: { readonly nowMs: number; readonly policy: Policy },
): number {
  const isWaiting = kinds.some((kind) => kind.isWaiting());
  const changeMs = isWaiting ? nextChangeMs(project, nowMs, policy) : Number.POSITIVE_INFINITY;
  // During a series of failed reads, only one read at a time is due.
  const lookMs = Math.max(Math.min(project.nextPollAtMs, changeMs), project.readFailure?.retryAtMs ?? nowMs);
  return Math.min(lookMs, ...kinds.map((kind) => kind.nextDueMs()));
}

/**
 * Returns when the project is read for the next change or poll. While an operation locks the project, the time counts
 * from the last read, so that other work does not cause more reads.
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

export function isDue(resource: ComputeEndpoint, entry: ResourceEntry, nowMs: number): boolean {
  return entry.version !== resource.resourceVersion || entry.dueAtMs <= nowMs;
}

/** Whether the resource waits to send its plan: the plan is a change, and no failure holds it back. */
export function isWish(decided: Decided): boolean {
  return isMutation(decided.plan) && heldBack(decided) === undefined;
}

/**
 * Returns the failure that holds a change back; `undefined`: the change may be sent. A failed change waits for its
 * retry time. It does not wait if a person asks for a reconcile or spec has changed. Nor does it wait if the snapshot
 * shows that the cause of a 409 is gone.
 */
export function heldBack({ worked, observation, plan }: Decided): FailureRow | undefined {
  const { failure } = worked.entry.memory;
  if (failure === undefined || isAskedFor(worked.resource)) {
    return undefined;
  }
  const isObstacleGone = failure.error.reason === "Conflict" && rulesOf(plan).isObstacleGone(plan, observation.project);
  const isHeld = failure.generation === worked.resource.generation && observation.monotonicMs < failure.retryAtMs;
  return isHeld && !isObstacleGone ? failure : undefined;
}

export function urgencyOf(resource: ComputeEndpoint): ChangeUrgency {
  if (isBeingDeleted(resource)) {
    return "Deletion";
  }
  return resource.status.createIntent === undefined ? "Other" : "OpenCreate";
}

/**
 * Returns the waiting changes in the order in which they are tried. The reconcile carries out the first change that is
 * still wanted, and no other.
 * | rule | why |
 * |---|---|
 * | deletions come first | other changes may wait for what they free |
 * | then creates whose intent is stored | such a create can delay other creates on its branch |
 * | all other changes come last | |
 * | within each of these kinds, namespaces take turns | a burst of one namespace does not delay another |
 * | within a namespace, the oldest comes first | |
 * @param lastNamespace the namespace of the project's last change; its turn comes last.
 */
export function orderOfChanges<Change extends WaitingChange>(
  waiting: readonly Change[],
  lastNamespace: string | undefined,
): readonly Change[] {
  const lines = changeOrder.map((urgency) => waiting.filter((change) => change.urgency === urgency));
  return lines.flatMap((line) => inRotation(line, lastNamespace));
}

/** One change of each namespace, then the second of each. Within a namespace the oldest change comes first. */
function inRotation<Change extends WaitingChange>(
  line: readonly Change[],
  lastNamespace: string | undefined,
): readonly Change[] {
  const byNamespace = Map.groupBy([...line].sort(byAge), ({ namespace }) => namespace);
  const names = [...byNamespace.keys()].sort();
  const next = lastNamespace === undefined ? 0 : names.findIndex((name) => name > lastNamespace);
  const start = Math.max(0, next);
  return byTurns([...names.slice(start), ...names.slice(0, start)].map((name) => byNamespace.get(name) ?? []));
}

export function byTurns<Item>(groups: readonly (readonly Item[])[]): readonly Item[] {
  const rounds = Math.max(0, ...groups.map((group) => group.length));
  return Array.from({ length: rounds }, (_, round) => groups.flatMap((group) => group.slice(round, round + 1))).flat();
}

function byAge(a: WaitingChange, b: WaitingChange): number {
  return a.sinceMs - b.sinceMs || (a.uid < b.uid ? -1 : 1);
}
