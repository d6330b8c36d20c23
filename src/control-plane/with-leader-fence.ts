import type { ControlPlane } from "../domain/control-plane.ts";
import { type LeaderFence, LeaderFenceError } from "../domain/leader-fence.ts";

/** Lets a write start only while the leader fence is open for the duration of the write. Reads are always allowed. */
export function withLeaderFence(controlPlane: ControlPlane, fence: LeaderFence, writeTimeoutMs: number): ControlPlane {
  const permitted = <Answer>(write: () => Promise<Answer>): Promise<Answer> =>
    fence.mayStartEffect(writeTimeoutMs) ? write() : Promise.reject(new LeaderFenceError());
  return {
    serviceUrl: controlPlane.serviceUrl,
    listEndpoints: (projectId) => controlPlane.listEndpoints(projectId),
    getEndpoint: (projectId, endpointId) => controlPlane.getEndpoint(projectId, endpointId),
    listOperations: (projectId, page) => controlPlane.listOperations(projectId, page),
    getOperation: (projectId, operationId) => controlPlane.getOperation(projectId, operationId),
    createEndpoint: (projectId, creation) => permitted(() => controlPlane.createEndpoint(projectId, creation)),
    updateEndpoint: (projectId, endpointId, changes) =>
      permitted(() => controlPlane.updateEndpoint(projectId, endpointId, changes)),
    deleteEndpoint: (projectId, endpointId) => permitted(() => controlPlane.deleteEndpoint(projectId, endpointId)),
  };
}
