/**
 * The service's own record of one piece of work.
 *
 * Action and status are open strings: about 36 actions and eight statuses are known today, and a new one must pass
 * through unchanged.
 *
 * @see ../shared/seed/control-plane.txt part 2, "Operation"
 */
export interface Operation {
  readonly id: string;
  readonly projectId: string;
  readonly branchId: string | undefined;
  readonly endpointId: string | undefined;
  readonly action: string;
  readonly status: string;
  readonly failuresCount: number;
  /** RFC 3339, the service's clock. Operations started by one request share it. */
  readonly createdTime: string;
  /** RFC 3339, the service's clock. */
  readonly updatedTime: string;
  /** As the service measured it; `undefined` where it does not say. */
  readonly totalDurationMs: number | undefined;
  /** The service's words on a failure. */
  readonly error: string | undefined;
}

/** How an operation stands. `Unknown` is a status we have never seen: shown as it is, and never waited for. */
export type OperationOutcome = "InFlight" | "Succeeded" | "Failed" | "Unknown";

/** Who started an operation: a call of ours, the service itself, or somebody else's call. */
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

/** Reads an operation's status. @see ../shared/design/3-control-plane.md, "operation statuses" */
export function outcomeOf(operation: Pick<Operation, "status">): OperationOutcome {
  return outcomeByStatus.get(operation.status) ?? "Unknown";
}

/** Whether the service is still at work on it, as far as we can tell. */
export function isInFlight(operation: Pick<Operation, "status">): boolean {
  return outcomeOf(operation) === "InFlight";
}

/** Whether it holds the project's lock: all unfinished work does, save the availability check. */
export function holdsProjectLock(operation: Pick<Operation, "status" | "action">): boolean {
  return isInFlight(operation) && operation.action !== "check_availability";
}

/**
 * How long an operation took, from the service's own clock: its stated duration, else updated − created.
 *
 * @returns milliseconds, never negative; `undefined` when the timestamps cannot be read.
 */
export function durationMsOf(operation: Operation): number | undefined {
  if (operation.totalDurationMs !== undefined) {
    return Math.max(0, operation.totalDurationMs);
  }
  const durationMs = Date.parse(operation.updatedTime) - Date.parse(operation.createdTime);
  return Number.isFinite(durationMs) ? Math.max(0, durationMs) : undefined;
}

/** Whether one RFC 3339 time is after another; both are of the service's clock. */
export function isLater(a: string, b: string): boolean {
  return Date.parse(a) > Date.parse(b);
}

/** Newest first; operations of one request share their time, so the id breaks the tie. */
export function compareNewestFirst(a: Operation, b: Operation): number {
  const byTime = Date.parse(b.createdTime) - Date.parse(a.createdTime);
  return byTime !== 0 ? byTime : a.id < b.id ? 1 : a.id > b.id ? -1 : 0;
}

/** Compares two RFC 3339 times of the control plane's clock, older first. Times that cannot be read compare as equal. */
export function compareServiceTimes(a: string, b: string): number {
  const difference = Date.parse(a) - Date.parse(b);
  return Number.isNaN(difference) ? 0 : difference;
}
