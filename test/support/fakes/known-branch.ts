/** Makes DatabaseBranches as ComputeEndpoints and DatabaseAccesses see them. */
import type { KnownBranch } from "../../../src/resource/branch-place.ts";

interface BranchChange {
  readonly spec?: object;
  readonly status?: object;
  readonly ownership?: object;
  readonly deletionTimestamp?: string;
}

/** The DatabaseBranch pr-42 with a proven branch of main. @param own of the branch: namespace, project, id, identity */
export function knownBranch(
  own: { readonly namespace: string; readonly projectId: string; readonly branchId: string; readonly identity: object },
  { spec, status, ownership, deletionTimestamp }: BranchChange = {},
): KnownBranch {
  const record = { branchId: own.branchId, resourceUid: "uid-pr-42", ...own.identity, ...ownership };
  return {
    ...{ key: { namespace: own.namespace, name: "pr-42" }, uid: "uid-pr-42", resourceVersion: "1", generation: 1 },
    ...{ creationTimestamp: "2026-11-27T19:00:00Z", deletionTimestamp, finalizers: [], annotations: {} },
    spec: { kind: "Valid", spec: { projectId: own.projectId, parent: { name: "main" }, ...spec } },
    status: { ownership: record, ...status } as KnownBranch["status"],
  };
}
