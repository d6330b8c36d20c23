/** Makes specs for runs. */
import { world as places } from "../control-plane/engine.ts";
import type { JsonObject } from "../kubernetes/merge-patch.ts";

/** Returns the branch of a run by its number. */
export function branch(at: number): string {
  return places.branches[at % places.branches.length] as string;
}

/** Makes a read-write spec on a branch, with further fields. */
export function readWrite(branchId: string, more: JsonObject = {}): JsonObject {
  return { projectId: places.project, branchId, type: "ReadWrite", ...more };
}

/** Makes a replica's spec on a branch, with further fields. */
export function readOnly(branchId: string, more: JsonObject = {}): JsonObject {
  return { projectId: places.project, branchId, type: "ReadOnly", ...more };
}

/** Makes the fields for a size: a fixed one, or a range. */
export function size(units: number, maxUnits = units): JsonObject {
  return { compute: { minUnits: units, maxUnits } };
}
