/** Decides about one resource: finds its situation, and plans its next step. */
import {
  type ComputeEndpoint,
  deletionPolicyOf,
  hasFinalizer,
  isBeingDeleted,
  isPaused,
  workProjectOf,
} from "../resource/compute-endpoint.ts";
import { planeName } from "../resource/control-plane-resource.ts";
import { annotations } from "../resource/names.ts";
import type { ComputeEndpointSpec } from "../resource/spec-schema.ts";
import type { CreateIntent, Ownership } from "../resource/status-schema.ts";
import { hasConsent } from "./claims.ts";
import { isIdentityProven, ownershipOf } from "./identity.ts";
import type { AnsweredCreate, LocalObservation, Observation } from "./observation.ts";
import { type Plan, stall } from "./plan.ts";
import { planOpenCreate } from "./plan-open-create.ts";
import { planDeletion, planOwned } from "./plan-owned.ts";
import { planUnowned } from "./plan-unowned.ts";
import { notGrantedMessage, type PlaneProblem } from "./project-grant.ts";

/** Where a resource stands. Each member carries the data that its decisions need. */
type Situation = LocalSituation | RemoteSituation;

/** Situations that the operator decides without the control plane, so that an outage never delays them. */
type LocalSituation =
  /** The resource is being deleted, and our finalizer is already removed. */
  | { readonly kind: "Released" }
  | { readonly kind: "Paused" }
  | { readonly kind: "NeverCreated" }
  /** The resource is being deleted, and its endpoint stays. If a create is open, the operator gives it up. */
  | { readonly kind: "Retained"; readonly abandoned: CreateIntent | undefined }
  /** The control plane that the resource names does not exist or cannot be used. */
  | { readonly kind: "PlaneUnusable"; readonly problem: PlaneProblem }
  /** The resource's records were made for another resource, cluster or control plane, or cannot be parsed. */
  | { readonly kind: "IdentityUnproven" }
  | { readonly kind: "InvalidSpec"; readonly problems: string }
  | { readonly kind: "NotGranted"; readonly what: "change" | "adopt" | "deleteAdopted" }
  | { readonly kind: "WithoutFinalizer" };

type RemoteSituation =
  /** Our create was answered, and status does not hold the answer yet. */
  | { readonly kind: "CreateAnswered"; readonly answered: AnsweredCreate }
  /**
   * An intent is stored, so a POST may have been sent. `spec` is `undefined` if the resource is being
   * deleted, so it no longer wants an endpoint.
   */
  | { readonly kind: "OpenCreate"; readonly intent: CreateIntent; readonly spec: ComputeEndpointSpec | undefined }
  | { readonly kind: "Owned"; readonly ownership: Ownership; readonly spec: ComputeEndpointSpec }
  | { readonly kind: "Unowned"; readonly spec: ComputeEndpointSpec }
  | { readonly kind: "Deleting"; readonly ownership: Ownership };

/**
 * Chooses the next step of one resource from a snapshot of its project.
 * Pure and total: no I/O, clock or randomness. It reads the resource's own conditions only to see whether they show the
 * question that an annotation answers. Guarantees: a create is planned only together with an intent that is stored
 * first. A change or deletion is planned only for an endpoint that the records prove to belong to the resource.
 */
export function planOf(observation: Observation): Plan {
  const situation = situationOf(observation);
  return isLocal(situation) ? planLocal(situation, observation) : planRemote(situation, observation);
}

export function localPlanOf(observation: LocalObservation): Plan | undefined {
  const situation = situationOf(observation);
  return isLocal(situation) ? planLocal(situation, observation) : undefined;
}

/** Finds the situation of a resource. The checks are made in the order in which they stand here. Pure and total. */
export function situationOf(observation: LocalObservation): Situation {
  const { resource, identity, memory, planeProblem } = observation;
  if (isBeingDeleted(resource) && !hasFinalizer(resource)) {
    return { kind: "Released" };
  }
  if (isPaused(resource)) {
    return { kind: "Paused" };
  }
  const { ownership } = resource.status;
  const { answeredCreate } = memory;
  const isAnswerUnstored = answeredCreate !== undefined && ownership === undefined;
  if (isBeingDeleted(resource) && holdsNothing(resource)) {
    return { kind: "NeverCreated" };
  }
  if (isBeingDeleted(resource) && retainsEndpoint(resource)) {
    return { kind: "Retained", abandoned: resource.status.createIntent };
  }
  if (planeProblem !== undefined) {
    return planeUnusable(observation, planeProblem);
  }
  if (!isIdentityProven(resource, identity)) {
    return { kind: "IdentityUnproven" };
  }
  if (isAnswerUnstored && !hasFinalizer(resource) && !isBeingDeleted(resource)) {
    return { kind: "WithoutFinalizer" };
  }
  if (isAnswerUnstored) {
    return { kind: "CreateAnswered", answered: answeredCreate };
  }
  if (isBeingDeleted(resource)) {
    return deletion(observation);
  }
  if (resource.spec.kind === "Invalid") {
    return { kind: "InvalidSpec", problems: resource.spec.problems };
  }
  return wanted(observation, resource.spec.spec);
}

/**
 * Finds the situation of a resource whose control plane cannot be used. Without a grant, the conditions do not show
 * whether the control plane exists.
 */
function planeUnusable({ resource, grant }: LocalObservation, problem: PlaneProblem): Situation {
  if (grant.mayChange || isBeingDeleted(resource)) {
    return { kind: "PlaneUnusable", problem };
  }
  return resource.spec.kind === "Invalid"
    ? { kind: "InvalidSpec", problems: resource.spec.problems }
    : { kind: "NotGranted", what: "change" };
}

function wanted({ resource, grant }: LocalObservation, spec: ComputeEndpointSpec): Situation {
  const { ownership, createIntent } = resource.status;
  if (!grant.mayChange) {
    return { kind: "NotGranted", what: "change" };
  }
  const isAdopting = ownership === undefined && createIntent === undefined && hasConsent(spec);
  if (isAdopting && !grant.mayAdopt) {
    return { kind: "NotGranted", what: "adopt" };
  }
  if (!hasFinalizer(resource)) {
    return { kind: "WithoutFinalizer" };
  }
  if (ownership !== undefined) {
    return { kind: "Owned", ownership, spec };
  }
  return createIntent === undefined ? { kind: "Unowned", spec } : { kind: "OpenCreate", intent: createIntent, spec };
}

/** Whether a deletion ends without a call to the control plane: nothing was created, or the endpoint stays. */
export function isReleasedAtOnce(resource: ComputeEndpoint): boolean {
  return isBeingDeleted(resource) && (holdsNothing(resource) || retainsEndpoint(resource));
}

/** Whether status holds neither an ownership record of this uid nor an open intent. */
function holdsNothing({ uid, status, isOwnershipReadable }: ComputeEndpoint): boolean {
  return isOwnershipReadable && status.ownership?.resourceUid !== uid && status.createIntent === undefined;
}

/**
 * Whether a deletion leaves the endpoint in place: by `deletionPolicy`. Without a policy, an adopted or presumed
 * endpoint stays if its ownership record can be parsed.
 */
function retainsEndpoint(resource: ComputeEndpoint): boolean {
  const policy = deletionPolicyOf(resource);
  if (policy !== undefined) {
    return policy === "Retain";
  }
  const origin = resource.status.ownership?.origin;
  return origin === "Adopted" || origin === "Presumed";
}

function deletion({ resource, grant }: LocalObservation): Situation {
  const { ownership, createIntent: intent } = resource.status;
  if (ownership !== undefined && ownership.origin !== "Created" && !grant.mayAdopt) {
    return { kind: "NotGranted", what: "deleteAdopted" };
  }
  if (ownership !== undefined) {
    return { kind: "Deleting", ownership };
  }
  return intent === undefined ? { kind: "NeverCreated" } : { kind: "OpenCreate", intent, spec: undefined };
}

export function isLocal(situation: Situation): situation is LocalSituation {
  return localKinds.has(situation.kind);
}

const localKinds: ReadonlySet<Situation["kind"]> = new Set<LocalSituation["kind"]>([
  ...(["Released", "Paused", "NeverCreated", "Retained", "PlaneUnusable"] as const),
  ...(["IdentityUnproven", "InvalidSpec", "NotGranted", "WithoutFinalizer"] as const),
]);

function planLocal(situation: LocalSituation, observation: LocalObservation): Plan {
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
    case "NeverCreated":
      return { kind: "RemoveFinalizer", cause: "NeverCreated", abandoned: undefined };
    case "Retained":
      return { kind: "RemoveFinalizer", cause: "Retained", abandoned: situation.abandoned };
    case "PlaneUnusable":
      return stall(situation.problem.reason, situation.problem.message);
    case "IdentityUnproven":
      return identityUnproven(observation);
    case "InvalidSpec":
      return stall("InvalidSpec", `The stored spec is not valid: ${situation.problems}. Apply a corrected spec.`);
    case "NotGranted": {
      const { resource } = observation;
      const message = notGrantedMessage(resource.key.namespace, workProjectOf(resource), situation.what);
      return stall("ProjectNotGranted", message);
    }
    case "WithoutFinalizer":
      return { kind: "AddFinalizer" };
  }
}

function planRemote(situation: RemoteSituation, observation: Observation): Plan {
  switch (situation.kind) {
    case "CreateAnswered": {
      const { endpoint, hash } = situation.answered;
      const ownership = ownershipOf(observation, endpoint, "Created");
      return { kind: "RecordOwnership", ownership, endpoint, acknowledgedHash: hash };
    }
    case "OpenCreate":
      return planOpenCreate(situation, observation);
    case "Owned":
      return planOwned(situation.ownership, situation.spec, observation);
    case "Unowned":
      return planUnowned(situation.spec, observation);
    case "Deleting":
      return planDeletion(situation.ownership, observation);
  }
}

function identityUnproven({ resource, identity }: LocalObservation): Plan {
  const remedy = isBeingDeleted(resource)
    ? "To remove this resource and leave the endpoint as it is, set spec.deletionPolicy to Retain."
    : identity.controlPlane !== undefined
      ? `Give ${planeName(identity.controlPlane)} the URL of the record again, or delete this resource with spec.deletionPolicy Retain and create it again with spec.adoption.`
      : "Start the operator with the control plane's URL and the CLUSTER_ID of the record, or delete this resource with spec.deletionPolicy Retain and create it again with spec.adoption.";
  return stall(
    "IdentityUnproven",
    `The ownership record in status was not made for this resource in this cluster with this control plane, so the operator changes nothing there. ${remedy}`,
  );
}
