/** Frees the worker of a reconcile while the reconcile waits for the control plane. */
import { type BranchObjects, guardBranchObjects } from "../domain/branch-objects.ts";
import { type CallGuards, type ControlPlane, guardCalls } from "../domain/control-plane.ts";
import type { WorkerSlot } from "../domain/worker.ts";

/** Returns a control plane whose calls give the worker back while they wait, so that other projects can use it. */
export function outsideWorker(controlPlane: ControlPlane, slot: WorkerSlot): ControlPlane {
  return guardCalls(controlPlane, outside(slot));
}

/** Returns roles and databases whose calls give the worker back while they wait. */
export function objectsOutsideWorker(objects: BranchObjects, slot: WorkerSlot): BranchObjects {
  return guardBranchObjects(objects, outside(slot));
}

function outside(slot: WorkerSlot): CallGuards {
  const wait: CallGuards["read"] = (call) => slot.whileWaiting(call);
  return { read: wait, write: wait };
}
