import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import { ownershipToken } from "./ownership-token.ts";

/** The cluster and the control plane of this process. Ownership records name both. */
export interface Identity {
  readonly clusterId: string;
  readonly serviceUrl: string;
}

/**
 * Whether the records in status were made for this resource, in this cluster, with this control plane. A backup that
 * was restored elsewhere breaks that, and so does a changed URL. A resource without records passes.
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
