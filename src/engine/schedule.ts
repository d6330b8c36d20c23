/** When a project and its resources are due again, and which of the waiting changes comes first. */
import { conditionOf, isTrue } from "../resource/conditions.ts";
import { isBeingDeleted } from "../resource/stored-object.ts";
import { nextReportMs } from "./failures.ts";
import { commonPlan, type KindResource, type KindTypes, type Step } from "./kind.ts";
import type { Policy, ProjectMemory } from "./memory.ts";
import { isLockAwaited } from "./project-reads.ts";
import { waitReportMs } from "./summary.ts";

/** The order in which the changes of a project are sent. */
const order = ["Deletion", "OpenCreate", "Other"] as const;

/** Whether no change should be sent now: an operation locks the project, or a change was refused with 423 before. */
export function isLocked(project: ProjectMemory, nowMs: number): boolean {
  return isLockAwaited(project, nowMs) || nowMs < project.lockedUntilMs;
}

/**
 * Returns when the project is read for the next change. While an operation locks the project, the time counts from the
 * last read, so that other work does not cause more reads.
 */
export function nextChangeMs(project: ProjectMemory, nowMs: number, policy: Policy): number {
  const { lockedSinceMs: sinceMs } = project;
  if (sinceMs === undefined || !isLockAwaited(project, nowMs)) {
    return Math.max(nowMs, project.lockedUntilMs);
  }
  const lookedAtMs = Math.max(sinceMs, project.operationsReadAtMs);
  return lookedAtMs + pollDelayMs(lookedAtMs - sinceMs, policy);
}

/** @returns monotonic milliseconds; infinite if nothing is due */
export function nextDueMs(project: ProjectMemory, nowMs: number, policy: Policy): number {
  const memories = [...project.resources.values()].map(({ memory }) => memory);
  const isWaiting = memories.some(({ waitingSinceMs }) => waitingSinceMs !== undefined);
  const changeMs = isWaiting ? nextChangeMs(project, nowMs, policy) : Number.POSITIVE_INFINITY;
  // During a series of failed reads, only one read at a time is due.
  const lookMs = Math.max(Math.min(project.nextPollAtMs, changeMs), project.readFailure?.retryAtMs ?? nowMs);
  return memories.reduce((first, { dueAtMs }) => Math.min(first, dueAtMs), lookMs);
}

/** @param kindMs the delay that the kind names. @returns monotonic milliseconds; infinite: when something changes */
export function dueAfter<T extends KindTypes>(
  { facts: { resource, memory }, plan: given, outcome }: Step<T>,
  { nowMs, isDue, kindMs }: { readonly nowMs: number; readonly isDue: boolean; readonly kindMs: number | undefined },
): number {
  if (outcome.kind === "Failed") {
    return Math.min(memory.failure?.retryAtMs ?? Infinity, nowMs + nextReportMs(outcome.forMs));
  }
  if (outcome.kind === "Deferred") {
    const leftMs = waitReportMs(resource) - outcome.waitedMs;
    return leftMs > 0 ? nowMs + leftMs : Infinity;
  }
  const plan = commonPlan(given);
  if (plan?.kind === "Idle" && plan.dueInMs === undefined && !isDue) {
    return memory.dueAtMs;
  }
  const planMs = plan?.kind === "Wait" ? plan.waitMs : plan?.kind === "Idle" ? plan.dueInMs : undefined;
  const delayMs = (outcome.kind === "Accepted" ? undefined : planMs) ?? kindMs;
  return delayMs === undefined ? Infinity : nowMs + delayMs;
}

export function isAtWork(resource: KindResource): boolean {
  const { conditions } = resource.status;
  const ready = conditionOf(conditions, "Ready");
  const isAtRest = ready?.status === "True" || ready?.reason === "ChangePending" || isTrue(conditions, "Stalled");
  return isBeingDeleted(resource) || !isAtRest;
}

export interface WaitingChange {
  readonly uid: string;
  readonly namespace: string;
  readonly precedence: (typeof order)[number];
  /** When the resource began to wait, in monotonic milliseconds. */
  readonly sinceMs: number;
}

/**
 * Returns the waiting change that is sent first.
 * | rule | why |
 * |---|---|
 * | deletions come first | other changes may wait for what they free |
 * | then creates whose intent is stored | else each new resource of a locked project would store an intent, and settle after a restart |
 * | all other changes come last | |
 * | within each of these, namespaces take turns | a burst of one namespace does not delay another |
 * | within a namespace, the oldest comes first | |
 * @param lastNamespace the namespace of the project's last change; its turn comes last.
 */
export function firstChange(waiting: readonly WaitingChange[], lastNamespace = ""): WaitingChange | undefined {
  const rankOf = ({ precedence, namespace, sinceMs, uid }: WaitingChange) =>
    // The turn goes through the alphabet: the namespaces after the last one come first.
    [order.indexOf(precedence), Number(namespace <= lastNamespace), namespace, sinceMs, uid] as const;
  return waiting.reduce<WaitingChange | undefined>(
    (first, each) => (first === undefined || isBefore(rankOf(each), rankOf(first)) ? each : first),
    undefined,
  );
}

function isBefore(a: readonly (string | number)[], b: readonly (string | number)[]): boolean {
  const at = a.findIndex((part, index) => part !== b[index]);
  return at >= 0 && (a[at] ?? 0) < (b[at] ?? 0);
}

const shortestPollMs = 250;

/**
 * Returns the time until an operation is read again: half of the time for which it is known, at least 250 ms and at
 * most `operationPollMs`. Most operations end within one or two seconds, so a young operation is read soon.
 * @param ageMs how long this process has known the operation, in monotonic milliseconds.
 */
export function pollDelayMs(ageMs: number, { operationPollMs }: { readonly operationPollMs: number }): number {
  return Math.min(operationPollMs, Math.max(shortestPollMs, ageMs / 2));
}
