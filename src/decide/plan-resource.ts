/** Decides about one resource: finds its situation, and plans its next step. */
import {
  type ComputeEndpoint,
  deletionPolicyOf,
  hasFinalizer,
  isBeingDeleted,
  isPaused,
  workProjectOf,
} from "../resource/compute-endpoint.ts";
import { isTrue } from "../resource/conditions.ts";
import { planeName } from "../resource/control-plane-resource.ts";
import { annotations } from "../resource/names.ts";
import type { ComputeEndpointSpec } from "../resource/spec-schema.ts";
import type { CreateIntent, Ownership } from "../resource/status-schema.ts";
import { hasConsent } from "./claims.ts";
import { recordOwnership } from "./create-intent.ts";
import { isIdentityProven } from "./identity.ts";
import type { AnsweredCreate, LocalObservation, Observation } from "./observation.ts";
import { type Plan, stall } from "./plan.ts";
import { planOpenCreate } from "./plan-open-create.ts";
import { planDeletion, planOwned } from "./plan-owned.ts";
import { planUnowned, planUnrecordedDeletion } from "./plan-unowned.ts";
import { notGrantedMessage, type PlaneProblem } from "./project-grant.ts";

/**
 * Where a resource stands, computed from its stored form and the memory of this process. Each member carries the data
 * that its decisions need.
 */
type Situation = LocalSituation | RemoteSituation;

/** Situations that the operator decides without the control plane, so that an outage never delays them. */
type LocalSituation =
  /** The resource is being deleted, and our finalizer is already removed. */
  | { readonly kind: "Released" }
  | { readonly kind: "Paused" }
  /** The resource is being deleted, and its endpoint stays. If a create is open, the operator gives it up. */
  | { readonly kind: "Retained"; readonly abandoned: CreateIntent | undefined }
  /** Like `Retained`, but a DELETE that was sent may still take effect for `waitMs` milliseconds. */
  | { readonly kind: "DeleteUnsettled"; readonly waitMs: number }
  /** The control plane that the resource names does not exist or cannot be used. */
  | { readonly kind: "PlaneUnusable"; readonly problem: PlaneProblem }
  /** The resource's records were made for another resource, cluster or control plane, or cannot be parsed. */
  | { readonly kind: "IdentityUnproven" }
  | { readonly kind: "InvalidSpec"; readonly problems: string }
  /** The namespace has no grant for what the resource asks for. */
  | { readonly kind: "NotGranted"; readonly what: "change" | "adopt" | "deleteAdopted" | "search" }
  | { readonly kind: "WithoutFinalizer" };

/** Situations that need a snapshot of the project. */
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
  | { readonly kind: "Deleting"; readonly ownership: Ownership }
  /**
   * The resource is being deleted and its status names no endpoint. Status may have been lost, so the operator searches
   * the control plane.
   */
  | { readonly kind: "DeletingUnrecorded" };

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

/** Chooses the next step of a resource that is decided without the control plane; `undefined`: it needs a snapshot. */
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
  if (isBeingDeleted(resource) && retainsEndpoint(resource)) {
    return retained(observation);
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

/** Finds the situation of a resource that is not being deleted and has a valid spec. */
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

/**
 * Whether a deletion leaves the endpoint in place: by `deletionPolicy`. Without a policy, an adopted or presumed
 * endpoint stays if its ownership record can be parsed.
 */
export function retainsEndpoint(resource: ComputeEndpoint): boolean {
  const policy = deletionPolicyOf(resource);
  if (policy !== undefined) {
    return policy === "Retain";
  }
  const origin = resource.status.ownership?.origin;
  return resource.isOwnershipReadable && (origin === "Adopted" || origin === "Presumed");
}

function retained(observation: LocalObservation): LocalSituation {
  const waitMs = deleteSettleLeftMs(observation);
  return waitMs > 0
    ? { kind: "DeleteUnsettled", waitMs }
    : { kind: "Retained", abandoned: observation.resource.status.createIntent };
}

/** Returns for how many milliseconds a DELETE with an unknown result may still take effect. */
function deleteSettleLeftMs({ memory, policy, monotonicMs }: LocalObservation): number {
  const { lastDelete, mayHaveSentDelete: mayHaveSent, firstSeenMs } = memory;
  if (lastDelete !== undefined) {
    return lastDelete.isAnswered ? 0 : lastDelete.atMs + policy.createSettleMs - monotonicMs;
  }
  return mayHaveSent ? firstSeenMs + policy.createSettleMs - monotonicMs : 0;
}

/**
 * Whether a DELETE may have been sent for a resource of which this process remembers nothing. It is being deleted, and
 * is not Ready: work on the deletion had begun, or something stopped the work, for instance a pause.
 */
export function mayHaveSentDelete(resource: ComputeEndpoint): boolean {
  const { ownership, conditions } = resource.status;
  return isBeingDeleted(resource) && ownership !== undefined && !isTrue(conditions, "Ready");
}

function deletion({ resource, grant }: LocalObservation): Situation {
  const { ownership, createIntent } = resource.status;
  if (ownership !== undefined && ownership.origin !== "Created" && !grant.mayAdopt) {
    return { kind: "NotGranted", what: "deleteAdopted" };
  }
  if (ownership !== undefined) {
    return { kind: "Deleting", ownership };
  }
  if (createIntent !== undefined) {
    return { kind: "OpenCreate", intent: createIntent, spec: undefined };
  }
  // Without a record, a person may have written the finalizer, and the namespace may never have had a grant.
  return grant.mayChange ? { kind: "DeletingUnrecorded" } : { kind: "NotGranted", what: "search" };
}

/** Whether a situation is decided without the control plane. */
export function isLocal(situation: Situation): situation is LocalSituation {
  return localKinds.has(situation.kind);
}

const localKinds: ReadonlySet<Situation["kind"]> = new Set<LocalSituation["kind"]>([
  ...(["Released", "Paused", "Retained", "DeleteUnsettled", "PlaneUnusable"] as const),
  ...(["IdentityUnproven", "InvalidSpec", "NotGranted", "WithoutFinalizer"] as const),
]);

/** Plans the next step in a situation that needs no snapshot. Pure and total. */
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
    case "CreateAnswered":
      return {
        ...recordOwnership(observation, situation.answered.endpoint, "Created"),
        acknowledgedHash: situation.answered.hash,
      };
    case "OpenCreate":
      return planOpenCreate(situation, observation);
    case "Owned":
      return planOwned(situation.ownership, situation.spec, observation);
    case "Unowned":
      return planUnowned(situation.spec, observation);
    case "Deleting":
      return planDeletion(situation.ownership, observation);
    case "DeletingUnrecorded":
      return planUnrecordedDeletion(observation);
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
