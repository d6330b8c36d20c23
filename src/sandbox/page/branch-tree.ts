/** Arranges branches and endpoints as a tree for the page of projects. */
import type { BranchRecord, EndpointRecord } from "../engine/records.ts";

/** A line of the tree: a branch, or one of its endpoints. */
export type TreeLine =
  | { readonly kind: "Branch"; readonly branch: BranchRecord; readonly depth: number; readonly endpointCount: number }
  | { readonly kind: "Endpoint"; readonly endpoint: EndpointRecord; readonly depth: number };

/** The maximum depth at which a branch is drawn. Deeper branches are drawn at this depth. */
export const deepest = 6;

/**
 * Returns the lines of the tree: each branch below its parent, followed by its endpoints and then by its children.
 * Siblings keep their order.
 * @param search lower case; "": everything. A matching branch is shown with its endpoints, and a matching endpoint with
 *   its branch. The parents of each shown branch are shown too.
 */
export function branchTree(
  branches: readonly BranchRecord[],
  endpoints: readonly EndpointRecord[],
  search: string,
): readonly TreeLine[] {
  const known = new Set(branches.map(({ id }) => id));
  const byParent = Map.groupBy(branches, ({ parentId }) =>
    parentId !== undefined && known.has(parentId) ? parentId : "",
  );
  const byBranch = Map.groupBy(endpoints, ({ branchId }) => branchId);
  const visited = new Set<string>();
  const linesOf = (branch: BranchRecord, depth: number): readonly TreeLine[] => {
    // In an imported snapshot, branches may be each other's parents. Without this check the search would never end.
    if (visited.has(branch.id)) return [];
    visited.add(branch.id);
    const own = byBranch.get(branch.id) ?? [];
    const isFound = matches(branch, search);
    const shown = own.filter((endpoint) => isFound || matches(endpoint, search));
    const below = (byParent.get(branch.id) ?? []).flatMap((child) => linesOf(child, Math.min(depth + 1, deepest)));
    if (!isFound && shown.length === 0 && below.length === 0) return [];
    return [
      { kind: "Branch", branch, depth, endpointCount: own.length },
      ...shown.map((endpoint): TreeLine => ({ kind: "Endpoint", endpoint, depth })),
      ...below,
    ];
  };
  return (byParent.get("") ?? []).flatMap((branch) => linesOf(branch, 0));
}

/** Whether an object's id or name contains the text. @param search lower case; "": always true */
export function matches(
  { id, name }: { readonly id: string; readonly name?: string | undefined },
  search: string,
): boolean {
  return search === "" || id.toLowerCase().includes(search) || (name ?? "").toLowerCase().includes(search);
}
