import type { BranchRecord, DatabaseRecord, EndpointRecord, RoleRecord, SnapshotRecord } from "../engine/records.ts";

/** What the computes read of the control plane's records, as they are now. */
export interface ComputeRecords {
  endpoint(id: string): EndpointRecord | undefined;
  branch(id: string): BranchRecord | undefined;
  snapshot(id: string): SnapshotRecord | undefined;
  /** Whether the branch is there, or comes back when its deleted project is recovered. */
  needsData(branchId: string): boolean;
  rolesOf(branchId: string): readonly RoleRecord[];
  databasesOf(branchId: string): readonly DatabaseRecord[];
  /** Every endpoint. */
  endpoints(): readonly EndpointRecord[];
  /** Endpoints whose compute should run, because they are active and no operation moves them. */
  settledActive(): readonly EndpointRecord[];
  /** Whether an operation starts or suspends the compute. */
  isMoving(endpointId: string): boolean;
  /** Ends when every change so far will outlive the process; `undefined`: it will. */
  written(): Promise<void> | undefined;
}
