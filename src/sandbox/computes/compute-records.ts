/** The sandbox's records as the computes read them. */
import type { OperationRecord } from "../engine/records.ts";
import type { Store } from "../engine/store.ts";

export type ComputeRecords = ReturnType<typeof computeRecords>;

/** The records that the computes read, as they are now. */
export function computeRecords(store: Store) {
  const { endpoints, branches, snapshots, roles, databases, operations, trash } = store;
  const isMoving = (id: string): boolean => [...operations.unfinishedOfEndpoint(id)].some(movesCompute);
  return {
    endpoint: (id: string) => endpoints.get(id),
    branch: (id: string) => branches.get(id),
    snapshot: (id: string) => snapshots.get(id),
    /** Whether the branch exists, or its deleted project can still be recovered. */
    needsData: (id: string) =>
      branches.get(id) !== undefined || trash.list().some((kept) => kept.branches.some((branch) => branch.id === id)),
    endpoints: () => store.export().endpoints,
    rolesOf: (branchId: string) => roles.ofBranch(branchId),
    databasesOf: (branchId: string) => databases.ofBranch(branchId),
    /** They are active, and no operation starts or suspends their compute. */
    settledActive: () => store.export().endpoints.filter(({ id, state }) => state === "active" && !isMoving(id)),
    isMoving,
  };
}

function movesCompute({ action }: OperationRecord): boolean {
  return action === "start_compute" || action === "suspend_compute";
}
