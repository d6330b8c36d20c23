import { startOperations } from "./operations.ts";
import type { BranchRecord, OperationRecord } from "./records.ts";
import type { World } from "./world.ts";

/** Starts what brings changed roles and databases to the branch: through its read-write endpoint, if it has one. */
export function applyConfig(world: World, { id: branchId, projectId }: BranchRecord): readonly OperationRecord[] {
  const endpoint = world.store.endpoints.ofBranch(branchId).find(({ type }) => type === "read_write");
  return startOperations(world, { projectId, branchId, endpointId: endpoint?.id }, { actions: ["apply_config"] });
}
