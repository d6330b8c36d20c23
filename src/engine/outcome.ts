/** What a reconcile that sends nothing leads to, and when a resource is due again. */
import { nextReportMs } from "./failures.ts";
import { commonPlan, type Outcome, type ProjectFacts, type Step } from "./kind.ts";
import type { KindResource, KindTypes } from "./kind-types.ts";
import type { ResourceMemory } from "./memory.ts";
import { waitReportMs } from "./summary.ts";

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
