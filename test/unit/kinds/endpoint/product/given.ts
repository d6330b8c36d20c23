/** Makes the observation of a combination of factors. */
import type { ObservedEndpoint } from "../../../../../src/domain/endpoint.ts";
import type { Claim } from "../../../../../src/kinds/endpoint/claims.ts";
import type { Observation } from "../../../../../src/kinds/endpoint/plan.ts";
import { endpointName, ownershipToken } from "../../../../../src/resource/identity.ts";
import { annotations } from "../../../../../src/resource/names.ts";
import type { ComputeEndpointSpec } from "../../../../../src/resource/spec-schema.ts";
import type { ComputeEndpointStatus } from "../../../../../src/resource/status-schema.ts";
import {
  acknowledged,
  branch,
  claim,
  endpoint,
  intent,
  intentMemory,
  memory,
  monotonicMs,
  observation,
  operation,
  otherBranch,
  otherName,
  ownership,
  ownName,
  policy,
  project,
  resource,
  timeAt,
} from "../builders.ts";
import type { Factors } from "./factors.ts";

/** The other endpoint of the project, if there is one. */
export const candidateId = "ep-candidate-2";
/** The endpoint that an unstored answer to our own create named. */
export const answeredId = "ep-answered-3";

const managed = { disabled: true } as const;

/** Freezes a value and all its parts, so that a decision that changes its input throws. */
export function deepFreeze<Value>(value: Value): Value {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) {
      deepFreeze(part);
    }
  }
  return value;
}

type Part<Value> = (factors: Factors) => Value;

/** Makes a part that depends on few factors only once, frozen and shared, because the product is large. */
function shared<Value>(names: readonly (keyof Factors)[], make: Part<Value>): Part<Value> {
  const made = new Map<string, Value>();
  return (factors) => {
    const key = names.reduce((levels, name) => `${levels},${factors[name]}`, "");
    const known = made.get(key) ?? deepFreeze(make(factors));
    made.set(key, known);
    return known;
  };
}

const ofSpec = ["type", "spec", "deletion", "adoption", "isTakeOver", "remote"] as const;
const ofStatus = ["ownership", "intent", "isOwnOperationInFlight"] as const;

/** Makes the frozen observations that factors describe. */
export function createGiven(): Part<Observation> {
  const specPart = shared(ofSpec, specOf);
  const statusPart = shared([...ofSpec, ...ofStatus], statusOf);
  const resourcePart = shared([...ofSpec, ...ofStatus, "isPaused", "hasFinalizer", "resolution"], (factors) =>
    resource({
      ...specPart(factors),
      isPaused: factors.isPaused,
      hasFinalizer: factors.hasFinalizer,
      isDeleting: factors.deletion !== "None",
      isOwnershipReadable: factors.ownership !== "Unreadable",
      status: statusPart(factors),
      annotations: annotationsOf(factors),
    }),
  );
  const projectPart = shared(
    ["type", "spec", "ownership", "remote", "echoesNames", "candidate", "isSettled"],
    (factors) =>
      observation({
        resource: resourcePart(factors),
        endpoints: [...ownEndpoint(factors), ...candidate(factors)],
        echoesNames: factors.echoesNames,
        startedAtMs: monotonicMs + (factors.isSettled ? policy.createSettleMs : 0),
        ...(factors.remote === "Unproven" ? { readIds: [] } : {}),
      }).project,
  );
  const claimsPart = shared(["claims", "type", "spec"], (factors) => observation({ claims: claimsOf(factors) }).claims);
  const memoryPart = shared(["intent", "posts", "type"], memoryOf);
  const idle = deepFreeze(observation());
  const busy = deepFreeze(observation({ operations: { ownInFlight: [running] } }));
  return (factors) =>
    Object.freeze({
      ...(factors.isOwnOperationInFlight ? busy : idle),
      resource: resourcePart(factors),
      project: projectPart(factors),
      claims: claimsPart(factors),
      memory: memoryPart(factors),
    });
}

const running = operation({ id: "op-own", action: "apply_config", status: "running", createdTime: timeAt(-4_000) });

function isOwned({ ownership: origin }: Factors): boolean {
  return origin !== "None" && origin !== "Unreadable";
}

function validSpec({ type, spec, deletion, adoption, isTakeOver, remote }: Factors): ComputeEndpointSpec {
  return {
    projectId: project,
    type,
    branchId: spec === "Moved" ? otherBranch : branch,
    ...managed,
    ...(remote === "Unverifiable" ? { suspend: { mode: "Never" } } : {}),
    ...(deletion === "Delete" || deletion === "Retain" ? { deletionPolicy: deletion } : {}),
    ...(adoption === "None"
      ? {}
      : {
          adoption: {
            policy: adoption,
            ...(isTakeOver ? { takeOver: true } : {}),
            ...(type === "ReadOnly" ? { endpointId: candidateId } : {}),
          },
        }),
  };
}

function specOf(factors: Factors) {
  const { deletion } = factors;
  const deletionPolicy = deletion === "Delete" || deletion === "Retain" ? { deletionPolicy: deletion } : {};
  return factors.spec === "Broken" ? { brokenSpec: deletionPolicy } : { spec: validSpec(factors) };
}

function statusOf(factors: Factors): ComputeEndpointStatus {
  const { ownership: origin, type, isOwnOperationInFlight } = factors;
  if (factors.intent === "Open") {
    return { createIntent: intent({ type }) };
  }
  if (!isOwned(factors)) {
    return {};
  }
  const times = { createdTime: timeAt(-4_000), updatedTime: timeAt(-4_000) };
  return {
    ownership:
      origin === "Foreign"
        ? ownership({ clusterId: "cluster-b" })
        : ownership({ origin: origin as "Created" | "Adopted" | "Presumed" }),
    bookkeeping: acknowledged(validSpec(factors)),
    ...(isOwnOperationInFlight
      ? { operations: [{ id: "op-own", action: "apply_config", status: "running", cause: "SpecChange", ...times }] }
      : {}),
  };
}

function ownEndpoint(factors: Factors): readonly ObservedEndpoint[] {
  const isThere = isOwned(factors) && factors.remote !== "Absent" && factors.remote !== "Unproven";
  const name = factors.echoesNames ? ownName : undefined;
  return isThere ? [endpoint({ type: factors.type, name, disabled: factors.remote !== "Differs" })] : [];
}

/** Makes the other endpoint. It is on the branch that a create or a move is about. */
function candidate({ candidate: kind, type, spec, ownership: origin }: Factors): readonly ObservedEndpoint[] {
  if (kind === "None") {
    return [];
  }
  const elsewhere = endpointName("orders", ownershipToken("cluster-b", "uid-elsewhere"));
  const names = {
    Nameless: undefined,
    OwnToken: ownName,
    SiblingToken: otherName,
    OtherCluster: elsewhere,
    OtherName: "made-by-hand",
  };
  const isTarget = spec === "Moved" && origin !== "None";
  return [
    endpoint({
      id: candidateId,
      type,
      branchId: isTarget ? otherBranch : branch,
      name: names[kind],
      ...managed,
    }),
  ];
}

/** Returns what the other resource claims. */
function claimsOf({ claims, type, spec }: Factors): readonly Claim[] {
  const branchId = spec === "Moved" ? otherBranch : branch;
  switch (claims) {
    case "None":
      return [];
    case "Owner":
      return [claim({ ownedEndpointId: candidateId })];
    case "Intent":
      return [claim({ intent: intent({ branchId, type, token: "sibling" }) })];
    case "OwnsOurs":
      return [claim({ ownedEndpointId: "ep-own-1" })];
    case "Elder":
      return [claim({ wish: { projectId: project, branchId, type, adoption: { policy: "AdoptOrCreate" } } })];
  }
}

function memoryOf({ intent: open, posts, type }: Factors): Observation["memory"] {
  if (posts === "Answered") {
    const answer = { endpoint: endpoint({ id: answeredId, type }), operations: [], hash: "h" };
    return intentMemory({ isUnresolved: false, answer });
  }
  return open === "Open" ? intentMemory({ isUnresolved: posts === "Unresolved" }) : memory();
}

function annotationsOf({ resolution }: Factors): Readonly<Record<string, string>> {
  const answers = { None: undefined, Adopt: `adopt=${candidateId}`, Abandon: "abandon=attempt-1" };
  const answer = answers[resolution];
  return answer === undefined ? {} : { [annotations.resolveCreate]: answer };
}
