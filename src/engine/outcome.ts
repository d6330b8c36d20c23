/** What a reconcile that sends nothing leads to, and when a resource is due again. */
import type { Operation } from "../domain/operation.ts";
import { nextReportMs } from "./failures.ts";
import { commonPlan, type Outcome, type ProjectFacts, type Step } from "./kind.ts";
import type { KindResource, KindTypes } from "./kind-types.ts";
import type { FailureRow, ResourceMemory } from "./memory.ts";
import { isAskedFor } from "./schedule.ts";
import { waitReportMs } from "./summary.ts";

/** Returns the failure that holds a change back. A person's edit or request ends the wait. */
export function heldBack(
  resource: KindResource,
  failure: FailureRow | undefined,
  nowMs: number,
): FailureRow | undefined {
  const isHeld = failure?.generation === resource.generation && nowMs < failure.retryAtMs;
  return isHeld && !isAskedFor(resource) ? failure : undefined;
}

export function failedOutcome<T extends KindTypes>(
  failure: FailureRow | undefined,
  nowMs: number,
  lockHolder: Operation | undefined,
): Outcome<T> {
  return failure === undefined
    ? { kind: "NothingSent" }
    : { kind: "Failed", error: failure.error, forMs: nowMs - failure.sinceMs, lockHolder };
}

export function deferredOutcome<T extends KindTypes>(
  { status }: KindResource,
  { waitingSinceMs }: Pick<ResourceMemory<T>, "waitingSinceMs">,
  { monotonicMs, lastChangeMs = 0 }: Pick<ProjectFacts, "monotonicMs" | "lastChangeMs">,
): Outcome<T> {
  const sinceMs = waitingSinceMs ?? monotonicMs;
  // In a burst, a new resource reports its wait only if the changes of the project stop. That saves a write for each.
  const isNew = status.conditions === undefined;
  return { kind: "Deferred", waitedMs: monotonicMs - (isNew ? Math.max(sinceMs, lastChangeMs) : sinceMs) };
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
