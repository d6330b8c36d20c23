import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import { ownershipToken } from "./ownership-token.ts";

/** The cluster and the control plane of this process. Each ownership record names both. */
export interface Identity {
  readonly clusterId: string;
  readonly serviceUrl: string;
}

/**
 * Whether the records in status were made for this resource, in this cluster, with this control plane. They were not if
 * a backup was restored in another cluster, or if the URL of the control plane changed. A resource without records
 * needs no proof.
 */
export function isIdentityProven(resource: ComputeEndpoint, identity: Identity): boolean {
  const { ownership, createIntent } = resource.status;
  if (!resource.isOwnershipReadable) {
    return false;
  }
  const isOwnershipOurs =
    ownership === undefined ||
    (ownership.resourceUid === resource.uid &&
      ownership.clusterId === identity.clusterId &&
      ownership.serviceUrl === identity.serviceUrl);
  const isIntentOurs =
    createIntent === undefined ||
    (createIntent.serviceUrl === identity.serviceUrl &&
      createIntent.token === ownershipToken(identity.clusterId, resource.uid));
  return isOwnershipOurs && isIntentOurs;
}
