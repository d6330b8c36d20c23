/** Plans what needs no control plane. */
import { isBeingDeleted, workProjectOf } from "../resource/compute-endpoint.ts";
import { annotations } from "../resource/names.ts";
import { planeName } from "../resource/project-key.ts";
import type { LocalObservation } from "./observation.ts";
import { assertNever, type Plan } from "./plan.ts";
import { notGrantedMessage } from "./project-grant.ts";
import type { LocalSituation } from "./situation.ts";

/** Plans the next step in a situation that needs no snapshot. Pure and total. */
export function planLocal(situation: LocalSituation, observation: LocalObservation): Plan {
  switch (situation.kind) {
    case "Released":
      return { kind: "Settled", unverifiable: [] };
    case "Paused":
      return {
        kind: "Wait",
        reason: "Paused",
        message: `Paused: the operator changes nothing, deletion included. Remove the annotation ${annotations.paused} to continue.`,
        waitMs: undefined,
      };
    case "Retained":
      return { kind: "RemoveFinalizer", cause: "Retained", abandoned: situation.abandoned };
    case "DeleteUnsettled":
      return {
        kind: "Wait",
        reason: "Deleting",
        message:
          "A delete request may still take effect. The operator waits until it no longer can, and then releases the endpoint.",
        waitMs: situation.waitMs,
      };
    case "PlaneUnusable":
      return { kind: "Stall", ...situation.problem };
    case "IdentityUnproven":
      return identityUnproven(observation);
    case "InvalidSpec":
      return {
        kind: "Stall",
        reason: "InvalidSpec",
        message: `The stored spec is not valid: ${situation.problems}. Apply a corrected spec.`,
      };
    case "NotGranted": {
      const { resource } = observation;
      const message = notGrantedMessage(resource.key.namespace, workProjectOf(resource), situation.what);
      return { kind: "Stall", reason: "ProjectNotGranted", message };
    }
    case "WithoutFinalizer":
      return { kind: "AddFinalizer" };
    default:
      return assertNever(situation);
  }
}

function identityUnproven({ resource, identity }: LocalObservation): Plan {
  const remedy = isBeingDeleted(resource)
    ? "To remove this resource and leave the endpoint as it is, set spec.deletionPolicy to Retain."
    : identity.controlPlane !== undefined
      ? `Give ${planeName(identity.controlPlane)} the URL of the record again, or delete this resource with spec.deletionPolicy Retain and create it again with spec.adoption.`
      : "Start the operator with the control plane's URL and the CLUSTER_ID of the record, or delete this resource with spec.deletionPolicy Retain and create it again with spec.adoption.";
  return {
    kind: "Stall",
    reason: "IdentityUnproven",
    message: `The ownership record in status was not made for this resource in this cluster with this control plane, so the operator changes nothing there. ${remedy}`,
  };
}
