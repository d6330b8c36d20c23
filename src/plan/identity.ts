import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import type { Identity } from "./observation.ts";
import { ownershipToken } from "./ownership-token.ts";

/**
 * Whether the records in status were made for this resource, in this cluster, with this service. A backup restored
 * elsewhere or a changed service URL breaks that, and then nothing outside may be touched. No record at all is fine.
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
