/** Makes Kubernetes events. */
import type { ResourceEvent } from "../domain/resource-store.ts";
import { conditionOf } from "../resource/conditions.ts";
import type { Condition } from "../resource/status-schema.ts";

/** Makes an event of type Normal: no person needs to act. */
export function normal(reason: string, action: string, note: string): ResourceEvent {
  return { type: "Normal", reason, action, note };
}

/** Makes an event of type Warning: a person should read it. */
export function warning(reason: string, action: string, note: string): ResourceEvent {
  return { type: "Warning", reason, action, note };
}

/** Returns the event of a resource that became Stalled, or Stalled for another reason. Pure. */
export function eventsOfStall(
  before: readonly Condition[] | undefined,
  next: readonly Condition[] | undefined,
): readonly ResourceEvent[] {
  const stalled = conditionOf(next, "Stalled");
  const isNews = stalled !== undefined && conditionOf(before, "Stalled")?.reason !== stalled.reason;
  return isNews ? [warning(stalled.reason, "Reconcile", stalled.message)] : [];
}
