import type { ControlPlane } from "../domain/control-plane.ts";

/** Runs before every call: it starts the call, or throws in its place. */
export type CallGuard = <Value>(call: () => Promise<Value>) => Promise<Value>;

/** The same control plane with a guard before every call. */
export function guardCalls(inner: ControlPlane, guard: CallGuard): ControlPlane {
  return {
    serviceUrl: inner.serviceUrl,
    listEndpoints: (projectId) => guard(() => inner.listEndpoints(projectId)),
    getEndpoint: (projectId, endpointId) => guard(() => inner.getEndpoint(projectId, endpointId)),
    listOperations: (projectId, page) => guard(() => inner.listOperations(projectId, page)),
    getOperation: (projectId, operationId) => guard(() => inner.getOperation(projectId, operationId)),
    createEndpoint: (projectId, creation) => guard(() => inner.createEndpoint(projectId, creation)),
    updateEndpoint: (projectId, endpointId, changes) =>
      guard(() => inner.updateEndpoint(projectId, endpointId, changes)),
    deleteEndpoint: (projectId, endpointId) => guard(() => inner.deleteEndpoint(projectId, endpointId)),
  };
}
