/** Checks whether the records of a resource were made for it, in this cluster and with this control plane. */
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import { ownershipToken } from "./ownership-token.ts";

/** The cluster, and the control plane that a resource uses. Each ownership record names both. */
export interface Identity {
  readonly clusterId: string;
  readonly serviceUrl: string;
  /** The resource that describes the control plane; absent: the settings describe it. */
  readonly controlPlane?: string;
}

/** Returns the members by which ownership records name the control plane. */
export function planeRecord({ serviceUrl, controlPlane }: Identity): Pick<Identity, "serviceUrl" | "controlPlane"> {
  return controlPlane === undefined ? { serviceUrl } : { serviceUrl, controlPlane };
}

/** Whether a record names this control plane: it has the same URL, and the same resource describes it. */
export function isOfPlane(
  record: { readonly serviceUrl: string; readonly controlPlane?: string | undefined },
  { serviceUrl, controlPlane }: Identity,
): boolean {
  return record.serviceUrl === serviceUrl && record.controlPlane === controlPlane;
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
      isOfPlane(ownership, identity));
  const isIntentOurs =
    createIntent === undefined ||
    (isOfPlane(createIntent, identity) && createIntent.token === ownershipToken(identity.clusterId, resource.uid));
  return isOwnershipOurs && isIntentOurs;
}
