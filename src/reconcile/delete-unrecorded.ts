import { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { UnrecordedEndpoint } from "./ledger.ts";
import type { Service } from "./service.ts";

/**
 * Deletes the endpoint that a create of ours answered when its resource was gone by then.
 *
 * @throws ControlPlaneError unless it is seen to be gone: the key is tried again.
 */
export async function deleteUnrecorded(service: Service, { projectId, endpointId }: UnrecordedEndpoint): Promise<void> {
  await service.controlPlane.deleteEndpoint(projectId, endpointId);
  const remaining = await service.controlPlane.getEndpoint(projectId, endpointId);
  if (remaining !== undefined) {
    throw new ControlPlaneError("Rejected", "the endpoint is still there after its deletion was accepted", {
      effect: "Unknown",
      subject: "Endpoint",
    });
  }
}
