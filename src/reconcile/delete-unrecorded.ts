import { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { Logger } from "../domain/logger.ts";
import type { ResourceKey, ResourceStore } from "../domain/resource-store.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";
import type { Ledger, UnrecordedEndpoint } from "./ledger.ts";
import type { Service } from "./service.ts";

/** What the clean-up needs. */
export interface CleanUpContext {
  readonly store: Pick<ResourceStore<ComputeEndpoint, ComputeEndpointStatus>, "inProject">;
  readonly ledger: Ledger;
  readonly logger: Logger;
  readonly service: Service;
}

/**
 * Deletes the endpoints that creates of ours answered when their resource was gone by then, as far as nobody else owns
 * them by now. A failure is no failure of the resource that has the name today.
 *
 * @returns whether something is left to try again.
 */
export async function deleteUnrecorded(
  context: CleanUpContext,
  key: ResourceKey,
  live: ComputeEndpoint | undefined,
): Promise<boolean> {
  const { ledger, logger } = context;
  let isSomethingLeft = false;
  for (const unrecorded of ledger.unrecorded()) {
    if (!isSameKey(unrecorded.key, key) || unrecorded.uid === live?.uid) {
      continue;
    }
    if (isOwned(context, unrecorded)) {
      ledger.drop(unrecorded.uid);
    } else if (await isDeleted(context, unrecorded)) {
      ledger.drop(unrecorded.uid);
      const { uid, endpointId } = unrecorded;
      logger.warn({ ...key, uid, endpointId }, "deleted the endpoint of a resource that was gone");
    } else {
      isSomethingLeft = true;
    }
  }
  return isSomethingLeft;
}

/** Somebody adopted it before its create was answered: it has an owner, and that is the end of it. */
function isOwned({ store, ledger }: CleanUpContext, { projectId, endpointId }: UnrecordedEndpoint): boolean {
  const isRecorded = store.inProject(projectId).some(({ status }) => status.ownership?.endpointId === endpointId);
  return isRecorded || ledger.isRecording(endpointId);
}

/** Sent again until it is seen to be gone; a locked project or an outage only takes longer. */
async function isDeleted({ service, logger }: CleanUpContext, unrecorded: UnrecordedEndpoint): Promise<boolean> {
  const { key, projectId, endpointId } = unrecorded;
  try {
    await service.controlPlane.deleteEndpoint(projectId, endpointId).finally(() => {
      service.view.noteWrite(projectId, undefined);
    });
    return (await service.controlPlane.getEndpoint(projectId, endpointId)) === undefined;
  } catch (error) {
    if (!(error instanceof ControlPlaneError)) {
      throw error;
    }
    const { reason } = error;
    logger.debug({ ...key, endpointId, reason }, "the endpoint of a resource that is gone is not deleted yet");
    return false;
  }
}

function isSameKey(a: ResourceKey, b: ResourceKey): boolean {
  return a.namespace === b.namespace && a.name === b.name;
}
