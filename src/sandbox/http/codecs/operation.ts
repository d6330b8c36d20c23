/** Shows operations in answers. */
import type { Profile } from "../../engine/profile.ts";
import type { OperationRecord } from "../../engine/records.ts";
import { extras, stamps } from "./codec.ts";

export function operationView(record: OperationRecord, { operationExtras }: Profile) {
  const { id, projectId, branchId, endpointId, action, status, failuresCount, createdMs, updatedMs, error } = record;
  return {
    id,
    project_id: projectId,
    branch_id: branchId,
    endpoint_id: endpointId,
    action,
    status,
    failures_count: failuresCount,
    ...stamps(record),
    ...extras(operationExtras, { total_duration_ms: updatedMs - createdMs, error }),
  };
}

export function operationViews(records: readonly OperationRecord[], profile: Profile) {
  return records.map((record) => operationView(record, profile));
}
