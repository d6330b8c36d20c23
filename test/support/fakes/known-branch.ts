/** Makes DatabaseBranches as ComputeEndpoints and DatabaseAccesses see them. */
import { type DatabaseBranch, parseDatabaseBranch } from "../../../src/resource/database-branch.ts";

interface BranchChange {
  readonly spec?: object;
  readonly status?: object;
  readonly ownership?: object;
  readonly deletionTimestamp?: string;
}

interface Own {
  readonly namespace: string;
  readonly projectId: string;
  readonly branchId: string;
  readonly identity: object;
}

/** Makes the DatabaseBranch pr-42 with a proven branch of main. */
export function knownBranch(
  { namespace, projectId, branchId, identity }: Own,
  { spec, status, ownership, deletionTimestamp }: BranchChange = {},
): DatabaseBranch {
  const record = { branchId, resourceUid: "uid-pr-42", projectId, ...identity, ...ownership };
  return parseDatabaseBranch({
    metadata: { namespace, name: "pr-42", uid: "uid-pr-42", resourceVersion: "1", deletionTimestamp },
    spec: { projectId, parent: { name: "main" }, ...spec },
    status: { ownership: record, state: "ready", ...status },
  });
}
