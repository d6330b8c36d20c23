import { type BranchObjects, guardBranchObjects } from "../domain/branch-objects.ts";
import type { ControlPlane } from "../domain/control-plane.ts";
import type { WorkerSlot } from "../domain/worker.ts";

/** Returns a control plane whose calls give the worker back while they wait, so that other projects can use it. */
export function outsideWorker(controlPlane: ControlPlane, slot: WorkerSlot): ControlPlane {
  return {
    serviceUrl: controlPlane.serviceUrl,
    listEndpoints: (projectId) => slot.whileWaiting(() => controlPlane.listEndpoints(projectId)),
    getEndpoint: (projectId, endpointId) => slot.whileWaiting(() => controlPlane.getEndpoint(projectId, endpointId)),
    listOperations: (projectId, page) => slot.whileWaiting(() => controlPlane.listOperations(projectId, page)),
    getOperation: (projectId, operationId) =>
      slot.whileWaiting(() => controlPlane.getOperation(projectId, operationId)),
    createEndpoint: (projectId, creation) => slot.whileWaiting(() => controlPlane.createEndpoint(projectId, creation)),
    updateEndpoint: (projectId, endpointId, changes) =>
      slot.whileWaiting(() => controlPlane.updateEndpoint(projectId, endpointId, changes)),
    changePower: (projectId, endpointId, action) =>
      slot.whileWaiting(() => controlPlane.changePower(projectId, endpointId, action)),
    deleteEndpoint: (projectId, endpointId) =>
      slot.whileWaiting(() => controlPlane.deleteEndpoint(projectId, endpointId)),
  };
}

/** Returns roles and databases whose calls give the worker back while they wait. */
export function objectsOutsideWorker(objects: BranchObjects, slot: WorkerSlot): BranchObjects {
  const outside = <Value>(call: () => Promise<Value>) => slot.whileWaiting(call);
  return guardBranchObjects(objects, { read: outside, write: outside });
}
