/**
 * The control plane's own record of one piece of work.
 *
 * Action and status are open strings. About 36 actions and eight statuses are known; an unknown one passes through
 * unchanged.
 */
export interface Operation {
  readonly id: string;
  readonly projectId: string;
  readonly branchId: string | undefined;
  readonly endpointId: string | undefined;
  readonly action: string;
  readonly status: string;
  readonly failuresCount: number;
  /** RFC 3339, the control plane's clock. Operations that one request started share it. */
  readonly createdTime: string;
  /** RFC 3339, the control plane's clock. Only a hint for the order of two answers. */
  readonly updatedTime: string;
  /** Milliseconds as the control plane measured them; `undefined`: it states none. */
  readonly totalDurationMs: number | undefined;
  /** The control plane's text on a failure. */
  readonly error: string | undefined;
}

/** How an operation stands. `Unknown`: the operator does not know the status. It shows it and waits for nothing. */
export type OperationOutcome = "InFlight" | "Succeeded" | "Failed" | "Unknown";

/** What started an operation: a call of the operator, the control plane itself, or a call of another client. */
export type OperationCause = "SpecChange" | "ControlPlane" | "Other";

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

/** How an operation stands, by its status. The public API of the control plane documents these eight (read 2026-08-20). */
export function outcomeOf(operation: Pick<Operation, "status">): OperationOutcome {
  return outcomeByStatus.get(operation.status) ?? "Unknown";
}

/** Whether the control plane still works on the operation. */
export function isInFlight(operation: Pick<Operation, "status">): boolean {
  return outcomeOf(operation) === "InFlight";
}

/** Whether the operation locks its project: every unfinished operation does, apart from the availability check. */
export function holdsProjectLock(operation: Pick<Operation, "status" | "action">): boolean {
  return isInFlight(operation) && operation.action !== "check_availability";
}

/**
 * How long an operation took by the control plane's clock: the stated duration, else updated − created.
 *
 * @returns milliseconds, never negative; `undefined` when neither can be read.
 */
export function durationMsOf({ totalDurationMs, createdTime, updatedTime }: Operation): number | undefined {
  const durationMs = totalDurationMs ?? Date.parse(updatedTime) - Date.parse(createdTime);
  return Number.isFinite(durationMs) ? Math.max(0, durationMs) : undefined;
}

/** Whether one RFC 3339 time is after another. Both are of the control plane's clock. */
export function isLater(a: string, b: string): boolean {
  return Date.parse(a) > Date.parse(b);
}

/** Newest first. Operations of one request share their time, so the id decides between them. */
export function compareNewestFirst(a: Operation, b: Operation): number {
  const byTime = Date.parse(b.createdTime) - Date.parse(a.createdTime);
  return byTime !== 0 ? byTime : a.id < b.id ? 1 : a.id > b.id ? -1 : 0;
}

/** Compares two RFC 3339 times of the control plane's clock, older first. Times that cannot be read compare as equal. */
export function compareServiceTimes(a: string, b: string): number {
  const difference = Date.parse(a) - Date.parse(b);
  return Number.isNaN(difference) ? 0 : difference;
}
