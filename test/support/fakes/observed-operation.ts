/** Makes operations for tests. */
import type { Operation } from "../../../src/domain/operation.ts";

/** The fields that each test must set. */
type Given = Partial<Operation> & Pick<Operation, "id" | "projectId" | "branchId" | "createdTime">;

/** An operation as the control plane reports it: a start that has finished. It has no endpoint unless the test names one. */
export function observedOperation(given: Given): Operation {
  return {
    endpointId: undefined,
    action: "start_compute",
    status: "finished",
    failuresCount: 0,
    updatedTime: given.createdTime,
    totalDurationMs: undefined,
    error: undefined,
    ...given,
  };
}
