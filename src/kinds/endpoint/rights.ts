/** What a deletion of a ComputeEndpoint has to do, and which rights its resource needs. */
import { mayUse, notGrantedMessage, type ProjectGrant } from "../../engine/grant.ts";
import type { BranchPlace } from "../../resource/branch-place.ts";
import { type ComputeEndpoint, deletionFieldsOf, isObserved, workProjectOf } from "../../resource/compute-endpoint.ts";
import { isBeingDeleted } from "../../resource/stored-object.ts";
import { hasConsent } from "./claims.ts";

/** `Retained`: by `deletionPolicy`, or because the endpoint is only observed; without a policy, an adopted or presumed endpoint stays. */
export function deletionWork(resource: ComputeEndpoint): "Nothing" | "Retained" | "Something" {
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

export function missingGrant(resource: ComputeEndpoint, grant: ProjectGrant, place: BranchPlace): string | undefined {
  const missing = missingRight(resource, grant, place);
  return missing && notGrantedMessage(resource.key.namespace, workProjectOf(resource), missing);
}

function missingRight(
  resource: ComputeEndpoint,
  grant: ProjectGrant,
  place: BranchPlace,
): "change" | "adopt" | "deleteAdopted" | "observe" | undefined {
  const { mayChange, mayAdopt } = grant;
  const { ownership, createIntent } = resource.status;
  const isAdopted = ownership?.origin === "Adopted";
  if (isBeingDeleted(resource)) {
    // On a branch of its own namespace, what was presumably created is its own.
    const isForeign = isAdopted || (ownership?.origin === "Presumed" && place.kind === "ById");
    return isForeign && !mayAdopt ? "deleteAdopted" : undefined;
  }
  if (isObserved(resource)) {
    return mayAdopt ? undefined : "observe";
  }
  const isAdopting = ownership === undefined && createIntent === undefined && isAsking(resource);
  if (!mayUse(grant, place) || (isAdopted && !mayChange)) {
    return "change";
  }
  return isAdopting && !mayAdopt ? "adopt" : undefined;
}

function isAsking({ spec }: ComputeEndpoint): boolean {
  return spec.kind === "Valid" && hasConsent(spec.spec);
}
