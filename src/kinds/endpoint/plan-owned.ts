/** Plans the next step of a resource that owns an endpoint: its changes, and its deletion. */
import type { PowerAction } from "../../domain/control-plane.ts";
import type { ObservedEndpoint } from "../../domain/endpoint.ts";
import { stall, wait } from "../../engine/kind.ts";
import { lockPatienceMs, remoteStateOf } from "../../engine/project-reads.ts";
import { pollDelayMs } from "../../engine/schedule.ts";
import { type Acknowledged, acknowledgedIn } from "../../resource/bookkeeping.ts";
import { annotations } from "../../resource/names.ts";
import type { PlacedSpec } from "../../resource/spec-schema.ts";
import type { Ownership } from "../../resource/status-schema.ts";
import {
  desiredChanges,
  diffEndpoint,
  type EndpointDiff,
  hashOf,
  mayResend,
  mergeChanges,
  nextScheduleMs,
  resendWaitMs,
} from "./desired-endpoint.ts";
import { rulingOf } from "./pending-change.ts";
import {
  branchField,
  lookAt,
  type Observation,
  type Plan,
  type PlanOf,
  type PowerEcho,
  type Ruling,
  sizeField,
  waitingMessage,
} from "./plan.ts";
import { claimedByAnother, holderOf, isOwnedElsewhere, ownerName, readWriteEndpointOf } from "./plan-adoption.ts";

export function planOwned(ownership: Ownership, spec: PlacedSpec, observation: Observation): Plan {
  const conflict = ownershipConflict(observation, ownership.endpointId);
  if (conflict !== undefined) {
    return conflict;
  }
  const { endpointId } = ownership;
  const remote = remoteStateOf(observation.snapshot, endpointId);
  switch (remote.kind) {
    case "Absent":
      return planReplacement(ownership);
    case "Unknown":
      return lookAt(endpointId);
    case "Listed": {
      const plan = planPresent(observation, spec, remote.endpoint);
      // A list may be out of date. It is proof enough only if nothing is to be done, and nothing else was asked for last.
      const mayBeIdle = observation.operations.isSuspended && remote.endpoint.state !== "idle";
      const isProven =
        plan.kind === "Settled"
          ? isKnown(observation, spec, plan) && !(plan.ruling && mayBeIdle)
          : plan.kind === "Wait" && plan.reason === "OperationInFlight";
      return isProven ? plan : lookAt(endpointId);
    }
    case "Present":
      return planPresent(observation, spec, remote.endpoint);
  }
}

/** Whether a read by id has shown before that these values were accepted, or what waits. */
function isKnown({ resource }: Observation, spec: PlacedSpec, { ruling }: PlanOf<"Settled">): boolean {
  const { pendingChange, observedGeneration } = resource.status;
  const acknowledged = acknowledgedIn(resource.status);
  return ruling?.change === undefined
    ? acknowledged === undefined || acknowledged.hash === hashOf(desiredChanges(spec))
    : pendingChange?.hash === ruling.change.hash && observedGeneration === resource.generation;
}

interface Ruled extends Observation {
  readonly ruling: Ruling;
}

function planPresent(given: Observation, spec: PlacedSpec, endpoint: ObservedEndpoint): Plan {
  const ruling = rulingOf(given, spec, endpoint);
  const observation = { ...given, ruling };
  const plan =
    planBesideEndless(observation, spec, endpoint) ??
    planOperationWait(observation) ??
    planMove(observation, spec, endpoint) ??
    planUpdate(observation, spec, endpoint) ??
    planPower(observation, spec, endpoint);
  return ruling.change === undefined ? plan : ({ ...plan, ruling } as Plan);
}

/**
 * Stalls a resource if another resource has a valid record of the same endpoint, for instance after etcd was restored.
 * The operator then changes nothing.
 */
export function ownershipConflict(observation: Observation, endpointId: string): Plan | undefined {
  const { claims, resource } = observation;
  const other = claims.ownerOf(endpointId, resource.uid);
  if (other === undefined) {
    return undefined;
  }
  const message = `This resource and ${ownerName(other, resource)} both own endpoint ${endpointId}, so the operator changes nothing. Set spec.deletionPolicy to Retain on one of the two and delete that one.`;
  return stall("OwnershipConflict", message);
}

/** Plans a start or suspend that an annotation asks for, when the endpoint matches spec. */
function planPower({ resource, nowMs, ruling }: Ruled, spec: PlacedSpec, endpoint: ObservedEndpoint): Plan {
  const { action, echo } = powerWishOf(resource, endpoint);
  if (action !== undefined) {
    return { kind: "ChangePower", endpointId: endpoint.id, action, echo };
  }
  const unverifiable = diffEndpoint(spec, endpoint).unverifiable.map(({ field }) => field);
  const dueMs = Math.min(nextScheduleMs(spec, nowMs), Date.parse(ruling.change?.nextTime ?? "") || Infinity);
  return {
    kind: "Settled",
    unverifiable,
    ...(Object.keys(echo).length === 0 ? {} : { echo }),
    ...(dueMs < Infinity && { dueInMs: dueMs - nowMs }),
  };
}

/**
 * Returns what the power annotations ask for. Pure.
 *
 * Each value acts once. It counts as handled when the control plane has accepted the call. It also counts if the
 * compute is in that state already, or is changing to it. Of two new values, suspend comes first. A disabled endpoint
 * is not started; the request waits until the endpoint is enabled.
 * @returns action the call to send; `undefined`: nothing has to be sent. echo: the values that status notes as handled
 */
function powerWishOf(
  resource: Observation["resource"],
  endpoint: ObservedEndpoint,
): { readonly action: PowerAction | undefined; readonly echo: PowerEcho } {
  const { status, annotations: given } = resource;
  const newValue = (asked: string | undefined, handled: string | undefined) => (asked === handled ? undefined : asked);
  const suspendAt = newValue(given[annotations.suspendRequestedAt], status.lastHandledSuspendAt);
  const wakeAt = newValue(given[annotations.wakeRequestedAt], status.lastHandledWakeAt);
  const suspended: PowerEcho = suspendAt === undefined ? {} : { lastHandledSuspendAt: suspendAt };
  if (suspendAt !== undefined && !isIn(endpoint, "idle")) {
    return { action: "suspend", echo: suspended };
  }
  if (wakeAt === undefined || endpoint.disabled) {
    return { action: undefined, echo: suspended };
  }
  const both: PowerEcho = { ...suspended, lastHandledWakeAt: wakeAt };
  return { action: isIn(endpoint, "active") ? undefined : "start", echo: both };
}

function isIn({ state, pendingState }: ObservedEndpoint, wanted: "active" | "idle"): boolean {
  return (pendingState ?? state) === wanted;
}

/**
 * Plans what follows after another client deleted the endpoint. The operator creates a new one if this resource created
 * the old one, or is presumed to have created it. It never replaces an adopted endpoint.
 */
function planReplacement({ origin, endpointId }: Ownership): Plan {
  if (origin !== "Adopted") {
    return { kind: "ForgetEndpoint", endpointId };
  }
  const message = `The adopted endpoint ${endpointId} is gone, and the operator does not replace an adopted endpoint. Delete this resource. To get a new endpoint, create a resource without spec.adoption.`;
  return stall("EndpointGone", message);
}

/**
 * Waits while an operation that the operator's own call started runs. Such an operation locks the project, so the
 * control plane would refuse every change.
 */
export function planOperationWait(given: Pick<Observation, "operations" | "policy">): Plan | undefined {
  const { ownInFlight, inFlightForMs } = given.operations;
  return ownInFlight.length === 0
    ? undefined
    : wait("OperationInFlight", waitingMessage(ownInFlight), pollDelayMs(inFlightForMs, given.policy));
}

/**
 * Sends a changed spec although an own operation has been running for too long: it may never end. The control plane
 * accepts the change, or refuses it with 423.
 */
function planBesideEndless(observation: Ruled, spec: PlacedSpec, endpoint: ObservedEndpoint): Plan | undefined {
  const { operations, resource } = observation;
  if (operations.ownInFlight.length === 0 || operations.inFlightForMs < lockPatienceMs) {
    return undefined;
  }
  const isChanged = acknowledgedIn(resource.status)?.hash !== hashOf(desiredChanges(spec));
  return planMove(observation, spec, endpoint) ?? (isChanged ? planUpdate(observation, spec, endpoint) : undefined);
}

function planMove(observation: Ruled, spec: PlacedSpec, endpoint: ObservedEndpoint): Plan | undefined {
  if (endpoint.branchId === spec.branchId) {
    return undefined;
  }
  const obstacle = spec.type === "ReadWrite" ? planOccupiedTarget(observation, spec.branchId, endpoint) : undefined;
  const isHeld = observation.ruling.held.includes(branchField);
  const isCorrection = observation.resource.status.branchId === spec.branchId;
  const move: Plan = { kind: "MoveEndpoint", endpointId: endpoint.id, branchId: spec.branchId, isCorrection };
  return obstacle ?? (isHeld ? undefined : move);
}

function planOccupiedTarget(observation: Observation, branchId: string, moving: ObservedEndpoint): Plan | undefined {
  const { claims, resource } = observation;
  const occupant = readWriteEndpointOf(observation, branchId);
  const rival = (occupant && holderOf(observation, occupant)) ?? claims.rivalForBranch(branchId, resource);
  if (rival !== undefined) {
    return claimedByAnother(observation, rival, `the read-write endpoint of branch ${branchId}`);
  }
  if (occupant === undefined) {
    return undefined;
  }
  const isHidden = isOwnedElsewhere(observation, occupant) || !observation.grant.mayAdopt;
  const present = isHidden ? "a read-write endpoint" : `the read-write endpoint ${occupant.id}`;
  const message = `Branch ${branchId} already has ${present}, so the endpoint cannot move there. Delete that endpoint, or set spec.branchId to ${moving.branchId} or another branch.`;
  return stall("BranchOccupied", message);
}

/** A size that is held back does not ride along with another change. */
function planUpdate(observation: Ruled, spec: PlacedSpec, endpoint: ObservedEndpoint): Plan | undefined {
  const { compute: _compute, ...others } = spec;
  const sent = observation.ruling.held.includes(sizeField) ? others : spec;
  const diff = diffEndpoint(sent, endpoint);
  const hash = hashOf(desiredChanges(sent));
  const acknowledged = acknowledgedIn(observation.resource.status);
  if (acknowledged?.hash !== hash && acknowledged?.hash !== hashOf(desiredChanges(spec))) {
    const isNothingToSend = diff.differing.length === 0 && diff.unverifiable.length === 0;
    return isNothingToSend ? undefined : update(diff, endpoint, hash);
  }
  return diff.differing.length === 0 ? undefined : planDrift(observation, acknowledged, { ...diff, endpoint });
}

function planDrift(
  { nowMs, operations }: Observation,
  acknowledged: Acknowledged,
  diff: EndpointDiff & { readonly endpoint: ObservedEndpoint },
): Plan {
  const fields = diff.differing.map(({ field }) => `spec.${field}`).join(", ");
  if (!mayResend(acknowledged, operations.failedIds)) {
    const message = `The control plane accepted ${fields} twice and still shows other values, so the operator does not send them a third time. Set the fields to what the control plane shows, or remove them from spec.`;
    return stall("DriftPersists", message);
  }
  const waitMs = resendWaitMs(acknowledged, nowMs);
  const message = `The control plane shows other values for ${fields} than it accepted. The operator sends them again later.`;
  return waitMs <= 0
    ? { ...update({ ...diff, unverifiable: [] }, diff.endpoint, acknowledged.hash), isCorrection: true }
    : wait("Retrying", message, waitMs);
}

function update(diff: EndpointDiff, endpoint: ObservedEndpoint, hash: string): PlanOf<"UpdateEndpoint"> {
  return {
    kind: "UpdateEndpoint",
    endpointId: endpoint.id,
    changes: mergeChanges([...diff.differing, ...diff.unverifiable]),
    hash,
    // Only a change of size restarts an active compute.
    restarts: diff.differing.some(({ field }) => field === "compute") && endpoint.state === "active",
  };
}

export function planDeletion({ endpointId }: Ownership, observation: Observation): Plan {
  const conflict = ownershipConflict(observation, endpointId);
  if (conflict !== undefined) {
    return conflict;
  }
  const { snapshot, operations, policy } = observation;
  switch (remoteStateOf(snapshot, endpointId).kind) {
    case "Absent":
      return { kind: "RemoveFinalizer", cause: "Gone" };
    case "Unknown":
    case "Listed":
      return lookAt(endpointId);
    case "Present":
      // An operation of an accepted DELETE locks the project, so for a minute no other DELETE is sent.
      return { kind: "DeleteEndpoint", endpointId, lookAgainMs: pollDelayMs(operations.inFlightForMs, policy) };
  }
}
