/** Records of the sandbox's store, for tests of stores. */
import type { OperationRecord, ProjectRecord } from "../../../src/sandbox/engine/records.ts";

/** A project of the paid plan. Its name is its id unless the test gives one. */
export function projectRecord(id: string, given: Partial<ProjectRecord> = {}): ProjectRecord {
  const plain = { regionId: "aws-x", plan: "paid", pgVersion: 18, historyRetentionSeconds: 0 } as const;
  return { id, sequence: 1, name: id, ...plain, createdMs: 0, updatedMs: 0, deletedMs: undefined, ...given };
}

/** A running start of the endpoint `e`. */
export function operationRecord(id: string, given: Partial<OperationRecord> = {}): OperationRecord {
  return {
    id,
    sequence: 1,
    projectId: "p",
    branchId: "b",
    endpointId: "e",
    action: "start_compute",
    status: "running",
    failuresCount: 0,
    error: undefined,
    plannedError: undefined,
    runsAtMs: 0,
    endsAtMs: 0,
    createdMs: 0,
    updatedMs: 0,
    ...given,
  };
}
