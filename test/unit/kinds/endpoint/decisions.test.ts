/** Tests single decisions about an endpoint, but for those of creates. */
import { describe, expect, it } from "vitest";
import { noGrant, notGrantedMessage, type ProjectGrant } from "../../../../src/engine/grant.ts";
import type { ProjectReads } from "../../../../src/engine/project-reads.ts";
import { decideEndpoint, missingGrant, planFromSnapshot } from "../../../../src/kinds/endpoint/decide.ts";
import { EndpointsInProject } from "../../../../src/kinds/endpoint/endpoint-kind.ts";
import type { Observation } from "../../../../src/kinds/endpoint/plan.ts";
import { createSnapshot } from "../../../../src/operations/reader.ts";
import { type BranchPlace, byId } from "../../../../src/resource/branch-place.ts";
import type { ComputeEndpoint } from "../../../../src/resource/compute-endpoint.ts";
import { endpointName, isIdentityProven, ownershipToken } from "../../../../src/resource/identity.ts";
import { annotations } from "../../../../src/resource/names.ts";
import type { ComputeEndpointSpec } from "../../../../src/resource/spec-schema.ts";
import { knownBranch } from "../../../support/fakes/known-branch.ts";
import {
  acknowledged,
  branch,
  claim,
  condition,
  endpoint,
  identity,
  intent,
  intentMemory,
  monotonicMs,
  nowMs,
  observation,
  operation,
  otherBranch,
  owned,
  ownership,
  planFor,
  project,
  type Row,
  resource,
  spec,
  stepOf,
  timeAt,
} from "./builders.ts";

const deleting = { isDeleting: true } as const;
const running = operation({ id: "op-own", action: "apply_config", status: "running" });
const sized = { compute: { minUnits: 1, maxUnits: 1 } } as const;
const twoUnits = { minUnits: 2, maxUnits: 2 } as const;
const adoption = { policy: "AdoptOrCreate" } as const;
const noAdoption = { mayChange: true, mayAdopt: false };
const problem = { reason: "ControlPlaneNotFound", message: "There is no ClusterControlPlane north." } as const;
const elsewhere = endpoint({ name: endpointName("orders", ownershipToken("cluster-b", "uid-theirs")) });
const adopting = (adoption: NonNullable<ComputeEndpointSpec["adoption"]>) => resource({ spec: { adoption } });
const hidden = endpoint({ id: "ep-secret-9", branchId: otherBranch });
const accepted = (unmatchedAttempts: number, change: object = {}) =>
  acknowledged(spec(sized), { attempts: unmatchedAttempts, unmatchedAttempts, ...change });
const invalid = { kind: "Invalid", problems: "spec.type: missing", controlPlaneRef: undefined } as const;

const standing: readonly Row[] = [
  {
    name: "the control plane cannot be used → says so",
    why: "the namespace may use it",
    given: owned(),
    problem,
    want: { kind: "Stall", reason: "ControlPlaneNotFound" },
  },
  {
    name: "the control plane cannot be used, no grant → only that",
    why: "a namespace without a grant must not learn which control planes exist",
    given: owned({}, { grant: noGrant }),
    problem,
    want: { kind: "Stall", reason: "ProjectNotGranted" },
  },
  {
    name: "spec is not valid, and its control plane cannot be used → first the spec",
    why: "the control plane that a wrong spec names may not exist",
    given: { ...owned(), resource: { ...resource(), spec: invalid } },
    problem,
    want: { kind: "Stall", reason: "InvalidSpec" },
  },
  {
    name: "deletion without a record of this uid, no grant, no control plane → the finalizer goes at once",
    why: "the operator has created nothing, so a typo or a wrong key must not hold the resource",
    given: observation({
      resource: resource({ ...deleting, status: { ownership: ownership({ resourceUid: "uid-before" }) } }),
      grant: noGrant,
    }),
    problem,
    want: { kind: "RemoveFinalizer", cause: "NeverCreated" },
  },
  {
    name: "the record of another resource on a living one → stalled",
    why: "a person copied the status, or a backup was restored with it",
    given: observation({ resource: resource({ status: { ownership: ownership({ resourceUid: "uid-before" }) } }) }),
    want: { kind: "Stall", reason: "IdentityUnproven" },
  },
];

const operations: readonly Row[] = [
  {
    name: "an own operation runs, spec changed → waits for it",
    why: "the control plane would refuse the change with 423",
    given: owned(sized, { operations: { ownInFlight: [running] }, status: { bookkeeping: acknowledged(spec()) } }),
    want: { kind: "Wait", reason: "OperationInFlight" },
  },
  {
    name: "an own operation runs for a minute, spec changed → the change is tried",
    why: "L7: an operation that never ends blocks no rollback",
    given: owned(sized, {
      operations: { ownInFlight: [running], inFlightForMs: 60_000 },
      status: { bookkeeping: acknowledged(spec()) },
      endpoint: twoUnits,
    }),
    want: { kind: "UpdateEndpoint" },
  },
  {
    name: "an own operation runs for ten minutes, spec unchanged, the endpoint differs → waits on",
    why: "the same values are not sent again",
    given: owned(sized, { operations: { ownInFlight: [running], inFlightForMs: 600_000 }, endpoint: twoUnits }),
    want: { kind: "Wait", reason: "OperationInFlight" },
  },
];

const lists: readonly Row[] = [
  {
    name: "the list shows no difference → settled",
    why: "at rest one list serves all resources of a project",
    given: owned(sized, { readIds: [] }),
    want: { kind: "Settled" },
  },
  {
    name: "the list shows another value → read by id",
    why: "a list may be out of date, so it proves only that nothing is to be done",
    given: owned(sized, { endpoint: twoUnits, readIds: [] }),
    want: { kind: "Look", at: "Endpoint", endpointId: "ep-own-1" },
  },
  {
    name: "the list does not show the endpoint → read by id",
    why: "only a 404 proves that it is gone",
    given: owned({}, { endpoints: [], readIds: [] }),
    want: { kind: "Look", at: "Endpoint", endpointId: "ep-own-1" },
  },
  {
    name: "the endpoint is gone by id → forgotten, and then created again",
    why: "this resource had created it",
    given: owned({}, { endpoints: [] }),
    want: { kind: "ForgetEndpoint" },
  },
  {
    name: "the adopted endpoint is gone by id → stalled",
    why: "the operator replaces only what it has created",
    given: owned({}, { endpoints: [], status: { ownership: ownership({ origin: "Adopted" }) } }),
    want: { kind: "Stall", reason: "EndpointGone" },
  },
];

const released = { kind: "RemoveFinalizer", cause: "Retained" } as const;

const deletions: readonly Row[] = [
  {
    name: "deleted, and only a list shows the endpoint → read by id",
    why: "what is deleted is read by id before",
    given: owned({}, { resource: deleting, readIds: [] }),
    want: { kind: "Look", at: "Endpoint", endpointId: "ep-own-1" },
  },
  ...(["Adopted", "Presumed"] as const).map(
    (origin): Row => ({
      name: `deleted without a policy, ${origin} → the endpoint stays`,
      why: "S1: it is not certain that this resource made it",
      given: owned({}, { resource: deleting, status: { ownership: ownership({ origin }) } }),
      want: released,
    }),
  ),
  ...([{}, { deletionPolicy: "Retain" }] as const).map(
    (brokenSpec): Row => ({
      name: `deleted with an invalid spec, ${JSON.stringify(brokenSpec)} → as its policy says`,
      why: "L7: an invalid spec blocks no deletion",
      given: observation({
        resource: resource({ ...deleting, brokenSpec, status: { ownership: ownership() } }),
        endpoints: [endpoint()],
      }),
      want: "deletionPolicy" in brokenSpec ? released : { kind: "DeleteEndpoint" },
    }),
  ),
  ...([{}, { deletionPolicy: "Retain" }] as const).map(
    (policy): Row => ({
      name: `deleted with the record of another cluster, ${JSON.stringify(policy)} → stalled, unless Retain`,
      why: "L2: a remedy works without the control plane",
      given: owned(policy, { resource: deleting, status: { ownership: ownership({ clusterId: "cluster-b" }) } }),
      want: "deletionPolicy" in policy ? released : { kind: "Stall", reason: "IdentityUnproven" },
    }),
  ),
  {
    name: "deleted, and another resource has a valid record of the endpoint → stalled",
    why: "S3: it may be the other one's database",
    given: owned({}, { resource: deleting, claims: [claim({ ownedEndpointId: "ep-own-1" })] }),
    want: { kind: "Stall", reason: "OwnershipConflict" },
  },
];

const drift: readonly Row[] = [
  {
    name: "spec is edited back before the list shows the accepted change → read by id",
    why: "an accepted request that differs from spec is undone, whatever a list shows",
    given: owned(sized, {
      status: { bookkeeping: acknowledged(spec({ compute: twoUnits })) },
      endpoint: { minUnits: 1, maxUnits: 1 },
      readIds: [],
    }),
    want: { kind: "Look" },
  },
  {
    name: "values drift, the time of the last request is a year ahead → sent again",
    why: "every wait that is computed from a stored time has a bound",
    given: owned(sized, {
      status: { bookkeeping: accepted(1, { time: timeAt(365 * 86_400_000) }) },
      endpoint: twoUnits,
    }),
    want: { kind: "UpdateEndpoint" },
  },
  {
    name: "values drift twice after success → Stalled",
    why: "no third restart of a database",
    given: owned(sized, { status: { bookkeeping: accepted(2) }, endpoint: twoUnits }),
    want: { kind: "Stall", reason: "DriftPersists" },
  },
  {
    name: "values drift twice, and an operation of the last request failed → sent again",
    why: "the failure is known by its id, not by comparing clocks",
    given: owned(sized, {
      operations: { failedIds: new Set(["op-7"]) },
      status: { bookkeeping: accepted(2, { operationIds: ["op-7"], time: timeAt(-3_600_000) }) },
      endpoint: twoUnits,
    }),
    want: { kind: "UpdateEndpoint" },
  },
];

const owners: readonly Row[] = [
  {
    name: "another resource has a valid record of the same endpoint → both are stalled, nothing changes",
    why: "S3: after a restore of etcd two resources would alternately change one endpoint",
    given: owned(sized, { claims: [claim({ ownedEndpointId: "ep-own-1" })] }),
    want: {
      kind: "Stall",
      reason: "OwnershipConflict",
      message:
        "This resource and ComputeEndpoint billing both own endpoint ep-own-1, so the operator changes nothing. Set spec.deletionPolicy to Retain on one of the two and delete that one.",
    },
  },
  {
    name: "the branch has an endpoint of another cluster → stalled, the remedy is named",
    why: "two clusters would fight over one database",
    given: observation({ echoesNames: true, endpoints: [elsewhere] }),
    want: {
      kind: "Stall",
      reason: "OwnedElsewhere",
      message: `Another cluster or another operator created the endpoint that this resource asks for (branch ${branch}). If nothing manages the endpoint there any more, set spec.adoption.takeOver to true, with spec.adoption.policy AdoptOrCreate or AdoptOnly. Otherwise choose another branch.`,
    },
  },
  {
    name: "the endpoint to adopt has the token of another cluster, takeOver is true → adopted",
    why: "takeOver is the explicit consent of a person",
    given: observation({
      echoesNames: true,
      endpoints: [elsewhere],
      resource: resource({ spec: { adoption: { policy: "AdoptOrCreate", takeOver: true } } }),
    }),
    want: { kind: "RecordOwnership", ownership: ownership({ origin: "Adopted" }) },
  },
  {
    name: "the endpoint to adopt is on another branch → stalled",
    why: "an adoption is never a move",
    given: observation({ endpoints: [hidden], resource: adopting({ policy: "AdoptOnly", endpointId: hidden.id }) }),
    want: { kind: "Stall", reason: "AdoptionMismatch" },
  },
  {
    name: "AdoptOnly, and there is no such endpoint → stalled",
    why: "AdoptOnly never creates an endpoint",
    given: observation({ resource: adopting({ policy: "AdoptOnly", endpointId: hidden.id }) }),
    want: { kind: "Stall", reason: "AdoptionTargetMissing" },
  },
  {
    name: "spec names a branch whose endpoint the namespace may not adopt → refused without its id",
    why: "a namespace learns nothing about endpoints that it may not have",
    given: observation({ grant: noAdoption, endpoints: [{ ...hidden, branchId: branch }] }),
    want: { kind: "Stall", reason: "EndpointExists", message: expect.not.stringContaining("ep-secret-9") },
  },
  {
    name: "spec moves to a branch whose endpoint the namespace may not adopt → refused without its id",
    why: "a namespace learns nothing about endpoints that it may not have",
    given: owned({ branchId: otherBranch }, { grant: noAdoption, endpoints: [endpoint(), hidden] }),
    want: { kind: "Stall", reason: "BranchOccupied", message: expect.not.stringContaining("ep-secret-9") },
  },
  {
    name: "a moved resource, its endpoint on the old branch → moved",
    why: "branchId is mutable",
    given: owned({}, { endpoint: { branchId: otherBranch } }),
    want: { kind: "MoveEndpoint", branchId: branch, isCorrection: false },
  },
  {
    name: "another client moved the endpoint from the branch of spec → moved back as a correction",
    why: "the log calls the operation a Drift",
    given: owned({}, { status: { branchId: branch }, endpoint: { branchId: otherBranch } }),
    want: { kind: "MoveEndpoint", branchId: branch, isCorrection: true },
  },
];

const proven: BranchPlace = { kind: "Proven", branchId: branch, parent: "main", copy: "Created" };
const unproven: BranchPlace = { kind: "Unproven", name: "pr-42" };
const byRef = { branchId: undefined, branchRef: { name: "pr-42" } };
const onRef = (place: BranchPlace, change: object = {}) =>
  observation({ resource: resource({ spec: byRef, ...change }), place });

const branches: readonly Row[] = [
  {
    name: "branchRef, the branch is proven → created there",
    why: "the id comes from the record of the DatabaseBranch alone",
    given: onRef(proven),
    want: { kind: "CreateEndpoint", creation: expect.objectContaining({ branchId: branch }) },
  },
  {
    name: "branchRef, the branch is not proven → nothing is sent",
    why: "a tool that took the parent's URL here once migrated production",
    given: onRef(unproven),
    want: { kind: "Wait", reason: "WaitingForBranch" },
  },
  {
    name: "branchRef, the DatabaseBranch is of another project → stalled",
    why: "projectId cannot be changed",
    given: onRef({ kind: "Mismatch", name: "pr-42" }),
    want: { kind: "Stall", reason: "BranchMismatch" },
  },
  {
    name: "branchRef, an endpoint that differs, its branch is being deleted → nothing is sent",
    why: "the endpoint goes with its branch",
    given: owned({ ...byRef, ...sized }, { place: unproven, endpoint: twoUnits }),
    want: { kind: "Wait", reason: "WaitingForBranch" },
  },
  {
    name: "branchRef, an endpoint that is gone, and no new branch → is not replaced",
    why: "it is created again only under a newly proven branch id",
    given: onRef(unproven, { status: { ownership: ownership() } }),
    want: { kind: "Wait", reason: "WaitingForBranch" },
  },
  {
    name: "branchRef, an endpoint that is gone, and a new branch → is replaced",
    why: "a branch that was made again gets its endpoint",
    given: onRef({ ...proven, branchId: otherBranch }, { status: { ownership: ownership() } }),
    want: { kind: "ForgetEndpoint" },
  },
  {
    name: "branchRef, an open create for a former branch → closed",
    why: "the next create is for the new branch",
    given: observation({
      resource: resource({ spec: byRef, status: { createIntent: intent() } }),
      place: { ...proven, branchId: otherBranch },
      memory: intentMemory({ isUnresolved: false }),
    }),
    want: { kind: "CloseIntent" },
  },
  {
    name: "branchRef, deleted, the endpoint is gone with its branch → the finalizer goes",
    why: "a namespace ends in any order",
    given: onRef(unproven, { ...deleting, status: { ownership: ownership() } }),
    want: { kind: "RemoveFinalizer", cause: "Gone" },
  },
];

const previews = { ...noGrant, branchesOf: ["main"] };
it.each<[string, string | undefined, Observation]>([
  ["branchRef", undefined, { ...onRef(proven), grant: previews }],
  ["branchRef, not proven yet", undefined, { ...onRef(unproven), grant: previews }],
  [
    "branchRef, not proven yet, and no grant",
    "change of main",
    { ...onRef({ ...unproven, parent: "main" }), grant: noGrant },
  ],
  [
    "branchRef, a branch of another parent",
    "change of staging",
    { ...onRef({ ...proven, parent: "staging" }), grant: previews },
  ],
  ["branchId", "change", observation({ grant: previews })],
  ["an adoption, without any grant", "change", { ...onRef(proven, { spec: { ...byRef, adoption } }), grant: noGrant }],
  ["an adoption", "adopt", { ...onRef(proven, { spec: { ...byRef, adoption } }), grant: previews }],
  [
    "an adopted endpoint",
    "change",
    { ...onRef(proven, { status: { ownership: ownership({ origin: "Adopted" }) } }), grant: previews },
  ],
  [
    "observation alone",
    "observe",
    { ...onRef(proven, { spec: { ...byRef, management: "Observe" } }), grant: previews },
  ],
  [
    "deleted, presumably its own",
    undefined,
    { ...onRef(unproven, { ...deleting, status: { ownership: ownership({ origin: "Presumed" }) } }), grant: previews },
  ],
])("a grant for the branches of main: %s → misses %s", (_, want, { resource: given, grant, place = byId }) => {
  const message = missingGrant(given, grant, place);
  const [what, parent = ""] = want?.split(" of ") ?? [];
  expect(message).toBe(what && notGrantedMessage("shop", { projectId: project, parent }, what as "change"));
});

it.each([
  ["", `add ${project} to the annotation endpoint-operator.dev/projects of`],
  ["staging", `add ${project}/staging to the annotation endpoint-operator.dev/branches-of of`],
])("branches of the parent %j are enough → the message asks for no larger grant", (parent, want) => {
  expect(notGrantedMessage("shop", { projectId: project, parent }, "change")).toContain(want);
});

const projectFacts = ({ policy, grant }: Observation) => ({
  key: project,
  planeId: "",
  projectId: project,
  identity,
  policy,
  problem: undefined,
  nowMs,
  monotonicMs,
  grantOf: () => grant,
});

it.each([
  ["ClaimedByAnother", true],
  ["BranchOccupied", true],
  ["EndpointExists", true],
  ["OwnershipConflict", true],
  ["Rejected", false],
])("Stalled %s, and another resource of the project changes → decided again: %s", (reason, isAgain) => {
  const conditions = [condition({ type: "Stalled", status: "True", reason })];
  const given = observation({ resource: resource({ status: { conditions } }) });
  const basisBeside = (resourceVersion: string) => {
    const named = [given.resource, resource({ uid: "uid-other", resourceVersion })];
    return new EndpointsInProject(projectFacts(given), named, () => undefined).basisOf(given.resource);
  };
  expect(basisBeside("8") !== basisBeside("9")).toBe(isAgain);
});

it.each([
  ["gone", undefined, "BranchGone"],
  ["there", knownBranch({ namespace: "shop", projectId: project, branchId: branch, identity }), "EndpointRetained"],
])("Retain, and its DatabaseBranch is %s → the event says what is left", (_, found, want) => {
  const status = { ownership: ownership() };
  const given = observation({
    resource: resource({ spec: { ...byRef, deletionPolicy: "Retain" }, ...deleting, status }),
  });
  const step = stepOf(given, { kind: "NothingSent" }, { kind: "RemoveFinalizer", cause: "Retained" });
  const scope = new EndpointsInProject(projectFacts(given), [], () => found);
  expect(scope.eventsOf(step, undefined).map(({ reason }) => reason)).toEqual([want]);
});

describe.each([
  ["what needs no read", standing],
  ["own operations", operations],
  ["lists and reads by id", lists],
  ["deletions", deletions],
  ["drift", drift],
  ["owners", owners],
  ["branches", branches],
] as const)("decision: %s", (_what, rows) => {
  it.each(rows)("$name", ({ given, problem: unusable, want, why }) => {
    expect(planFor(given, unusable), why).toMatchObject(want);
  });
});

const locked = {
  operations: createSnapshot([running], new Set()),
  lockedForMs: () => 0,
  snapshot: undefined,
};
const answer = { endpoint: endpoint(), operations: [] };
const ours = intentMemory({ isUnresolved: false, answer });
const bookkeeping = {
  operationWatermark: JSON.stringify({ floorMs: nowMs - 3_600_000, counted: [], unfinishedIds: [] }),
};
const waiting = { memory: ours, status: { bookkeeping, operations: [{ ...running, cause: "SpecChange" as const }] } };

it.each([
  ["nothing is read → reads the project", observation({ memory: ours }), undefined, { kind: "Look", at: "Project" }],
  ["locked, an answer is not stored → stored", observation({ memory: ours }), locked, { kind: "RecordOwnership" }],
  ["locked by an own operation → waits for it", owned({}, waiting), locked, { kind: "Wait" }],
  ["the same, being deleted → looks again", owned({}, { ...waiting, resource: deleting }), locked, { kind: "Look" }],
])("before the endpoints are listed, %s", (_, given, reads, want) => {
  const project = reads as unknown as ProjectReads;
  expect(
    decideEndpoint(given, reads === undefined ? {} : { project }, { place: byId, claims: () => given.claims }),
  ).toMatchObject(want);
});

it("a living resource whose spec is invalid → the kind does not end it either", () => {
  const given = observation({ resource: resource({ brokenSpec: {}, status: { ownership: ownership() } }) });
  expect(planFromSnapshot(given)).toMatchObject({ kind: "Stall", reason: "InvalidSpec" });
});

it.each([
  ["no records", {}, true],
  ["own records", { ownership: ownership(), createIntent: intent() }, true],
  ["the record of another resource", { ownership: ownership({ resourceUid: "uid-before" }) }, false],
  ["the record of another cluster", { ownership: ownership({ clusterId: "cluster-b" }) }, false],
  ["the record of another URL", { ownership: ownership({ serviceUrl: "https://another.example" }) }, false],
  ["the record of another ControlPlane", { ownership: ownership({ controlPlane: "ControlPlane/a/b" }) }, false],
  ["the intent of another resource", { createIntent: intent({ token: "another" }) }, false],
  ["the intent of another URL", { createIntent: intent({ serviceUrl: "https://another.example" }) }, false],
])("%s → proves the identity: %#", (_, status, want) => {
  expect(isIdentityProven(resource({ status }), identity)).toBe(want);
});

const ownedAs = (origin: "Created" | "Adopted" | "Presumed") => ({ status: { ownership: ownership({ origin }) } });
const created = ownedAs("Created");
const retained = { isDeleting: true, spec: { deletionPolicy: "Retain" } } as const;
const deleted = { isDeleting: true, spec: { deletionPolicy: "Delete" } } as const;
const refused = { kind: "Stall", reason: "ProjectNotGranted" };

it.each<[string, ProjectGrant, ComputeEndpoint, object]>([
  ["a new resource", noGrant, resource(), refused],
  ["an open create", noGrant, resource({ status: { createIntent: intent() } }), refused],
  ["an owned endpoint", noGrant, resource(created), refused],
  ["a pause", noGrant, resource({ isPaused: true }), { kind: "Wait", reason: "Paused" }],
  ["deletion with Retain", noGrant, resource({ ...created, ...retained }), { cause: "Retained" }],
  ["deletion of what it created", noGrant, resource({ ...created, ...deleted }), { kind: "DeleteEndpoint" }],
  ["deletion of what it adopted", noGrant, resource({ ...ownedAs("Adopted"), ...deleted }), refused],
  ["deletion of what it presumed", noGrant, resource({ ...ownedAs("Presumed"), ...deleted }), refused],
  ["an adoption by id, Open", noAdoption, adopting({ policy: "AdoptOnly", endpointId: "ep-main-1" }), refused],
  ["an adoption by branch, Open", noAdoption, adopting({ policy: "AdoptOrCreate" }), refused],
])("%s without a grant → as docs/tenants.md says", (_, grant, subject, want) => {
  const plan = planFor(observation({ grant, resource: subject, endpoints: [endpoint()] }));
  expect(plan).toMatchObject(want);
  const { message = "" } = plan as { readonly message?: string };
  if (want === refused) {
    expect(message).toContain(`add ${project} to the annotation endpoint-operator.dev/projects of Namespace shop`);
    expect(message).not.toContain(branch);
  }
});

const idle = { state: "idle" };
const active = { state: "active" };
const wake = { [annotations.wakeRequestedAt]: "1" };
const suspend = { [annotations.suspendRequestedAt]: "1" };
const woken = { lastHandledWakeAt: "1" };
const suspended = { lastHandledSuspendAt: "1" };
const call = (action: string, echo: object) => ({ kind: "ChangePower", endpointId: "ep-own-1", action, echo });
const settled = (echo?: object) => ({ kind: "Settled", unverifiable: [], ...(echo && { echo }) });

it.each([
  ["wake, idle → started", wake, idle, {}, call("start", woken)],
  ["wake, active → noted without a call", wake, active, {}, settled(woken)],
  ["wake, on its way up → noted", wake, { ...idle, pendingState: "active" }, {}, settled(woken)],
  ["suspend, active → suspended", suspend, active, {}, call("suspend", suspended)],
  ["suspend, idle → noted without a call", suspend, idle, {}, settled(suspended)],
  ["suspend, on its way down → noted", suspend, { ...active, pendingState: "idle" }, {}, settled(suspended)],
  ["both, active → suspended first", { ...wake, ...suspend }, active, {}, call("suspend", suspended)],
  ["both, idle → started, both noted", { ...wake, ...suspend }, idle, {}, call("start", { ...woken, ...suspended })],
  ["wake, disabled → waits, not noted", wake, { ...idle, disabled: true }, {}, settled()],
  ["wake that was handled, idle → nothing", wake, idle, woken, settled()],
])("annotations ask for %s", (_, asked, shown, status, want) => {
  expect(planFor(owned({}, { resource: { annotations: asked }, endpoint: shown, status }))).toEqual(want);
});
