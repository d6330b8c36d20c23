/** The interface through which the code in `computes` reads the sandbox's records. */
import type { BranchRecord, DatabaseRecord, EndpointRecord, RoleRecord, SnapshotRecord } from "../engine/records.ts";

/** The records of the control plane that the computes read, as they are now. */
export interface ComputeRecords {
  endpoint(id: string): EndpointRecord | undefined;
  branch(id: string): BranchRecord | undefined;
  snapshot(id: string): SnapshotRecord | undefined;
  /** Whether the branch exists, or its deleted project can still be recovered. */
  needsData(branchId: string): boolean;
  rolesOf(branchId: string): readonly RoleRecord[];
  databasesOf(branchId: string): readonly DatabaseRecord[];
  endpoints(): readonly EndpointRecord[];
  /** They are active, and no operation starts or suspends their compute. */
  settledActive(): readonly EndpointRecord[];
  isMoving(endpointId: string): boolean;
}
