/** Whether `spec.disruption` permits a change that drops connections, and when it next may. Every kind asks here. */
import { begunMs, nextStartMs } from "./recurrence.ts";
import type { ComputeEndpointSpec } from "./spec-schema.ts";

export type DisruptionPolicy = NonNullable<ComputeEndpointSpec["disruption"]>;

/** Whether the policy holds anything back. Without it, every change is sent at once. */
export function isHoldingBack({ when = "Immediately", approval }: DisruptionPolicy = {}): boolean {
  return when !== "Immediately" || approval === "Required";
}

export interface Moment {
  readonly nowMs: number;
  /** Since when the change waits, in epoch milliseconds. */
  readonly sinceMs: number;
  readonly isIdle: boolean;
}

/**
 * Whether the change may be sent now. Approval is not part of it.
 * @returns nextMs when it may next be sent, in epoch milliseconds; Infinity: now, or when the compute is idle
 */
export function timingOf(policy: DisruptionPolicy, { nowMs, sinceMs, isIdle }: Moment) {
  const { when = "Immediately", windows = [], forceAfterSeconds = Infinity } = policy;
  const forceMs = sinceMs + forceAfterSeconds * 1_000;
  const used = when === "InWindow" ? windows : [];
  const isOpen = used.some((window) => begunMs(window, nowMs) !== undefined);
  const isNow = nowMs >= forceMs || when === "Immediately" || isOpen || (when === "WhenIdle" && isIdle);
  const starts = used.map((window) => nextStartMs(window, nowMs) ?? Infinity);
  return { isNow, nextMs: isNow ? Infinity : Math.min(forceMs, ...starts) };
}
