/** What other clients do with the branches of DatabaseBranches. */
import { world as places } from "../control-plane/engine.ts";
import type { StoredObject } from "../kubernetes/answers.ts";
import { isObject } from "../kubernetes/merge-patch.ts";
import { group } from "../ports.ts";
import type { BranchChange } from "./actions.ts";
import type { World } from "./world.ts";

const projectId = places.project;

/** Changes the branch that a DatabaseBranch owns. If it owns none, nothing is done. @throws Refusal */
export function changeBranch(
  world: World,
  { name, change }: { readonly name: string; readonly change: BranchChange },
): void {
  const { engine } = world.controlPlane;
  const stored = world.branches().find(({ metadata }) => metadata.name === name);
  const branchId = stored && branchIdOf(stored);
  if (branchId === undefined) return;
  switch (change) {
    case "Delete":
      engine.deleteBranch(projectId, branchId);
      break;
    case "Protect":
      engine.updateBranch({ projectId, branchId }, { protected: true });
      break;
    case "AddChild":
      engine.createBranch(projectId, { name: undefined, parentId: branchId, protected: false, endpoints: [] });
  }
}

/** Ends what a person has to end before the operator can go on. */
export function freeBranches(world: World): void {
  const { engine } = world.controlPlane;
  for (const { id: branchId } of madeBranches(world)) {
    engine.updateBranch({ projectId, branchId }, { protected: false });
    for (const child of engine.branches(projectId)) {
      if (child.parentId === branchId) engine.deleteBranch(projectId, child.id);
    }
  }
}

/** The branches that the operator has made, with the tokens of their resources. */
export function madeBranches({ controlPlane }: World) {
  return controlPlane.engine.branches(projectId).flatMap(({ id, annotation }) => {
    const owner = annotation?.[`${group}/owner`];
    return owner === undefined ? [] : [{ id, owner }];
  });
}

/** The branch that a DatabaseBranch owns by its record. */
export function branchIdOf({ status }: StoredObject): string | undefined {
  const record = isObject(status) ? status.ownership : undefined;
  return isObject(record) ? String(record.branchId) : undefined;
}

/**
 * What the status of a DatabaseBranch holds. `Lost`: its finalizer is stored, and no record. A resource that is deleted
 * then leaves its branch, as docs/reliability.md says.
 */
export function recordsOf(world: World, name: string): "None" | "Open" | "Owned" | "Lost" {
  const stored = world.branches().find(({ metadata }) => metadata.name === name);
  if (stored === undefined || JSON.stringify(stored.metadata.finalizers ?? []) === "[]") return "None";
  const { createIntent, resetIntent } = isObject(stored.status) ? stored.status : {};
  if (createIntent !== undefined || resetIntent !== undefined) return "Open";
  return branchIdOf(stored) === undefined ? "Lost" : "Owned";
}
