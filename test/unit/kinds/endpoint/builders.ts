/** Makes observations for tests of decisions, and decides about them as the engine does. */

import type { ObservedEndpoint } from "../../../../src/domain/endpoint.ts";
import type { Operation } from "../../../../src/domain/operation.ts";
import { planStanding } from "../../../../src/engine/decision.ts";
import { fullGrant, type PlaneProblem, type ProjectGrant } from "../../../../src/engine/grant.ts";
import type { MemoryOf } from "../../../../src/engine/kind.ts";
import { memoryOf, type Policy, type Posts } from "../../../../src/engine/memory.ts";
import type { ProjectReads } from "../../../../src/engine/project-reads.ts";
import { type Claim, ProjectClaims } from "../../../../src/kinds/endpoint/claims.ts";
import { planAnswered, planFromSnapshot } from "../../../../src/kinds/endpoint/decide.ts";
import { desiredChanges, desiredFields, hashOf } from "../../../../src/kinds/endpoint/desired-endpoint.ts";
import { EndpointKind } from "../../../../src/kinds/endpoint/endpoint-kind.ts";
import type {
  EndpointAnswer,
  EndpointOutcome,
  EndpointStep,
  EndpointTypes,
  Observation,
  OperationFacts,
  Plan,
} from "../../../../src/kinds/endpoint/plan.ts";
import type { Acknowledged } from "../../../../src/resource/bookkeeping.ts";
import { type BranchPlace, byId } from "../../../../src/resource/branch-place.ts";
import type { ComputeEndpoint } from "../../../../src/resource/compute-endpoint.ts";
import { endpointName, type Identity, ownershipToken } from "../../../../src/resource/identity.ts";
import { annotations, finalizer } from "../../../../src/resource/names.ts";
import type { ComputeEndpointSpec } from "../../../../src/resource/spec-schema.ts";
import type {
  Bookkeeping,
  ComputeEndpointStatus,
  Condition,
  CreateIntent,
  Ownership,
} from "../../../../src/resource/status-schema.ts";
import { FakeResourceStore } from "../../../support/fakes/fake-resource-store.ts";
import { observedEndpoint } from "../../../support/fakes/observed-endpoint.ts";
import { observedOperation } from "../../../support/fakes/observed-operation.ts";

/** The time of every observation, unless a test sets another one; epoch milliseconds. */
export const nowMs = Date.UTC(2026, 10, 21, 12);
/**
 * The same time on the monotonic clock. It differs much from the other, so that a test notices code that mixes them up.
 */
export const monotonicMs = 5_000_000;

export const uid = "uid-orders";
export const otherUid = "uid-billing";
export const project = "green-fox-123456";
export const branch = "br-main-1";
export const otherBranch = "br-other-2";
export const identity: Identity = { clusterId: "cluster-a", serviceUrl: "https://service.example/api/v2" };
export const policy: Policy = { createSettleMs: 150_000, operationPollMs: 5_000, resyncMs: 600_000 };

export const token = ownershipToken(identity.clusterId, uid);
export const ownName = endpointName("orders", token);
export const otherName = endpointName("billing", ownershipToken(identity.clusterId, otherUid));

/** Returns the time of the observation plus this number of milliseconds, as RFC 3339. */
export function timeAt(offsetMs: number): string {
  return new Date(nowMs + offsetMs).toISOString();
}

/** Makes an endpoint: read-write, on the main branch, idle, without a name, one hour old. */
export function endpoint(change: Partial<ObservedEndpoint> = {}): ObservedEndpoint {
  const createdTime = timeAt(-3_600_000);
  const given = { id: "ep-own-1", projectId: project, branchId: branch, createdTime, updatedTime: createdTime };
  return observedEndpoint({ ...given, ...change });
}

/** Makes an operation of the default endpoint: a successful start, half an hour ago. */
export function operation(change: Partial<Operation> = {}): Operation {
  const createdTime = change.createdTime ?? timeAt(-1_800_000);
  const given = { id: "op-1", projectId: project, branchId: branch, endpointId: "ep-own-1", createdTime };
  return observedOperation({ ...given, ...change });
}

/** Makes a spec that manages no field except branch and type. */
export function spec(change: Partial<ComputeEndpointSpec> = {}): ComputeEndpointSpec {
  return { projectId: project, branchId: branch, type: "ReadWrite", ...change };
}

/** Makes an ownership record of the default endpoint, made for this resource in this cluster. */
export function ownership(change: Partial<Ownership> = {}): Ownership {
  return {
    endpointId: "ep-own-1",
    origin: "Created",
    resourceUid: uid,
    clusterId: identity.clusterId,
    serviceUrl: identity.serviceUrl,
    projectId: project,
    ...change,
  };
}

/** Makes an intent for the main branch. No endpoint existed when it was stored. */
export function intent(change: Partial<CreateIntent> = {}): CreateIntent {
  return {
    attempt: "attempt-1",
    token,
    serviceUrl: identity.serviceUrl,
    projectId: project,
    branchId: branch,
    type: "ReadWrite",
    preIds: [],
    ...change,
  };
}

/** The control plane accepted the values of a spec one minute ago, and showed them. */
export function acknowledged(of: ComputeEndpointSpec, change: Partial<Acknowledged> = {}): Bookkeeping {
  const record: Acknowledged = {
    hash: hashOf(desiredChanges(of)),
    fields: desiredFields(of).map(({ field }) => field),
    attempts: 1,
    unmatchedAttempts: 0,
    time: timeAt(-60_000),
    ...change,
  };
  return { acknowledged: JSON.stringify(record) };
}

/** The differences to a plain resource that has its finalizer and is not being deleted. */
export interface ResourceChange extends Partial<Omit<ComputeEndpoint, "spec">> {
  readonly spec?: Partial<ComputeEndpointSpec>;
  /** A stored spec that does not fit the schema. */
  readonly brokenSpec?: { readonly deletionPolicy?: "Delete" | "Retain" };
  readonly isDeleting?: boolean;
  readonly isPaused?: boolean;
  readonly hasFinalizer?: boolean;
}

export function resource(change: ResourceChange = {}): ComputeEndpoint {
  const { spec: specChange, brokenSpec, isDeleting, isPaused, hasFinalizer = true, ...rest } = change;
  return {
    key: { namespace: "shop", name: "orders" },
    uid,
    resourceVersion: "7",
    generation: 1,
    creationTimestamp: timeAt(-7_200_000),
    deletionTimestamp: isDeleting ? timeAt(-10_000) : undefined,
    finalizers: hasFinalizer ? [finalizer] : [],
    status: {},
    isOwnershipReadable: true,
    claimedId: rest.status?.ownership?.endpointId,
    ...rest,
    annotations: { ...(isPaused ? { [annotations.paused]: "true" } : {}), ...rest.annotations },
    spec:
      brokenSpec === undefined
        ? { kind: "Valid", spec: spec(specChange) }
        : {
            kind: "Invalid",
            problems: "spec.type: not a type",
            controlPlaneRef: undefined,
            projectId: project,
            deletionPolicy: brokenSpec.deletionPolicy,
            management: undefined,
          },
  };
}

/** Makes the claim of another, older resource of the same namespace. It owns no endpoint and asks for none. */
export function claim(change: Partial<Claim> = {}): Claim {
  return {
    key: { namespace: "shop", name: "billing" },
    uid: otherUid,
    creationTimestamp: timeAt(-9_000_000),
    ownedEndpointId: undefined,
    intent: undefined,
    wanted: undefined,
    ...change,
  };
}

type Memory = MemoryOf<EndpointTypes>;

export function memory(change: Partial<Memory> = {}): Memory {
  const resource = { uid, key: { namespace: "shop", name: "orders" } };
  const fresh = memoryOf({ resources: new Map() }, resource, monotonicMs);
  return { ...fresh, posts: undefined, hint: undefined, ...change };
}

/**
 * Makes the memory of the default intent: this process first read it a second ago, and does not know whether a POST was
 * sent.
 */
export function intentMemory(change: Partial<Posts<EndpointAnswer>> = {}): Memory {
  const seen = { attempt: "attempt-1", isUnresolved: true, sinceMs: monotonicMs - 1_000, answer: undefined };
  return memory({ posts: { ...seen, ...change } });
}

interface ObservationChange {
  readonly resource?: ComputeEndpoint;
  readonly endpoints?: readonly ObservedEndpoint[];
  /**
   * The ids of endpoints that were read by id; one that is not in `endpoints` was answered 404.
   * @default every endpoint, and the owned one
   */
  readonly readIds?: readonly string[];
  readonly unreadableIds?: readonly string[];
  readonly operations?: Partial<OperationFacts>;
  readonly echoesNames?: boolean;
  readonly startedAtMs?: number;
  readonly nowMs?: number;
  readonly claims?: readonly Claim[];
  readonly memory?: Memory;
  readonly identity?: Identity;
  /** @default the branch by its id */
  readonly place?: BranchPlace;
  /** @default everything is granted */
  readonly grant?: ProjectGrant;
}

export function observation(change: ObservationChange = {}): Observation {
  const self = change.resource ?? resource();
  const listed = change.endpoints ?? [];
  const ownedId = self.status.ownership?.endpointId;
  const readIds = change.readIds ?? [...listed.map(({ id }) => id), ...(ownedId === undefined ? [] : [ownedId])];
  return {
    nowMs: change.nowMs ?? nowMs,
    monotonicMs,
    resource: self,
    identity: change.identity ?? identity,
    policy,
    isDue: true,
    isChanged: true,
    claims: new ProjectClaims(change.claims ?? [], change.identity ?? identity),
    memory: change.memory ?? memory(),
    grant: change.grant ?? fullGrant,
    place: change.place ?? byId,
    snapshot: {
      startedAtMs: change.startedAtMs ?? monotonicMs,
      endpoints: new Map(listed.map((each) => [each.id, each])),
      unreadableIds: change.unreadableIds ?? [],
      readsById: new Set(readIds),
      echoesNames: change.echoesNames ?? false,
    },
    operations: {
      ownInFlight: [],
      inFlightForMs: 0,
      failedIds: new Set(),
      shown: [],
      isSuspended: false,
      ...change.operations,
    },
  };
}

/** Makes an observation of a resource that owns the default endpoint. Its spec manages these fields. */
export function owned(managed: Partial<ComputeEndpointSpec> = {}, change: OwnedChange = {}): Observation {
  const { status, resource: resourceChange, endpoint: endpointChange, ...rest } = change;
  return observation({
    resource: resource({
      ...resourceChange,
      spec: managed,
      status: {
        ownership: ownership(),
        bookkeeping: acknowledged(spec(managed)),
        ...status,
      },
    }),
    endpoints: [endpoint(endpointChange)],
    ...rest,
  });
}

/** The differences to a settled resource with its endpoint. */
interface OwnedChange extends Omit<ObservationChange, "resource"> {
  readonly status?: ComputeEndpointStatus;
  readonly resource?: Omit<ResourceChange, "spec" | "status" | "brokenSpec">;
  readonly endpoint?: Partial<ObservedEndpoint>;
}

/** Makes an observation of a resource with an open create. */
export function creating(open: Partial<CreateIntent> = {}, change: CreatingChange = {}): Observation {
  const { resource: resourceChange, status, ...rest } = change;
  const type = open.type ?? "ReadWrite";
  return observation({
    resource: resource({ spec: { type }, ...resourceChange, status: { createIntent: intent(open), ...status } }),
    memory: intentMemory(),
    ...rest,
  });
}

/** The differences to a resource whose create has been unresolved for a second. */
interface CreatingChange extends Omit<ObservationChange, "resource"> {
  readonly resource?: Omit<ResourceChange, "status">;
  readonly status?: Pick<ComputeEndpointStatus, "conditions">;
}

const kind = new EndpointKind(new FakeResourceStore());

/** Decides as the engine does: first by what every kind has in common. @param problem of the control plane */
export function planFor(given: Observation, problem?: PlaneProblem): Plan {
  const { nowMs: now, policy: used, identity: ours, grant } = given;
  const facts = { key: project, planeId: "", projectId: project, identity: ours, policy: used, problem };
  const times = { nowMs: now, monotonicMs: given.monotonicMs };
  const scope = kind.begin({ ...facts, ...times, grantOf: () => grant });
  return planStanding(scope, given, { finalizer, problem }) ?? planAnswered(given) ?? planFromSnapshot(given);
}

/** One row of a table of decisions. */
export interface Row {
  readonly name: string;
  readonly why: string;
  readonly given: Observation;
  /** Why the control plane cannot be used. @default it can */
  readonly problem?: PlaneProblem;
  readonly want: Partial<Record<string, unknown>> & Pick<Plan, "kind">;
}

/** Returns the step of a plan that was carried out with this outcome. */
export function stepOf(given: Observation, outcome: EndpointOutcome, plan: Plan = planFor(given)): EndpointStep {
  const reads = { project: { snapshot: given.snapshot } as ProjectReads };
  return { facts: given, reads, plan, outcome };
}

/** Makes a condition of the first generation. */
export function condition(change: Partial<Condition> & Pick<Condition, "type" | "status">): Condition {
  return {
    observedGeneration: 1,
    lastTransitionTime: "2026-11-21T11:00:00Z",
    reason: "UpToDate",
    message: "The endpoint matches spec.",
    ...change,
  };
}
