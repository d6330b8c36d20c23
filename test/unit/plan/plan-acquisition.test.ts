import { describe, expect } from "vitest";
import type { Wish } from "../../../src/plan/claims.ts";
import type { ComputeEndpointSpec } from "../../../src/resource/spec-schema.ts";
import {
  claim,
  endpoint,
  intent,
  nowMs,
  observation,
  otherBranch,
  otherName,
  ownName,
  resource,
  timeAt,
  token,
} from "./builders.ts";
import { itPlans, type PlanCase } from "./check-plan.ts";

type Adoption = NonNullable<ComputeEndpointSpec["adoption"]>;

const there = endpoint({ id: "ep-there-1" });
const replica = endpoint({ id: "ep-replica-1", type: "ReadOnly" });
const asking = (adoption?: Adoption, change: Partial<ComputeEndpointSpec> = {}) =>
  resource({ spec: { ...(adoption === undefined ? {} : { adoption }), ...change } });
const wish = (change: Partial<Wish> = {}): Wish => ({
  branchId: "br-main-1",
  type: "ReadWrite",
  adopts: false,
  adoptsEndpointId: undefined,
  ...change,
});
const older = timeAt(-9_000_000);
const younger = timeAt(-1);

describe("create", () => {
  itPlans([
    {
      name: "place free, no intent → records the intent, does not create",
      why: "after a crash we must know that a POST may have happened",
      given: observation({ resource: asking(undefined, { disabled: true }) }),
      want: {
        kind: "RecordIntent",
        intent: {
          token,
          branchId: "br-main-1",
          type: "ReadWrite",
          preIds: [],
          time: new Date(nowMs).toISOString(),
          serviceUrl: "https://service.example/api/v2",
        },
      },
    },
    {
      name: "ReadOnly beside others → the intent names those of its branch and type, sorted",
      why: "what was there before cannot be what this create makes",
      given: observation({
        resource: asking(undefined, { type: "ReadOnly" }),
        endpoints: [
          there,
          endpoint({ id: "ep-z-9", type: "ReadOnly" }),
          replica,
          endpoint({ id: "ep-far-1", type: "ReadOnly", branchId: otherBranch }),
        ],
      }),
      want: { kind: "RecordIntent", intent: { preIds: ["ep-replica-1", "ep-z-9"] } },
    },
    {
      name: "another create open in this place → waits",
      why: "two open creates in one place could not tell their endpoints apart",
      given: observation({ isCreateTurn: false }),
      want: { kind: "Wait", reason: "WaitingForProject", requeueAfterMs: 5_000 },
    },
    {
      name: "our token on an endpoint → it is ours",
      why: "after a restored etcd the record may be gone, and a second endpoint would be a leak",
      given: observation({ endpoints: [endpoint({ id: "ep-found-1", name: ownName })] }),
      want: { kind: "RecordOwnership", ownership: { endpointId: "ep-found-1", origin: "Created" } },
    },
    {
      name: "our token on an endpoint of another branch → it is ours",
      why: "it is moved afterwards; a second one would be a leak",
      given: observation({ endpoints: [endpoint({ id: "ep-found-1", name: ownName, branchId: otherBranch })] }),
      want: { kind: "RecordOwnership", ownership: { endpointId: "ep-found-1" } },
    },
    {
      name: "our token on an endpoint that another resource owns → is left to it",
      why: "an endpoint has at most one owner",
      given: observation({
        resource: asking(undefined, { type: "ReadOnly" }),
        endpoints: [endpoint({ id: "ep-found-1", name: ownName, type: "ReadOnly" })],
        claims: [claim({ ownedEndpointId: "ep-found-1" })],
      }),
      want: { kind: "RecordIntent" },
    },
  ]);
});

describe("read-write place taken", () => {
  itPlans([
    ...[undefined, { policy: "Never" } as const].map(
      (adoption): PlanCase => ({
        name: `adoption ${adoption?.policy ?? "absent"} → Stalled EndpointExists, and the lines to add`,
        why: "nothing is taken over without consent",
        given: observation({ resource: asking(adoption), endpoints: [there] }),
        want: {
          kind: "Stall",
          reason: "EndpointExists",
          message: expect.stringContaining("adoption: {policy: AdoptOrCreate, endpointId: ep-there-1}"),
        },
      }),
    ),
    ...(["AdoptOrCreate", "AdoptOnly"] as const).flatMap((policy): PlanCase[] => [
      {
        name: `${policy} → Adopted`,
        why: "consent, and no other owner",
        given: observation({ resource: asking({ policy }), endpoints: [there] }),
        want: { kind: "RecordOwnership", ownership: { endpointId: "ep-there-1", origin: "Adopted" } },
      },
      {
        name: `${policy} by id → Adopted`,
        why: "consent to this one",
        given: observation({ resource: asking({ policy, endpointId: "ep-there-1" }), endpoints: [there] }),
        want: { kind: "RecordOwnership", ownership: { endpointId: "ep-there-1", origin: "Adopted" } },
      },
      {
        name: `${policy} by the id of another that is not there → Stalled EndpointExists`,
        why: "consent to one is no consent to another",
        given: observation({ resource: asking({ policy, endpointId: "ep-nowhere-9" }), endpoints: [there] }),
        want: { kind: "Stall", reason: "EndpointExists" },
      },
      {
        name: `${policy} by the id of a ReadOnly → Stalled AdoptionMismatch`,
        why: "what was named is not what was asked for",
        given: observation({ resource: asking({ policy, endpointId: "ep-replica-1" }), endpoints: [replica] }),
        want: { kind: "Stall", reason: "AdoptionMismatch" },
      },
      {
        name: `${policy} by the id of one on another branch → Stalled AdoptionMismatch, never moved`,
        why: "adoption takes over what is, it does not pull it away",
        given: observation({
          resource: asking({ policy, endpointId: "ep-far-1" }),
          endpoints: [endpoint({ id: "ep-far-1", branchId: otherBranch })],
        }),
        want: { kind: "Stall", reason: "AdoptionMismatch" },
      },
    ]),
    {
      name: "AdoptOrCreate, place free → records an intent",
      why: "there is nothing to adopt",
      given: observation({ resource: asking({ policy: "AdoptOrCreate" }) }),
      want: { kind: "RecordIntent" },
    },
    {
      name: "AdoptOnly, place free → Stalled AdoptionTargetMissing",
      why: "AdoptOnly never creates",
      given: observation({ resource: asking({ policy: "AdoptOnly" }) }),
      want: { kind: "Stall", reason: "AdoptionTargetMissing", message: expect.stringContaining("br-main-1") },
    },
    {
      name: "AdoptOnly by id, not there → Stalled AdoptionTargetMissing",
      why: "AdoptOnly never creates",
      given: observation({ resource: asking({ policy: "AdoptOnly", endpointId: "ep-nowhere-9" }) }),
      want: { kind: "Stall", reason: "AdoptionTargetMissing", message: expect.stringContaining("ep-nowhere-9") },
    },
  ]);
});

describe("adoption of a ReadOnly", () => {
  const named = (policy: "AdoptOrCreate" | "AdoptOnly", endpointId: string) =>
    asking({ policy, endpointId }, { type: "ReadOnly" });
  itPlans([
    {
      name: "named and there → Adopted",
      why: "consent, and no other owner",
      given: observation({ resource: named("AdoptOnly", "ep-replica-1"), endpoints: [there, replica] }),
      want: { kind: "RecordOwnership", ownership: { endpointId: "ep-replica-1", origin: "Adopted" } },
    },
    {
      name: "named and not there, AdoptOrCreate → records an intent",
      why: "else create one",
      given: observation({ resource: named("AdoptOrCreate", "ep-gone-1"), endpoints: [there, replica] }),
      want: { kind: "RecordIntent", intent: { type: "ReadOnly", preIds: ["ep-replica-1"] } },
    },
    {
      name: "not named, one there → is not adopted",
      why: "which of several replicas is meant must be said",
      given: observation({ resource: asking(undefined, { type: "ReadOnly" }), endpoints: [replica] }),
      want: { kind: "RecordIntent" },
    },
  ]);
});

describe("claims", () => {
  const consent = asking({ policy: "AdoptOrCreate" });
  const claimed = { kind: "Stall", reason: "ClaimedByAnother" } as const;
  itPlans([
    {
      name: "another resource owns it, no consent → Stalled ClaimedByAnother, named within the namespace",
      why: "the person must know whom to ask",
      given: observation({ endpoints: [there], claims: [claim({ ownedEndpointId: "ep-there-1" })] }),
      want: { ...claimed, message: expect.stringContaining("ComputeEndpoint billing") },
    },
    {
      name: "a resource of another namespace owns it → Stalled ClaimedByAnother without its name",
      why: "other namespaces are none of the reader's business",
      given: observation({
        endpoints: [there],
        claims: [claim({ ownedEndpointId: "ep-there-1", key: { namespace: "secret-ns", name: "secret-name" } })],
      }),
      want: { ...claimed, message: expect.not.stringMatching(/secret/) },
    },
    {
      name: "another resource owns it, consent → Stalled ClaimedByAnother",
      why: "consent is to adopt what has no other owner, be that owner deleted or not",
      given: observation({ resource: consent, endpoints: [there], claims: [claim({ ownedEndpointId: "ep-there-1" })] }),
      want: claimed,
    },
    {
      name: "another resource's open create may have made it, consent → Stalled ClaimedByAnother",
      why: "an open intent comes first",
      given: observation({ resource: consent, endpoints: [there], claims: [claim({ openIntent: intent() })] }),
      want: claimed,
    },
    {
      name: "a frozen suspect of another resource, consent by id → Stalled ClaimedByAnother",
      why: "frozen ids are kept out of everybody's candidates",
      given: observation({
        resource: asking({ policy: "AdoptOnly", endpointId: "ep-replica-1" }, { type: "ReadOnly" }),
        endpoints: [replica],
        claims: [
          claim({ openIntent: intent({ branchId: otherBranch, suspectIds: ["ep-replica-1"] }), isStalled: true }),
        ],
      }),
      want: claimed,
    },
    {
      name: "it carries a live resource's token that no record names, consent → Stalled ClaimedByAnother",
      why: "who created it owns it, whether its record says so or not any more",
      given: observation({ resource: consent, endpoints: [{ ...there, name: otherName }], claims: [claim()] }),
      want: claimed,
    },
    {
      name: "it carries the token of a resource that is gone, consent → Adopted",
      why: "this is how a retained endpoint is taken up again",
      given: observation({ resource: consent, endpoints: [{ ...there, name: otherName }] }),
      want: { kind: "RecordOwnership", ownership: { origin: "Adopted" } },
    },
    {
      name: "it was there before another's open create, consent → Adopted",
      why: "that create cannot have made it",
      given: observation({
        resource: asking({ policy: "AdoptOnly", endpointId: "ep-replica-1" }, { type: "ReadOnly" }),
        endpoints: [replica],
        claims: [claim({ openIntent: intent({ type: "ReadOnly", preIds: ["ep-replica-1"] }) })],
      }),
      want: { kind: "RecordOwnership" },
    },
    ...(
      [
        ["by name", { adopts: true, adoptsEndpointId: "ep-there-1" }],
        ["as whatever has the place", { adopts: true }],
      ] as const
    ).flatMap(([how, wanted]): PlanCase[] => [
      {
        name: `an older resource would adopt it ${how} → Stalled ClaimedByAnother`,
        why: "among those who merely ask the oldest comes first, or both would take it at once",
        given: observation({
          resource: consent,
          endpoints: [there],
          claims: [claim({ creationTimestamp: older, wish: wish(wanted) })],
        }),
        want: claimed,
      },
      {
        name: `a younger resource would adopt it ${how} → Adopted`,
        why: "the oldest comes first",
        given: observation({
          resource: consent,
          endpoints: [there],
          claims: [claim({ creationTimestamp: younger, wish: wish(wanted) })],
        }),
        want: { kind: "RecordOwnership" },
      },
      {
        name: `an older owner of another endpoint still says it would adopt it ${how} → Adopted`,
        why: "it adopts no more, so waiting for it would never end",
        given: observation({
          resource: consent,
          endpoints: [there],
          claims: [claim({ creationTimestamp: older, wish: wish(wanted), ownedEndpointId: "ep-other-7" })],
        }),
        want: { kind: "RecordOwnership" },
      },
    ]),
    {
      name: "an older resource would adopt another one → Adopted",
      why: "that is no rival",
      given: observation({
        resource: consent,
        endpoints: [there],
        claims: [claim({ creationTimestamp: older, wish: wish({ adopts: true, adoptsEndpointId: "ep-else-2" }) })],
      }),
      want: { kind: "RecordOwnership" },
    },
    {
      name: "place free, another resource's create open there → Stalled ClaimedByAnother",
      why: "an open intent comes first, even a younger resource's",
      given: observation({ claims: [claim({ creationTimestamp: younger, openIntent: intent() })] }),
      want: claimed,
    },
    {
      name: "place free, an older resource asks for it → Stalled ClaimedByAnother",
      why: "one of two must give way, always the same one",
      given: observation({ claims: [claim({ creationTimestamp: older, wish: wish() })] }),
      want: claimed,
    },
    {
      name: "place free, one as old with a smaller uid asks for it → Stalled ClaimedByAnother",
      why: "the uid breaks the tie",
      given: observation({ claims: [claim({ creationTimestamp: timeAt(-7_200_000), uid: "uid-aaa", wish: wish() })] }),
      want: claimed,
    },
    {
      name: "place free, one as old with a greater uid asks for it → records an intent",
      why: "the uid breaks the tie",
      given: observation({ claims: [claim({ creationTimestamp: timeAt(-7_200_000), uid: "uid-zzz", wish: wish() })] }),
      want: { kind: "RecordIntent" },
    },
    {
      name: "place free, two older ones ask for it → the oldest is named",
      why: "it is the one that will have it",
      given: observation({
        claims: [
          claim({
            creationTimestamp: timeAt(-8_000_000),
            uid: "b",
            key: { namespace: "shop", name: "second" },
            wish: wish(),
          }),
          claim({
            creationTimestamp: timeAt(-9_000_000),
            uid: "a",
            key: { namespace: "shop", name: "first" },
            wish: wish(),
          }),
        ],
      }),
      want: { ...claimed, message: expect.stringContaining("first") },
    },
    {
      name: "place free, an older one asks for another branch → records an intent",
      why: "that is no rival",
      given: observation({ claims: [claim({ creationTimestamp: older, wish: wish({ branchId: otherBranch }) })] }),
      want: { kind: "RecordIntent" },
    },
    {
      name: "ReadOnly, an older one asks for a ReadOnly there → records an intent",
      why: "a branch has room for any number of replicas",
      given: observation({
        resource: asking(undefined, { type: "ReadOnly" }),
        claims: [claim({ creationTimestamp: older, wish: wish({ type: "ReadOnly" }) })],
      }),
      want: { kind: "RecordIntent" },
    },
  ]);
});
