import {
  type ComputeEndpoint,
  deletionPolicyOf,
  hasFinalizer,
  isBeingDeleted,
  isPaused,
} from "../resource/compute-endpoint.ts";
import { conditionOf, isTrue } from "../resource/conditions.ts";
import type { ComputeEndpointSpec } from "../resource/spec-schema.ts";
import type { ComputeEndpointStatus, CreateIntent, Ownership } from "../resource/status-schema.ts";
import { isFailureStall } from "./failure-stall.ts";
import { isIdentityProven } from "./identity.ts";
import type { LocalObservation } from "./observation.ts";
import type { AnsweredCreate } from "./resource-memory.ts";

/**
 * Where a resource stands, parsed from its stored form and the memory of this process. Each member carries what the
 * decisions of that situation need.
 */
export type Situation = LocalSituation | RemoteSituation;

/** Situations that the operator decides without the control plane, so that an outage never delays them. */
export type LocalSituation =
  /** It is being deleted, and our finalizer is gone. */
  | { readonly kind: "Released" }
  | { readonly kind: "Paused" }
  /** It is being deleted, and the endpoint stays. An open create is abandoned with it. */
  | { readonly kind: "Retained"; readonly abandoned: CreateIntent | undefined }
  /** Like `Retained`, but a DELETE may still take effect for so many milliseconds. */
  | { readonly kind: "DeleteUnsettled"; readonly waitMs: number }
  /** Its records were not made for this resource, cluster and control plane, or cannot be parsed. */
  | { readonly kind: "IdentityUnproven" }
  | { readonly kind: "InvalidSpec"; readonly problems: string }
  /** The namespace has no grant for what the resource asks for. */
  | { readonly kind: "NotGranted"; readonly what: "change" | "adopt" | "deleteAdopted" }
  | { readonly kind: "WithoutFinalizer" };

/** Situations that need a snapshot of the project. */
export type RemoteSituation =
  /** Our create was answered, and status does not hold the answer yet. */
  | { readonly kind: "CreateAnswered"; readonly answered: AnsweredCreate }
  /** A POST may have been sent. `spec` is `undefined` when nothing is wanted any more: deletion, or an invalid spec. */
  | { readonly kind: "OpenCreate"; readonly intent: CreateIntent; readonly spec: ComputeEndpointSpec | undefined }
  | { readonly kind: "Owned"; readonly ownership: Ownership; readonly spec: ComputeEndpointSpec }
  | { readonly kind: "Unowned"; readonly spec: ComputeEndpointSpec }
  | { readonly kind: "Deleting"; readonly ownership: Ownership }
  /** It is being deleted and status names no endpoint. Status may have been lost, so the control plane is searched. */
  | { readonly kind: "DeletingUnrecorded" };

/** Finds the situation of a resource. The order of the checks is the order in which they apply. Pure and total. */
export function situationOf(observation: LocalObservation): Situation {
  const { resource, identity, memory } = observation;
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

/** Where a live resource with a valid spec stands. */
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

/** Whether spec consents to adopt an endpoint. */
export function hasConsent({ adoption }: ComputeEndpointSpec): boolean {
  return adoption !== undefined && adoption.policy !== "Never";
}

/** Whether a situation is decided without the control plane. */
export function isLocal(situation: Situation): situation is LocalSituation {
  return localKinds.has(situation.kind);
}

const localKinds: ReadonlySet<Situation["kind"]> = new Set<LocalSituation["kind"]>([
  "Released",
  "Paused",
  "Retained",
  "DeleteUnsettled",
  "IdentityUnproven",
  "InvalidSpec",
  "NotGranted",
  "WithoutFinalizer",
]);

/** Whether a deletion leaves the endpoint in place: by `deletionPolicy`, else by the origin of the endpoint. */
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

/**
 * How long a DELETE with an unknown outcome may still take effect. A process that found the resource already being
 * deleted cannot know whether an earlier process sent one, if status shows work on the deletion.
 */
function deleteSettleLeftMs({ resource, memory, policy, monotonicMs }: LocalObservation): number {
  const { lastDelete, wasDeletingAtFirst, firstSeenMs } = memory;
  if (lastDelete !== undefined) {
    return lastDelete.isAnswered ? 0 : lastDelete.atMs + policy.createSettleMs - monotonicMs;
  }
  const mayHaveBeenSent =
    wasDeletingAtFirst && resource.status.ownership !== undefined && showsWork(resource.status.conditions);
  return mayHaveBeenSent ? firstSeenMs + policy.createSettleMs - monotonicMs : 0;
}

/** A refused DELETE is tried again while the resource is Stalled. */
function showsWork(conditions: ComputeEndpointStatus["conditions"]): boolean {
  return isTrue(conditions, "Reconciling") || isFailureStall(conditionOf(conditions, "Stalled")?.reason ?? "");
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
  return { kind: "DeletingUnrecorded" };
}
