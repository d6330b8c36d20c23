import type { ResourceKey } from "./resource-store.ts";

/** Action and status are open strings: an unknown one passes through unchanged. */
export interface Operation {
  readonly id: string;
  readonly projectId: string;
  readonly branchId: string | undefined;
  readonly endpointId: string | undefined;
  readonly action: string;
  readonly status: string;
  readonly failuresCount: number;
  /** RFC 3339 of the control plane's clock. Operations of one request have the same time. */
  readonly createdTime: string;
  /** RFC 3339 of the control plane's clock. It is only a hint for which of two answers is newer. */
  readonly updatedTime: string;
  readonly totalDurationMs: number | undefined;
  readonly error: string | undefined;
}

/** `Unknown`: the operator does not know the status, so it shows the operation and does not wait for it. */
export type OperationOutcome = "InFlight" | "Succeeded" | "Failed" | "Unknown";

/** A call of the operator, also one that sets back a change (`Drift`); the control plane itself; another client. */
export type OperationCause = "SpecChange" | "Drift" | "ControlPlane" | "Other";

const outcomeByStatus: ReadonlyMap<string, OperationOutcome> = new Map([
  ["scheduling", "InFlight"],
  ["running", "InFlight"],
  ["cancelling", "InFlight"],
  ["finished", "Succeeded"],
  ["skipped", "Succeeded"],
  ["failed", "Failed"],
  ["error", "Failed"],
  ["cancelled", "Failed"],
] as const);

/** The public API documents eight statuses (read 2026-08-20); every other one gives `Unknown`. */
export function outcomeOf(operation: Pick<Operation, "status">): OperationOutcome {
  return outcomeByStatus.get(operation.status) ?? "Unknown";
}

export function isInFlight(operation: Pick<Operation, "status">): boolean {
  return outcomeOf(operation) === "InFlight";
}

/** Whether the operation locks its project. Every unfinished operation does, except the availability check. */
export function holdsProjectLock(operation: Pick<Operation, "status" | "action">): boolean {
  return isInFlight(operation) && operation.action !== "check_availability";
}

/** By the control plane's clock; never negative nor too large for an integer of a CRD. `undefined`: unreadable. */
export function durationMsOf({ totalDurationMs, createdTime, updatedTime }: Operation): number | undefined {
  const durationMs = totalDurationMs ?? Date.parse(updatedTime) - Date.parse(createdTime);
  return Number.isFinite(durationMs) ? Math.min(Math.max(0, durationMs), Number.MAX_SAFE_INTEGER) : undefined;
}

/** Compares two operations, newest first. Operations of one request have the same time, so then the id decides. */
export function compareNewestFirst(a: Operation, b: Operation): number {
  const byTime = Date.parse(b.createdTime) - Date.parse(a.createdTime);
  return byTime !== 0 ? byTime : a.id < b.id ? 1 : a.id > b.id ? -1 : 0;
}

export interface AttributedOperation extends Operation {
  readonly cause: OperationCause;
}

export interface OperationsAge {
  /** The control plane, as in the other metrics: `settings`, or the id of the resource that describes it. */
  readonly controlPlane: string;
  readonly projectId: string;
  readonly ageMs: number;
}

type UsageSum = "activeSeconds" | "minUnitSeconds" | "maxUnitSeconds" | "starts";

export type UsageTotals = { readonly sinceTime: string } & Readonly<Record<UsageSum, number>>;

/** Never throws. The caller counts each operation once: it stores the watermark before it calls this. */
export interface OperationMetrics {
  countEnded(operation: AttributedOperation, of: ResourceKey): void;
  /** Some operations were not read. Their ends are not counted. */
  logCutShort(): void;
  /** A read proved that the compute has used this. */
  usageRead(key: ResourceKey, totals: UsageTotals): void;
  forgetResource(key: ResourceKey): void;
}
