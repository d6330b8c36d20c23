/** What a deletion of a ComputeEndpoint has to do, and which rights and proofs its resource needs. */
import { notGrantedMessage, type ProjectGrant } from "../../engine/grant.ts";
import { type ComputeEndpoint, deletionFieldsOf, isObserved, workProjectOf } from "../../resource/compute-endpoint.ts";
import { planeName } from "../../resource/control-plane-resource.ts";
import type { Identity } from "../../resource/identity.ts";
import { isBeingDeleted } from "../../resource/stored-object.ts";
import { hasConsent } from "./claims.ts";

/** `Retained`: by `deletionPolicy`, or because the endpoint is only observed; without a policy, an adopted or presumed endpoint stays. */
export function heldBy(resource: ComputeEndpoint): "Nothing" | "Retained" | "Something" {
  const { uid, status, isOwnershipReadable } = resource;
  if (isOwnershipReadable && status.ownership?.resourceUid !== uid && status.createIntent === undefined) {
    return "Nothing";
  }
  const origin = status.ownership?.origin;
  if (isObserved(resource)) {
    return "Retained";
  }
  const usual = origin === "Adopted" || origin === "Presumed" ? "Retain" : "Delete";
  return (deletionFieldsOf(resource).deletionPolicy ?? usual) === "Retain" ? "Retained" : "Something";
}

export function missingGrant(resource: ComputeEndpoint, grant: ProjectGrant): string | undefined {
  const missing = missingRight(resource, grant);
  return missing && notGrantedMessage(resource.key.namespace, workProjectOf(resource), missing);
}

function missingRight(
  resource: ComputeEndpoint,
  { mayChange, mayAdopt }: ProjectGrant,
): "change" | "adopt" | "deleteAdopted" | "observe" | undefined {
  const { ownership, createIntent } = resource.status;
  if (isBeingDeleted(resource)) {
    const isForeign = ownership !== undefined && ownership.origin !== "Created";
    return isForeign && !mayAdopt ? "deleteAdopted" : undefined;
  }
  if (isObserved(resource)) {
    return mayAdopt ? undefined : "observe";
  }
  if (!mayChange) {
    return "change";
  }
  const isNew = ownership === undefined && createIntent === undefined;
  const isAdopting = isNew && resource.spec.kind === "Valid" && hasConsent(resource.spec.spec);
  return isAdopting && !mayAdopt ? "adopt" : undefined;
}

export function unprovenMessage(resource: ComputeEndpoint, { controlPlane }: Identity): string {
  const again = "delete this resource with spec.deletionPolicy Retain and create it again with spec.adoption.";
  const remedy = isBeingDeleted(resource)
    ? "To remove this resource and leave the endpoint as it is, set spec.deletionPolicy to Retain."
    : controlPlane !== undefined
      ? `Give ${planeName(controlPlane)} the URL of the record again, or ${again}`
      : `Start the operator with the control plane's URL and the CLUSTER_ID of the record, or ${again}`;
  return `The ownership record in status was not made for this resource in this cluster with this control plane, so the operator changes nothing there. ${remedy}`;
}
