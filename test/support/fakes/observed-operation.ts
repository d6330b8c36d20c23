import type { Operation } from "../../../src/domain/operation.ts";

/** What each test decides for itself. */
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
