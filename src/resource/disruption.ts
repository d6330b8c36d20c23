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
 * @returns nextMs when it may next be sent, in epoch milliseconds; `undefined`: now, or when the compute is idle
 */
export function timingOf(policy: DisruptionPolicy, { nowMs, sinceMs, isIdle }: Moment) {
  const { when = "Immediately", windows = [], forceAfterSeconds = Infinity } = policy;
  const forceMs = sinceMs + forceAfterSeconds * 1_000;
  const isOpen = {
    Immediately: () => true,
    WhenIdle: () => isIdle,
    InWindow: () => windows.some((window) => begunMs(window, nowMs) !== undefined),
  }[when];
  if (nowMs >= forceMs || isOpen()) {
    return { isNow: true, nextMs: undefined };
  }
  const starts = when === "InWindow" ? windows.map((window) => nextStartMs(window, nowMs) ?? Infinity) : [];
  const nextMs = Math.min(forceMs, ...starts);
  return { isNow: false, nextMs: Number.isFinite(nextMs) ? nextMs : undefined };
}
