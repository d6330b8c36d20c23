/** Plans the next step of a resource, by its situation. */

import { isBeingDeleted, workProjectOf } from "../resource/compute-endpoint.ts";
import { annotations } from "../resource/names.ts";
import { planeName } from "../resource/project-key.ts";
import { recordOwnership } from "./candidates.ts";
import { assertNever, type Plan } from "./plan.ts";
import { planOpenCreate } from "./plan-open-create.ts";
import { planDeletion, planOwned } from "./plan-owned.ts";
import { planUnowned, planUnrecordedDeletion } from "./plan-unowned.ts";
import { notGrantedMessage } from "./project-grant.ts";
import type { LocalObservation, Observation } from "./resource-step.ts";
import type { LocalSituation, RemoteSituation } from "./situation.ts";

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

/**
 * Chooses the next step of one resource from a snapshot of its project.
 *
 * Pure and total: no I/O, clock or randomness. It never reads the resource's own conditions. Guarantees: a create is
 * planned only together with an intent that is stored first. A change or deletion is planned only for an endpoint that
 * the records prove to belong to the resource.
 */
export function planRemote(situation: RemoteSituation, observation: Observation): Plan {
  switch (situation.kind) {
    case "CreateAnswered":
      return {
        ...recordOwnership(observation, situation.answered.endpoint, "Created"),
        acknowledgedHash: situation.answered.hash,
      };
    case "OpenCreate":
      return planOpenCreate(situation, observation);
    case "Owned":
      return planOwned(situation, observation);
    case "Unowned":
      return planUnowned(situation.spec, observation);
    case "Deleting":
      return planDeletion(situation.ownership, observation);
    case "DeletingUnrecorded":
      return planUnrecordedDeletion(observation);
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
