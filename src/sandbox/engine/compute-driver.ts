/** The interface between the engine and the program that does the real work of operations. */
import type { ClockAnchor } from "./clock.ts";
import type { OperationRecord } from "./records.ts";

/**
 * Does the real work of operations, such as starting a PostgreSQL server. Without a driver, an operation ends when its
 * planned time has passed.
 * The driver reads sizes, settings, roles and databases from the records at the time of the call.
 */
export interface ComputeDriver {
  /**
   * Does the work of one operation that has begun to run. It must be safe to repeat: after a restart of the sandbox,
   * the engine calls it again for every running operation.
   * @returns a promise that resolves when the work is done, at once for actions without real work.
   * If the promise rejects, the operation ends as `failed`, with the message of the rejection as its error.
   */
  carryOut(operation: OperationRecord): Promise<void>;
  /** From these changes, the driver can find the data of an earlier sandbox time. */
  noteClock?(anchor: ClockAnchor): void;
  /**
   * Returns why the data that a branch had at a time cannot be recovered.
   * @param timeMs epoch milliseconds of the sandbox's clock, not in the future.
   * @returns a message for the client; `undefined`: the data can be recovered.
   */
  pastProblem?(branchId: string, timeMs: number): string | undefined;
  /** Whether clients are connected. If so, the compute is not suspended for inactivity. */
  isInUse(endpointId: string): boolean;
}
