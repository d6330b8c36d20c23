/** Tests single decisions. */
import { describe, expect, it } from "vitest";
import { type Claim, claimOfGone } from "../../../src/decide/claims.ts";
import { endpointName, ownershipToken } from "../../../src/decide/identity.ts";
import type { Observation } from "../../../src/decide/observation.ts";
import type { Plan } from "../../../src/decide/plan.ts";
import { mayHaveSentDelete, planOf } from "../../../src/decide/plan-resource.ts";
import { noGrant } from "../../../src/decide/project-grant.ts";
import { annotations } from "../../../src/resource/names.ts";
import {
  acknowledged,
  branch,
  claim,
  condition,
  creating,
  endpoint,
  intent,
  intentMemory,
  memory,
  monotonicMs,
  observation,
  operation,
  otherBranch,
  otherName,
  owned,
  ownership,
  ownName,
  policy,
  resource,
  spec,
  timeAt,
} from "./builders.ts";

interface Row {
  readonly name: string;
  readonly why: string;
  readonly given: Observation;
  readonly want: Partial<Record<string, unknown>> & Pick<Plan, "kind">;
}

const settled = { startedAtMs: monotonicMs + policy.createSettleMs };
const deleting = { isDeleting: true } as const;
const running = operation({ id: "op-own", action: "apply_config", status: "running" });
const sized = { compute: { minUnits: 1, maxUnits: 1 } } as const;

/** Another resource with an unresolved create of a replica on the main branch. */
function openCreate(creationTimestamp: string, isHeld = false): Claim {
  return {
    ...claimOfGone({ namespace: "shop", name: "billing" }, "uid-billing", "none"),
    creationTimestamp,
    ownedEndpointId: undefined,
    openCreate: { intent: intent({ type: "ReadOnly", token: "sibling" }), posts: "Unresolved", isHeld },
  };
}

/** What a person has set after the operator asked, as `asked` shows. */
const givenUp = { annotations: { [annotations.resolveCreate]: "abandon=all" } } as const;
const asked = {
  conditions: [
    condition({ type: "Ready", status: "False", reason: "CreateAmbiguous", message: "If none is yours, abandon=all." }),
  ],
};

const elsewhere = endpoint({ name: endpointName("orders", ownershipToken("cluster-b", "uid-theirs")) });
const ownedElsewhereMessage = `Another cluster or another operator created the endpoint that this resource asks for (branch ${branch}). If nothing manages the endpoint there any more, set spec.adoption.takeOver to true, with spec.adoption.policy AdoptOrCreate or AdoptOnly. Otherwise choose another branch.`;

const planeProblem = { reason: "ControlPlaneNotFound", message: "There is no ClusterControlPlane north." } as const;

const rows: readonly Row[] = [
  {
    name: "the control plane cannot be used → says so",
    why: "the namespace may use it",
    given: { ...owned(), planeProblem },
    want: { kind: "Stall", reason: "ControlPlaneNotFound" },
  },
  {
    name: "the control plane cannot be used, no grant → only that",
    why: "a namespace without a grant must not learn which control planes exist",
    given: { ...owned(), planeProblem, grant: noGrant },
    want: { kind: "Stall", reason: "ProjectNotGranted" },
  },
  {
    name: "create unresolved and settled, an endpoint since then cannot be parsed → a person decides",
    why: "it may be what the create made: another POST would make a second one",
    given: creating({ type: "ReadOnly" }, { ...settled, unreadableIds: ["ep-new"] }),
    want: { kind: "Stall", reason: "CreateAmbiguous", suspectIds: ["ep-new"] },
  },
  {
    name: "create unresolved and settled, an entry without an id → waits",
    why: "the list is not complete, so it proves nothing absent",
    given: creating({ type: "ReadOnly" }, { ...settled, unreadableIds: [""] }),
    want: { kind: "Wait", reason: "CreateUnresolved" },
  },
  {
    name: "create unresolved, settled for five minutes, an entry without an id → Stalled",
    why: "only the control plane can end the wait, and a person must ask for that",
    given: creating({ type: "ReadOnly" }, { startedAtMs: settled.startedAtMs + 300_000, unreadableIds: [""] }),
    want: { kind: "Stall", reason: "CreateAmbiguous" },
  },
  {
    name: "create unresolved and settled, the endpoint that cannot be parsed was there before → creates again",
    why: "one bad object does not block other resources",
    given: creating({ type: "ReadOnly", preIds: ["ep-old"] }, { ...settled, unreadableIds: ["ep-old"] }),
    want: { kind: "CreateEndpoint" },
  },
  {
    name: "create unresolved and settled, another resource's endpoint cannot be parsed → creates again",
    why: "one bad object does not block other resources, and that endpoint has an owner",
    given: creating(
      { type: "ReadOnly" },
      {
        ...settled,
        unreadableIds: ["ep-others"],
        claims: [claimOfGone({ namespace: "shop", name: "billing" }, "uid-billing", "ep-others")],
      },
    ),
    want: { kind: "CreateEndpoint" },
  },
  {
    name: "a recorded suspect can be read again and is on another branch → it is none, and the create is sent again",
    why: "it would be presumed to be ours, changed and deleted, and it is another client's",
    given: creating(
      { suspectIds: ["ep-1"] },
      { ...settled, endpoints: [endpoint({ id: "ep-1", branchId: otherBranch, createdTime: timeAt(-500) })] },
    ),
    want: { kind: "CreateEndpoint" },
  },
  {
    name: "a paused resource has an unresolved create of a replica → another replica of the branch does not wait for it",
    why: "a pause may last for months",
    given: observation({
      resource: resource({ spec: { type: "ReadOnly" } }),
      claims: [openCreate("2020-01-01T00:00:00Z", true)],
    }),
    want: { kind: "CreateEndpoint" },
  },
  {
    name: "two creates of replicas of one branch are unresolved and settled → the younger one follows the elder one",
    why: "two creates at once could not tell their endpoints apart",
    given: creating({ type: "ReadOnly" }, { ...settled, claims: [openCreate("2020-01-01T00:00:00Z")] }),
    want: { kind: "Wait", reason: "WaitingForProject" },
  },
  {
    name: "two creates of replicas of one branch are unresolved and settled → the elder one is sent again",
    why: "if each waited for the other, both would wait for ever",
    given: creating({ type: "ReadOnly" }, { ...settled, claims: [openCreate("2099-01-01T00:00:00Z")] }),
    want: { kind: "CreateEndpoint" },
  },
  {
    name: "create unresolved, not settled → waits, whatever the list shows",
    why: "S2: at most one unresolved POST",
    given: creating(),
    want: { kind: "Wait", reason: "CreateUnresolved" },
  },
  {
    name: "every POST refused, spec unchanged → the stored intent serves, without a write",
    why: "three hours of the same refusal cost two status writes",
    given: creating({}, { memory: intentMemory({ posts: "AllRefused" }) }),
    want: { kind: "CreateEndpoint", isIntentStored: true },
  },
  {
    name: "every POST refused, being deleted → the intent is closed at once",
    why: "a clean intent never holds up a deletion",
    given: creating({}, { memory: intentMemory({ posts: "AllRefused" }), resource: deleting }),
    want: { kind: "CloseIntent", cause: "NothingCreated" },
  },
  {
    name: "two endpoints with our token since the intent, and a person says that none is ours → the create is abandoned",
    why: "the same answer serves for the search for the token that follows, so the person answers once",
    given: creating(
      {},
      {
        resource: givenUp,
        status: asked,
        echoesNames: true,
        endpoints: ["ep-1", "ep-2"].map((id) => endpoint({ id, name: ownName, createdTime: timeAt(-500) })),
      },
    ),
    want: { kind: "CloseIntent", cause: "Abandoned" },
  },
  {
    name: "nothing nameless but an endpoint dated an hour before the intent, settled → a person decides",
    why: "the clock of the control plane may have stepped back, and another POST would make a second one",
    given: creating(
      { type: "ReadOnly" },
      { ...settled, endpoints: [endpoint({ id: "ep-1", type: "ReadOnly", createdTime: timeAt(-3_600_000) })] },
    ),
    want: { kind: "Stall", reason: "CreateAmbiguous", suspectIds: ["ep-1"] },
  },
  {
    name: "nothing nameless but an endpoint dated two hours before the intent, settled → creates again",
    why: "no clock is that wrong, so another client made it",
    given: creating(
      { type: "ReadOnly" },
      { ...settled, endpoints: [endpoint({ id: "ep-1", type: "ReadOnly", createdTime: timeAt(-7_300_000) })] },
    ),
    want: { kind: "CreateEndpoint" },
  },
  {
    name: "a nameless read-write endpoint dated before the intent, settled → a person decides",
    why: "it may be ours and may be another client's: it is not presumed",
    given: creating({}, { ...settled, endpoints: [endpoint({ id: "ep-1", createdTime: timeAt(-60_000) })] }),
    want: { kind: "Stall", reason: "CreateAmbiguous", suspectIds: ["ep-1"] },
  },
  {
    name: "two endpoints with our token since the intent → a person decides",
    why: "one of the names may be a copy",
    given: creating(
      {},
      {
        echoesNames: true,
        endpoints: ["ep-1", "ep-2"].map((id) => endpoint({ id, name: ownName, createdTime: timeAt(-500) })),
      },
    ),
    want: { kind: "Stall", reason: "CreateAmbiguous", suspectIds: ["ep-1", "ep-2"] },
  },
  {
    name: "a nameless endpoint with another size than was sent → not ours",
    why: "S1: a person made it while the answer was lost",
    given: creating(
      { fields: { minUnits: 1, maxUnits: 1 } },
      { endpoints: [endpoint({ id: "ep-1", minUnits: 2, maxUnits: 2, createdTime: timeAt(-500) })] },
    ),
    want: { kind: "Wait", reason: "CreateUnresolved" },
  },
  {
    name: "an intent of an early version, one nameless endpoint, settled → a person decides",
    why: "it lacks the time and the fields by which an endpoint could be presumed",
    given: creating(
      { fields: undefined, serviceTime: undefined },
      { ...settled, endpoints: [endpoint({ id: "ep-1", createdTime: timeAt(-500) })] },
    ),
    want: { kind: "Stall", reason: "CreateAmbiguous" },
  },
  {
    name: "the endpoint of the branch is of a deleted resource of the same name → says that the operator deletes it",
    why: "the message would name the waiting resource itself, and ask to delete it",
    given: observation({
      endpoints: [endpoint({ id: "ep-gone" })],
      claims: [claimOfGone({ namespace: "shop", name: "orders" }, "uid-before", "ep-gone")],
    }),
    want: {
      kind: "Stall",
      reason: "ClaimedByAnother",
      message:
        "The read-write endpoint of this branch belongs to a ComputeEndpoint that no longer exists. The operator deletes that endpoint, and then continues with this resource. If that does not end, delete the endpoint in the control plane.",
    },
  },
  {
    name: "endpoint answered 404, and a listed entry has no readable id → not gone",
    why: "the entry may be this endpoint, and a read by id may lag",
    given: observation({
      resource: resource({ ...deleting, status: { ownership: ownership() } }),
      unreadableIds: [""],
    }),
    want: { kind: "Wait", reason: "Deleting" },
  },
  ...([{ isDeleting: true }, {}] as const).map(
    (change): Row => ({
      name: `endpoint ${"isDeleting" in change ? "of a deleted resource " : ""}answered 404 for five minutes, and a listed entry has no readable id → Stalled`,
      why: "only the control plane can end the wait, and a person must ask for that",
      given: observation({
        resource: resource({ ...change, status: { ownership: ownership() } }),
        unreadableIds: [""],
        memory: memory({ contradictedSinceMs: monotonicMs - 300_000 }),
      }),
      want: { kind: "Stall", reason: "CreateAmbiguous" },
    }),
  ),
  {
    name: "endpoint answered 404 and not listed → the finalizer goes",
    why: "S4: gone is proven",
    given: observation({ resource: resource({ ...deleting, status: { ownership: ownership() } }) }),
    want: { kind: "RemoveFinalizer", cause: "Gone" },
  },
  {
    name: "an own operation runs, spec changed → waits for it",
    why: "the control plane would refuse the change with 423",
    given: owned(sized, { operations: { ownInFlight: [running] }, status: { acknowledged: acknowledged(spec()) } }),
    want: { kind: "Wait", reason: "OperationInFlight" },
  },
  {
    name: "an own operation runs for a minute, spec changed → the change is tried",
    why: "L7: an operation that never ends blocks no rollback",
    given: owned(sized, {
      operations: { ownInFlight: [running], inFlightForMs: 60_000 },
      status: { acknowledged: acknowledged(spec()) },
      endpoint: { minUnits: 2, maxUnits: 2 },
    }),
    want: { kind: "UpdateEndpoint" },
  },
  {
    name: "an own operation runs for a minute, spec unchanged → waits on",
    why: "the same values are not sent again",
    given: owned({}, { operations: { ownInFlight: [running], inFlightForMs: 600_000 } }),
    want: { kind: "Wait", reason: "OperationInFlight" },
  },
  {
    name: "values drift, the time of the last request is a year ahead, known for an hour → sent again",
    why: "every wait that is computed from a stored time has a bound",
    given: owned(sized, {
      memory: memory({ firstSeenMs: monotonicMs - 3_600_000 }),
      status: { acknowledged: acknowledged(spec(sized), { unmatchedAttempts: 1, time: timeAt(365 * 86_400_000) }) },
      endpoint: { minUnits: 2, maxUnits: 2 },
    }),
    want: { kind: "UpdateEndpoint" },
  },
  {
    name: "values drift twice after success → Stalled",
    why: "no third restart of a database",
    given: owned(sized, {
      status: { acknowledged: acknowledged(spec(sized), { attempts: 2, unmatchedAttempts: 2 }) },
      endpoint: { minUnits: 2, maxUnits: 2 },
    }),
    want: { kind: "Stall", reason: "DriftPersists" },
  },
  {
    name: "values drift twice, and an operation of the last request failed → sent again",
    why: "the failure is known by its id, not by comparing clocks",
    given: owned(sized, {
      memory: memory({ acknowledgedAtMs: monotonicMs - 3_600_000 }),
      operations: { failedIds: new Set(["op-7"]) },
      status: {
        acknowledged: acknowledged(spec(sized), { attempts: 2, unmatchedAttempts: 2, operationIds: ["op-7"] }),
      },
      endpoint: { minUnits: 2, maxUnits: 2 },
    }),
    want: { kind: "UpdateEndpoint" },
  },
  {
    name: "the recorded endpoint is gone, and another one carries our token → a person decides",
    why: "S1: another client may have copied the name, and the record was not lost",
    given: observation({
      resource: resource({ status: { ownership: ownership({ endpointId: "ep-gone" }) } }),
      echoesNames: true,
      endpoints: [endpoint({ id: "ep-copy", name: ownName })],
    }),
    want: { kind: "Stall", reason: "CreateAmbiguous" },
  },
  {
    name: "the recorded endpoint is gone, and a person says that the other one is not ours → forgets, then creates again",
    why: "the annotation is the person's word",
    given: observation({
      resource: resource({
        ...givenUp,
        status: { ownership: ownership({ endpointId: "ep-gone" }), ...asked },
      }),
      echoesNames: true,
      endpoints: [endpoint({ id: "ep-copy", name: ownName })],
    }),
    want: { kind: "ForgetEndpoint" },
  },
  {
    name: "nothing recorded, and a person says that the endpoint with our token is not ours → it is not taken",
    why: "the annotation is the person's word",
    given: observation({
      resource: resource({ ...givenUp, status: asked }),
      echoesNames: true,
      endpoints: [endpoint({ id: "ep-copy", name: ownName })],
    }),
    want: { kind: "Stall", reason: "EndpointExists" },
  },
  ...(
    [
      ["nothing recorded", resource(givenUp), ["ep-1", "ep-2"]],
      ["deletion without records", resource({ ...deleting, ...givenUp }), ["ep-1", "ep-2"]],
      ["the recorded endpoint is gone", resource({ ...givenUp, status: { ownership: ownership() } }), ["ep-1"]],
    ] as const
  ).map(
    ([state, given, ids]): Row => ({
      name: `${state}, our token, and an annotation from before the question → a person decides anew`,
      why: "the answer is about other endpoints: status was lost since, and a further one would be made",
      given: observation({
        resource: given,
        echoesNames: true,
        absentIds: [ownership().endpointId],
        endpoints: ids.map((id) => endpoint({ id, name: ownName })),
      }),
      want: { kind: "Stall", reason: "CreateAmbiguous" },
    }),
  ),
  {
    name: "deletion without records, our token on another branch → a person decides",
    why: "status may have been lost; a release would leak the endpoint without a word",
    given: observation({
      resource: resource(deleting),
      echoesNames: true,
      endpoints: [endpoint({ id: "ep-1", name: ownName, branchId: otherBranch })],
    }),
    want: { kind: "Stall", reason: "CreateAmbiguous" },
  },
  ...(
    [
      ["deletion without records", { resource: resource(deleting) }],
      ["nothing recorded", { resource: resource() }],
    ] as const
  ).flatMap(([state, change]): readonly Row[] => [
    {
      name: `${state}, an endpoint that cannot be parsed carries our token → waits`,
      why: "it may be ours: a release would leak it, and a create would make a second one",
      given: observation({ ...change, echoesNames: true, unreadableIds: ["ep-1"], unreadableNames: [ownName] }),
      want: { kind: "Stall", reason: "CreateAmbiguous" },
    },
    {
      name: `${state}, an endpoint that cannot be parsed carries another token → goes on`,
      why: "one bad object does not block other resources",
      given: observation({ ...change, echoesNames: true, unreadableIds: ["ep-1"], unreadableNames: [otherName] }),
      want: { kind: state === "nothing recorded" ? "CreateEndpoint" : "RemoveFinalizer" },
    },
  ]),
  {
    name: "deletion without records, a person gives up the endpoint that cannot be parsed → the finalizer goes",
    why: "a person says that it is not ours",
    given: observation({
      resource: resource({ ...deleting, ...givenUp, status: asked }),
      echoesNames: true,
      unreadableIds: ["ep-1"],
      unreadableNames: [ownName],
    }),
    want: { kind: "RemoveFinalizer", cause: "NeverCreated" },
  },
  {
    name: "deletion without records, no token anywhere → the finalizer goes",
    why: "nothing was created",
    given: observation({ resource: resource(deleting), echoesNames: true }),
    want: { kind: "RemoveFinalizer", cause: "NeverCreated" },
  },
  ...(["ProjectLocked", "IdentityUnproven", "Paused"] as const).map((reason): Row => {
    const status = reason === "Paused" ? "Unknown" : "False";
    const stored = resource({
      ...deleting,
      spec: { deletionPolicy: "Retain" },
      status: { ownership: ownership(), conditions: [condition({ type: "Ready", status, reason })] },
    });
    const firstSeen = { mayHaveSentDelete: mayHaveSentDelete(stored), firstSeenMs: monotonicMs - 1_000 };
    return {
      name: `Retain, and an earlier process left ${reason} → waits until a DELETE of it cannot take effect`,
      why: "a DELETE without an answer may be on its way",
      given: observation({ resource: stored, memory: memory(firstSeen) }),
      want: { kind: "Wait", reason: "Deleting" },
    };
  }),
  {
    name: "a moved resource, its endpoint on the old branch → moved",
    why: "branchId is mutable",
    given: owned({}, { endpoint: { branchId: otherBranch } }),
    want: { kind: "MoveEndpoint", branchId: branch },
  },
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
    name: "another resource has a valid record of the same endpoint, being deleted → the endpoint is not deleted",
    why: "S3: the other resource still needs it",
    given: owned({}, { resource: deleting, claims: [claim({ ownedEndpointId: "ep-own-1" })] }),
    want: { kind: "Stall", reason: "OwnershipConflict" },
  },
  {
    name: "the branch has an endpoint of another cluster, no adoption → stalled, the remedy is named",
    why: "two clusters would fight over one database",
    given: observation({ echoesNames: true, endpoints: [elsewhere] }),
    want: { kind: "Stall", reason: "OwnedElsewhere", message: ownedElsewhereMessage },
  },
  {
    name: "the endpoint to adopt has the token of another cluster, also if named by id → stalled",
    why: "no adoption policy takes an endpoint that another operator may still manage",
    given: observation({
      echoesNames: true,
      endpoints: [elsewhere],
      resource: resource({ spec: { adoption: { policy: "AdoptOnly", endpointId: "ep-own-1" } } }),
    }),
    want: { kind: "Stall", reason: "OwnedElsewhere", message: ownedElsewhereMessage },
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
];

describe("single decisions", () => {
  it.each(rows)("$name", ({ given, want, why }) => {
    expect(planOf(given), why).toMatchObject(want);
  });
});
