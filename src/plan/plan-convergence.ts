import type { ObservedEndpoint } from "../domain/endpoint.ts";
import type { ComputeEndpointSpec } from "../resource/spec-schema.ts";
import type { Acknowledged } from "../resource/status-schema.ts";
import { operationsOf } from "./attribute-operations.ts";
import { ownerAmong, rivalForBranch, suspectorAmong } from "./claims.ts";
import { desiredChanges, hashOf, mergeChanges } from "./desired-endpoint.ts";
import { diffEndpoint, type EndpointDiff, restartsCompute } from "./diff-endpoint.ts";
import { mayResend, resendDelayMs } from "./drift.ts";
import type { Observation, Policy } from "./observation.ts";
import type { Plan } from "./plan.ts";
import { claimedByAnother } from "./plan-acquisition.ts";
import { planDuplicate } from "./plan-duplicate.ts";
import { pollDelayMs } from "./poll-delay.ts";
import { waitingMessage } from "./waiting-message.ts";

/** The next step of a resource that owns an endpoint: make it match, wait for what we started, or be settled. */
export function planConvergence(observation: Observation, spec: ComputeEndpointSpec, policy: Policy): Plan {
  const { remote } = observation;
  switch (remote.kind) {
    case "NotOwned":
      throw new Error("convergence needs an owned endpoint");
    case "Absent":
      return planReplacement(observation);
    case "Unproven":
      return {
        kind: "Wait",
        reason: "Retrying",
        message: "The service's list and its answer by id disagree about the endpoint; reading again.",
        requeueAfterMs: policy.operationPollMs,
      };
    case "Present":
      return (
        planDuplicate(observation) ??
        planMove(observation, spec, remote.endpoint) ??
        planUpdate(observation, spec, remote.endpoint) ??
        planOperationWait(observation, policy) ?? {
          kind: "Settled",
          unverifiable: diffEndpoint(spec, remote.endpoint).unverifiable.map(({ field }) => field),
        }
      );
  }
}

/** Gone by another hand. What we made we make again; what was lent to us is not ours to replace. */
function planReplacement({ resource }: Observation): Plan {
  const ownership = resource.status.ownership;
  if (ownership === undefined) {
    throw new Error("a replacement needs a recorded endpoint");
  }
  if (ownership.origin !== "Adopted") {
    return { kind: "ForgetEndpoint", endpointId: ownership.endpointId };
  }
  return {
    kind: "Stall",
    reason: "EndpointGone",
    message: `The adopted endpoint ${ownership.endpointId} was deleted by another hand and is not created again. Delete this resource, or delete it and create one without spec.adoption to get a new endpoint.`,
  };
}

function planMove(observation: Observation, spec: ComputeEndpointSpec, endpoint: ObservedEndpoint): Plan | undefined {
  if (endpoint.branchId === spec.branchId) {
    return undefined;
  }
  if (spec.type === "ReadWrite") {
    const obstacle = planOccupiedTarget(observation, spec.branchId, endpoint);
    if (obstacle !== undefined) {
      return obstacle;
    }
  }
  return { kind: "MoveEndpoint", endpointId: endpoint.id, branchId: spec.branchId };
}

function planOccupiedTarget(observation: Observation, branchId: string, moving: ObservedEndpoint): Plan | undefined {
  const { project, claims, resource } = observation;
  const occupant = project.endpoints.find(
    (each) => each.branchId === branchId && each.type === "ReadWrite" && each.id !== moving.id,
  );
  const rival =
    (occupant && (ownerAmong(claims, occupant.id) ?? suspectorAmong(claims, occupant))) ??
    rivalForBranch(claims, branchId, resource);
  if (rival !== undefined) {
    return claimedByAnother(observation, rival, `the read-write endpoint of branch ${branchId}`);
  }
  return occupant === undefined
    ? undefined
    : {
        kind: "Stall",
        reason: "BranchOccupied",
        message: `Branch ${branchId} already has the read-write endpoint ${occupant.id}, so the endpoint cannot move there. Delete that endpoint, or set spec.branchId to ${moving.branchId} or another branch.`,
      };
}

function planUpdate(observation: Observation, spec: ComputeEndpointSpec, endpoint: ObservedEndpoint): Plan | undefined {
  const diff = diffEndpoint(spec, endpoint);
  const hash = hashOf(desiredChanges(spec));
  const acknowledged = observation.resource.status.acknowledged;
  if (acknowledged?.hash !== hash) {
    const isNothingToSend = diff.differing.length === 0 && diff.unverifiable.length === 0;
    return isNothingToSend ? undefined : update(diff, endpoint, hash);
  }
  return diff.differing.length === 0 ? undefined : planDrift(observation, { diff, endpoint, hash, acknowledged });
}

interface Drift {
  readonly diff: EndpointDiff;
  readonly endpoint: ObservedEndpoint;
  readonly hash: string;
  readonly acknowledged: Acknowledged;
}

/** The service accepted these values and shows others. */
function planDrift(observation: Observation, { diff, endpoint, hash, acknowledged }: Drift): Plan | undefined {
  if (hasOwnOperationInFlight(observation)) {
    return undefined;
  }
  const { status } = observation.resource;
  const fields = diff.differing.map(({ field }) => `spec.${field}`).join(", ");
  if (!mayResend(acknowledged, status.failedActions ?? [])) {
    return {
      kind: "Stall",
      reason: "DriftPersists",
      message: `The service accepted ${fields} twice and still shows other values; it is not sent a third time. Set the fields to what the service shows, or remove them from spec to stop managing them.`,
    };
  }
  const waitMs = Date.parse(acknowledged.time) + resendDelayMs(acknowledged) - observation.nowMs;
  return waitMs <= 0
    ? update({ ...diff, unverifiable: [] }, endpoint, hash)
    : {
        kind: "Wait",
        reason: "Retrying",
        message: `The service shows other values for ${fields} than it accepted; they are sent again later.`,
        requeueAfterMs: waitMs,
      };
}

function update(diff: EndpointDiff, endpoint: ObservedEndpoint, hash: string): Plan {
  const fields = [...diff.differing, ...diff.unverifiable];
  return {
    kind: "UpdateEndpoint",
    endpointId: endpoint.id,
    changes: mergeChanges(fields),
    hash,
    restarts: restartsCompute(diff.differing) && endpoint.state === "active",
  };
}

function planOperationWait(observation: Observation, policy: Policy): Plan | undefined {
  const inFlight = operationsOf(observation).filter(
    (each) => each.cause === "SpecChange" && each.outcome === "InFlight",
  );
  const [newest] = inFlight;
  if (newest === undefined) {
    return undefined;
  }
  return {
    kind: "Wait",
    reason: "OperationInFlight",
    message: waitingMessage(inFlight.map(({ operation }) => operation)),
    requeueAfterMs: pollDelayMs(observation.nowMs - Date.parse(newest.operation.createdTime), policy),
  };
}

function hasOwnOperationInFlight(observation: Observation): boolean {
  return operationsOf(observation).some((each) => each.cause === "SpecChange" && each.outcome === "InFlight");
}
