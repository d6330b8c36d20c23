/** Tests each rule of creates: what the operator does with a stored intent, and how it finds its own endpoint. */
import { describe, expect, it } from "vitest";
import { annotations } from "../../../../src/resource/names.ts";
import {
  branch,
  claim,
  creating,
  endpoint,
  intent,
  intentMemory,
  memory,
  monotonicMs,
  observation,
  otherBranch,
  ownership,
  ownName,
  planFor,
  policy,
  type Row,
  resource,
} from "./builders.ts";

/** A list that began after the time in which a POST can take effect. */
const settled = { startedAtMs: monotonicMs + policy.createSettleMs };
const sized = { compute: { minUnits: 1, maxUnits: 1 } } as const;
const clean = { memory: intentMemory({ isUnresolved: false }) };
const own = endpoint({ id: "ep-1", name: ownName });
const nameless = endpoint({ id: "ep-1" });
const replica = endpoint({ id: "ep-1", type: "ReadOnly" });
const twoOwn = { echoesNames: true, endpoints: [own, endpoint({ id: "ep-2", name: ownName })] };
const underNewIntent = { kind: "CreateEndpoint", intent: { attempt: expect.not.stringMatching("attempt-1") } } as const;
const answer = (value: string) => ({ annotations: { [annotations.resolveCreate]: value } });

const lostStatus: readonly Row[] = [
  {
    name: "nothing recorded, an endpoint carries our token, on another branch → it is ours",
    why: "status was lost: a second endpoint would be made",
    given: observation({ echoesNames: true, endpoints: [{ ...own, branchId: otherBranch }] }),
    want: { kind: "RecordOwnership", ownership: ownership({ endpointId: "ep-1" }) },
  },
  {
    name: "nothing recorded, only a list shows an endpoint with our token → read by id",
    why: "by id is the truth",
    given: observation({ echoesNames: true, endpoints: [own], readIds: [] }),
    want: { kind: "Look", at: "Endpoint", endpointId: "ep-1" },
  },
  {
    name: "nothing recorded, our token in an endpoint of another type → creates",
    why: "the resource has not created that one",
    given: observation({
      echoesNames: true,
      endpoints: [own],
      resource: resource({ spec: { type: "ReadOnly" } }),
    }),
    want: { kind: "CreateEndpoint" },
  },
  {
    name: "nothing recorded, several endpoints carry our token → a person decides",
    why: "one of the names may be a copy",
    given: observation(twoOwn),
    want: { kind: "Stall", reason: "CreateAmbiguous" },
  },
  {
    name: "nothing recorded, several endpoints carry our token, a person names one → it is ours",
    why: "the annotation is the person's word",
    given: observation({ ...twoOwn, resource: resource(answer("adopt=ep-2")) }),
    want: { kind: "RecordOwnership", ownership: ownership({ endpointId: "ep-2" }) },
  },
];

const posts: readonly Row[] = [
  {
    name: "nothing recorded → a new intent, with the endpoints of the branch and type in the list",
    why: "after a crash the operator must know what existed before",
    given: observation({
      resource: resource({ spec: { type: "ReadOnly" } }),
      endpoints: [replica, endpoint({ id: "ep-2" }), endpoint({ ...replica, id: "ep-3", branchId: otherBranch })],
      unreadableIds: ["ep-bad"],
    }),
    want: { kind: "CreateEndpoint", intent: { preIds: ["ep-1", "ep-bad"] } },
  },
  {
    name: "every POST refused, the same endpoints → the stored intent serves, without a write",
    why: "three hours of the same refusal cost two status writes",
    given: creating({}, clean),
    want: { kind: "CreateEndpoint", intent: intent() },
  },
  {
    name: "every POST refused, another endpoint since → a new intent",
    why: "that endpoint would look like the result of the next POST",
    given: creating({ type: "ReadOnly" }, { ...clean, endpoints: [replica] }),
    want: underNewIntent,
  },
  {
    name: "every POST refused, being deleted → the intent is closed at once",
    why: "such an intent never holds up a deletion",
    given: creating({}, { ...clean, resource: { isDeleting: true } }),
    want: { kind: "CloseIntent", cause: "NothingCreated" },
  },
  {
    name: "every POST refused, spec names another branch → the intent is closed at once",
    why: "an edit undoes a mistake at once",
    given: creating({ branchId: otherBranch }, clean),
    want: { kind: "CloseIntent", cause: "NothingCreated" },
  },
  {
    name: "every POST refused, the branch has a read-write endpoint now → the intent is closed",
    why: "the next decision says how to adopt it",
    given: creating({ preIds: ["ep-1"] }, { ...clean, endpoints: [nameless] }),
    want: { kind: "CloseIntent", cause: "NothingCreated" },
  },
  {
    name: "the POSTs are forgotten, the list began long after the intent → waits",
    why: "S2: an earlier process may have sent a POST just before",
    given: creating({}, { ...settled, memory: memory() }),
    want: { kind: "Wait", reason: "CreateUnresolved" },
  },
  {
    name: "a POST of another intent was refused → the present one is unresolved",
    why: "the process knows nothing about the POSTs of this one",
    given: creating({}, { memory: intentMemory({ attempt: "attempt-0", isUnresolved: false }) }),
    want: { kind: "Wait", reason: "CreateUnresolved" },
  },
  {
    name: "unresolved → waits, and says until when",
    why: "S2: at most one unresolved POST",
    given: creating(),
    want: {
      kind: "Wait",
      message:
        "The answer to a create was lost. The operator waits until 12:03 UTC, when that request can no longer take effect.",
    },
  },
  {
    name: "unresolved, settled, no candidate → a POST under a new intent",
    why: "under the old one even a refusal would leave the result unknown",
    given: creating({}, settled),
    want: underNewIntent,
  },
  {
    name: "unresolved, settled, no candidate, being deleted → the intent is closed",
    why: "S4: nothing was created",
    given: creating({}, { ...settled, resource: { isDeleting: true } }),
    want: { kind: "CloseIntent", cause: "NothingCreated" },
  },
];

const candidates: readonly Row[] = [
  {
    name: "unresolved, not settled, our token on another branch → ours at once",
    why: "the name is proof",
    given: creating({}, { echoesNames: true, endpoints: [{ ...own, branchId: otherBranch }] }),
    want: { kind: "RecordOwnership", ownership: ownership({ endpointId: "ep-1" }) },
  },
  {
    name: "unresolved, settled, a replica without a name beside a named endpoint → not ours, creates",
    why: "the control plane shows names, so ours would carry our token",
    given: creating(
      { type: "ReadOnly" },
      { ...settled, echoesNames: true, endpoints: [replica, endpoint({ id: "ep-2", name: "by-hand" })] },
    ),
    want: { kind: "CreateEndpoint" },
  },
  {
    name: "unresolved, settled, a read-write endpoint with another name → the intent is closed",
    why: "the branch is taken: the next decision says how to adopt",
    given: creating({}, { ...settled, echoesNames: true, endpoints: [{ ...nameless, name: "by-hand" }] }),
    want: { kind: "CloseIntent", cause: "NothingCreated" },
  },
  {
    name: "unresolved, settled, the only nameless read-write endpoint → Presumed",
    why: "a branch has one such endpoint, and no field differs from spec",
    given: creating({}, { ...settled, endpoints: [nameless] }),
    want: { kind: "RecordOwnership", ownership: ownership({ endpointId: "ep-1", origin: "Presumed" }) },
  },
  {
    name: "unresolved, settled, the only nameless read-write endpoint has another size than spec → a person decides",
    why: "S1: another client may have made it while the answer was lost",
    given: creating(
      {},
      { ...settled, resource: { spec: sized }, endpoints: [{ ...nameless, minUnits: 2, maxUnits: 2 }] },
    ),
    want: { kind: "Stall", reason: "CreateAmbiguous" },
  },
  {
    name: "unresolved, settled, the only nameless replica → a person decides",
    why: "a branch may have any number of replicas",
    given: creating({ type: "ReadOnly" }, { ...settled, endpoints: [replica] }),
    want: {
      kind: "Stall",
      reason: "CreateAmbiguous",
      message:
        "The answer to a create was lost, and the create may have made ep-1. Annotate the resource with endpoint-operator.dev/resolve-create=adopt=<endpoint id> if one of them is yours. If none is, annotate it with endpoint-operator.dev/resolve-create=abandon=attempt-1.",
    },
  },
  ...[
    { which: "of before the intent", preIds: ["ep-1"] },
    { which: "on another branch", branchId: otherBranch },
    { which: "that another resource owns", claims: [claim({ ownedEndpointId: "ep-1" })] },
  ].map(
    ({ which, preIds = [], branchId = branch, claims = [] }): Row => ({
      name: `unresolved, settled, a nameless replica ${which} → creates`,
      why: "it is another client's",
      given: creating({ type: "ReadOnly", preIds }, { ...settled, endpoints: [{ ...replica, branchId }], claims }),
      want: { kind: "CreateEndpoint" },
    }),
  ),
  ...[
    { which: "a new entry cannot be parsed", unreadableIds: ["ep-new"] },
    { which: "a new entry without an id cannot be parsed", unreadableIds: [""] },
    {
      which: "a new entry cannot be parsed beside a nameless endpoint",
      unreadableIds: ["ep-new"],
      endpoints: [nameless],
    },
  ].map(
    ({ which, ...seen }): Row => ({
      name: `unresolved, settled, ${which} → a person decides`,
      why: "it may be what the create made: another POST would make a second one",
      given: creating({}, { ...settled, ...seen }),
      want: { kind: "Stall", reason: "CreateAmbiguous" },
    }),
  ),
  {
    name: "unresolved, settled, the entry that cannot be parsed was there before, or has an owner → creates",
    why: "one bad object does not block other resources",
    given: creating(
      { preIds: ["ep-old"] },
      { ...settled, unreadableIds: ["ep-old", "ep-others"], claims: [claim({ ownedEndpointId: "ep-others" })] },
    ),
    want: { kind: "CreateEndpoint" },
  },
];

const answers: readonly Row[] = [
  {
    name: "unresolved, a person adopts the candidate → Adopted",
    why: "the annotation is the person's word, and a deletion retains what was adopted",
    given: creating(
      { type: "ReadOnly" },
      { ...settled, endpoints: [replica], resource: { spec: { type: "ReadOnly" }, ...answer("adopt=ep-1") } },
    ),
    want: { kind: "RecordOwnership", ownership: ownership({ endpointId: "ep-1", origin: "Adopted" }) },
  },
  {
    name: "unresolved, a person adopts what is no candidate → the question stays",
    why: "S3: that endpoint was there before",
    given: creating(
      { type: "ReadOnly", preIds: ["ep-2"] },
      {
        ...settled,
        endpoints: [replica, { ...replica, id: "ep-2" }],
        resource: { spec: { type: "ReadOnly" }, ...answer("adopt=ep-2") },
      },
    ),
    want: { kind: "Stall", reason: "CreateAmbiguous" },
  },
  {
    name: "unresolved, a person abandons the attempt → the intent is closed at once",
    why: "the annotation is the person's word",
    given: creating({}, { resource: answer("abandon=attempt-1") }),
    want: { kind: "CloseIntent", cause: "Abandoned" },
  },
  {
    name: "unresolved, a person has abandoned another attempt → waits",
    why: "the answer is about an earlier create",
    given: creating({}, { resource: answer("abandon=attempt-0") }),
    want: { kind: "Wait", reason: "CreateUnresolved" },
  },
];

describe.each([
  ["lost status", lostStatus],
  ["intent and POSTs", posts],
  ["candidates", candidates],
  ["a person's answer", answers],
] as const)("create: %s", (_what, rows) => {
  it.each(rows)("$name", ({ given, want, why }) => {
    expect(planFor(given), why).toMatchObject(want);
  });
});
