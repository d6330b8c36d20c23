import { ControlPlaneError, type ControlPlaneReason } from "../../../src/domain/control-plane-error.ts";
import type { ObservedEndpoint } from "../../../src/domain/endpoint.ts";
import { compareNewestFirst, type Operation } from "../../../src/domain/operation.ts";
import type { Claim } from "../../../src/plan/claims.ts";
import { desiredChanges, desiredFields, hashOf } from "../../../src/plan/desired-endpoint.ts";
import type { Identity, Memory, Observation, Policy, RemoteState } from "../../../src/plan/observation.ts";
import type { Outcome } from "../../../src/plan/outcome.ts";
import { endpointName, ownershipToken } from "../../../src/plan/ownership-token.ts";
import { beginWatermark } from "../../../src/plan/watermark.ts";
import type { ComputeEndpoint } from "../../../src/resource/compute-endpoint.ts";
import { annotations, finalizer } from "../../../src/resource/names.ts";
import type { ComputeEndpointSpec } from "../../../src/resource/spec-schema.ts";
import type {
  Acknowledged,
  ComputeEndpointStatus,
  Condition,
  CreateIntent,
  OperationWatermark,
  Ownership,
} from "../../../src/resource/status-schema.ts";
import { observedEndpoint } from "../../support/fakes/observed-endpoint.ts";

/** The moment of every observation unless a test says otherwise; epoch milliseconds. */
export const nowMs = Date.UTC(2026, 10, 21, 12);
/** The same moment on the monotonic clock: far from the other, so that mixing them up shows. */
export const monotonicMs = 5_000_000;

export const uid = "uid-orders";
export const otherUid = "uid-billing";
export const project = "green-fox-123456";
export const branch = "br-main-1";
export const otherBranch = "br-other-2";
export const identity: Identity = { clusterId: "cluster-a", serviceUrl: "https://service.example/api/v2" };
export const policy: Policy = { createSettleMs: 150_000, operationPollMs: 5_000, resyncMs: 600_000 };

export const token = ownershipToken(identity.clusterId, uid);
export const otherToken = ownershipToken(identity.clusterId, otherUid);
export const ownName = endpointName("orders", token);
export const otherName = endpointName("billing", otherToken);

/** RFC 3339, so many milliseconds from the moment of the observation. */
export function timeAt(offsetMs: number): string {
  return new Date(nowMs + offsetMs).toISOString();
}

/** An endpoint of the service: read-write on the main branch, idle, nameless, an hour old. */
export function endpoint(change: Partial<ObservedEndpoint> = {}): ObservedEndpoint {
  const createdTime = timeAt(-3_600_000);
  const given = { id: "ep-own-1", projectId: project, branchId: branch, createdTime, updatedTime: createdTime };
  return observedEndpoint({ ...given, ...change });
}

/** An operation of the default endpoint: a start that ended well, half an hour ago. */
export function operation(change: Partial<Operation> = {}): Operation {
  const createdTime = change.createdTime ?? timeAt(-1_800_000);
  return {
    id: "op-1",
    projectId: project,
    branchId: branch,
    endpointId: "ep-own-1",
    action: "start_compute",
    status: "finished",
    failuresCount: 0,
    createdTime,
    updatedTime: createdTime,
    totalDurationMs: undefined,
    error: undefined,
    ...change,
  };
}

/** A spec that manages nothing but place and type. */
export function spec(change: Partial<ComputeEndpointSpec> = {}): ComputeEndpointSpec {
  return { projectId: project, branchId: branch, type: "ReadWrite", ...change };
}

/** A record of the default endpoint, made here by this resource. */
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

/** An open create on the main branch, recorded just now, with nothing there before. */
export function intent(change: Partial<CreateIntent> = {}): CreateIntent {
  return {
    attempt: "attempt-1",
    token,
    serviceUrl: identity.serviceUrl,
    projectId: project,
    branchId: branch,
    type: "ReadWrite",
    bodyHash: hashOf(desiredChanges(spec())),
    preIds: [],
    time: timeAt(-1_000),
    ...change,
  };
}

/** The log of an endpoint that we made, before anything was counted. */
export function logBegun(of: ObservedEndpoint = endpoint()): OperationWatermark {
  const reading = { operations: [], newestListedTime: undefined };
  return beginWatermark({ origin: "Created", endpoint: of, previous: undefined, ...reading }).watermark;
}

/** What the service accepted for a spec, a minute ago, and showed. */
export function acknowledged(of: ComputeEndpointSpec, change: Partial<Acknowledged> = {}): Acknowledged {
  return {
    generation: 1,
    hash: hashOf(desiredChanges(of)),
    fields: desiredFields(of).map(({ field }) => field),
    attempts: 1,
    unmatchedAttempts: 0,
    time: timeAt(-60_000),
    ...change,
  };
}

/** What is said of the custom resource; everything else is that of a plain live one with its finalizer. */
export interface ResourceChange extends Partial<Omit<ComputeEndpoint, "spec">> {
  readonly spec?: Partial<ComputeEndpointSpec>;
  /** A stored spec that no longer fits. */
  readonly brokenSpec?: { readonly deletionPolicy?: "Delete" | "Retain" };
  readonly isDeleting?: boolean;
  readonly isPaused?: boolean;
  readonly hasFinalizer?: boolean;
}

/** The resource shop/orders. */
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
    ...rest,
    annotations: { ...(isPaused ? { [annotations.paused]: "true" } : {}), ...rest.annotations },
    spec:
      brokenSpec === undefined
        ? { kind: "Valid", spec: spec(specChange) }
        : {
            kind: "Invalid",
            problems: "spec.type: not a type",
            projectId: project,
            deletionPolicy: brokenSpec.deletionPolicy,
          },
  };
}

/** Another resource's claim: an older one of the same namespace that neither owns nor asks for anything. */
export function claim(change: Partial<Claim> = {}): Claim {
  return {
    key: { namespace: "shop", name: "billing" },
    uid: otherUid,
    creationTimestamp: timeAt(-9_000_000),
    ownedEndpointId: undefined,
    openIntent: undefined,
    isStalled: false,
    wish: undefined,
    ...change,
  };
}

/** What this process remembers: nothing, as after a start. */
export function memory(change: Partial<Memory> = {}): Memory {
  return {
    intent: undefined,
    answeredCreate: undefined,
    failure: undefined,
    ownOperationIds: [],
    lastWriteMs: undefined,
    lastAnswer: undefined,
    lastDeleteMs: undefined,
    ...change,
  };
}

/** What this process remembers of the default intent: met just now, not known what was posted. */
export function intentMemory(change: Partial<NonNullable<Memory["intent"]>> = {}): Memory {
  return memory({
    intent: {
      attempt: "attempt-1",
      posts: "Unresolved",
      firstSeenMs: monotonicMs - 1_000,
      storedVersion: undefined,
      lastPostMs: undefined,
      ...change,
    },
  });
}

/** What one observation is made from. */
export interface ObservationChange {
  readonly resource?: ComputeEndpoint;
  readonly endpoints?: readonly ObservedEndpoint[];
  readonly operations?: readonly Operation[];
  /** @default that of the newest operation: the list shows them all */
  readonly newestListedTime?: string | undefined;
  readonly echoesNames?: boolean;
  readonly asOfMs?: number;
  readonly nowMs?: number;
  readonly claims?: readonly Claim[];
  readonly memory?: Memory;
  readonly remote?: RemoteState;
  readonly isCreateTurn?: boolean;
  readonly identity?: Identity;
}

/** A complete read: an empty project, unless told otherwise; the remote state follows from ownership and list. */
export function observation(change: ObservationChange = {}): Observation {
  const self = change.resource ?? resource();
  const endpoints = change.endpoints ?? [];
  return {
    nowMs: change.nowMs ?? nowMs,
    resource: self,
    identity: change.identity ?? identity,
    claims: change.claims ?? [],
    memory: change.memory ?? memory(),
    project: {
      projectId: project,
      asOfMs: change.asOfMs ?? monotonicMs,
      endpoints,
      unreadableEndpointIds: [],
      operations: change.operations ?? [],
      newestListedTime: "newestListedTime" in change ? change.newestListedTime : newestOf(change.operations),
      echoesNames: change.echoesNames ?? false,
    },
    remote: change.remote ?? remoteOf(self, endpoints),
    createTurn: change.isCreateTurn === false ? { kind: "Waiting", waitedMs: 0, stillMs: 0 } : { kind: "Ours" },
  };
}

function newestOf(operations: readonly Operation[] = []): string | undefined {
  return [...operations].sort(compareNewestFirst)[0]?.createdTime;
}

function remoteOf({ status }: ComputeEndpoint, endpoints: readonly ObservedEndpoint[]): RemoteState {
  if (status.ownership === undefined) {
    return { kind: "NotOwned" };
  }
  const present = endpoints.find(({ id }) => id === status.ownership?.endpointId);
  return present === undefined ? { kind: "Absent" } : { kind: "Present", endpoint: present };
}

/** An observation of a resource that owns the default endpoint and whose spec manages what is given. */
export function owned(managed: Partial<ComputeEndpointSpec> = {}, change: OwnedChange = {}): Observation {
  const { status, resource: resourceChange, endpoint: endpointChange, ...rest } = change;
  return observation({
    resource: resource({
      ...resourceChange,
      spec: managed,
      status: {
        ownership: ownership(),
        acknowledged: acknowledged(spec(managed)),
        operationWatermark: logBegun(endpoint(endpointChange)),
        ...status,
      },
    }),
    endpoints: [endpoint(endpointChange)],
    ...rest,
  });
}

/** What differs from a settled resource with its endpoint. */
export interface OwnedChange extends Omit<ObservationChange, "resource"> {
  readonly status?: ComputeEndpointStatus;
  readonly resource?: Omit<ResourceChange, "spec" | "status" | "brokenSpec">;
  readonly endpoint?: Partial<ObservedEndpoint>;
}

/** An observation of a resource with an open create. */
export function creating(open: Partial<CreateIntent> = {}, change: CreatingChange = {}): Observation {
  const { resource: resourceChange, ...rest } = change;
  const type = open.type ?? "ReadWrite";
  return observation({
    resource: resource({ spec: { type }, ...resourceChange, status: { createIntent: intent(open) } }),
    memory: intentMemory(),
    ...rest,
  });
}

/** What differs from a resource whose create is unresolved since a second. */
export interface CreatingChange extends Omit<ObservationChange, "resource"> {
  readonly resource?: Omit<ResourceChange, "status">;
}

/** A failed call. */
export function failed(
  reason: ControlPlaneReason,
  change: Partial<Extract<Outcome, { kind: "Failed" }>> & { readonly subject?: ControlPlaneError["subject"] } = {},
): Extract<Outcome, { kind: "Failed" }> {
  const { subject, ...rest } = change;
  const error = new ControlPlaneError(reason, "cannot do it: the service said no", { effect: "NotApplied", subject });
  return { kind: "Failed", error, forMs: 0, posts: "Unresolved", ...rest };
}

/** A condition of the first generation. */
export function condition(change: Partial<Condition> & Pick<Condition, "type" | "status">): Condition {
  return {
    observedGeneration: 1,
    lastTransitionTime: "2026-11-21T11:00:00Z",
    reason: "UpToDate",
    message: "The endpoint matches spec.",
    ...change,
  };
}
