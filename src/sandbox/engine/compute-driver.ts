import type { OperationRecord } from "./records.ts";

/**
 * What real data may be asked for beyond branches with their parent's present data: a restore to the present state of a
 * branch, the data of an earlier time, snapshots of a branch, a branch without rows, a deleted project once more.
 */
export type DataAbility = "BranchRestore" | "PastData" | "Snapshots" | "SchemaOnly" | "ProjectRecovery";

/**
 * Carries operations out on real computes. Without a driver, an operation is over as soon as its time has passed.
 *
 * The driver reads what it needs (sizes, settings, roles, databases) from the records at the time of the call.
 */
export interface ComputeDriver {
  /**
   * Does the work of one operation, which runs from now on. Must be safe to repeat: after a restart of the sandbox the
   * engine calls it again for every operation that still runs.
   *
   * @returns when the work is done; for actions without real work, at once.
   * @throws Error: the operation ends as `failed`, with the message as its error.
   */
  carryOut(operation: OperationRecord): Promise<void>;
  /** What the driver can do with data. The engine refuses requests that need anything else with 501. @default nothing */
  readonly abilities?: ReadonlySet<DataAbility>;
  /** Whether clients are connected to the compute. One that is in use is not suspended for inactivity. */
  isInUse(endpointId: string): boolean;
}
