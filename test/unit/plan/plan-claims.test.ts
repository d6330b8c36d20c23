import { describe, expect } from "vitest";
import type { Wish } from "../../../src/plan/claims.ts";
import type { ComputeEndpointSpec } from "../../../src/resource/spec-schema.ts";
import { claim, endpoint, intent, observation, otherBranch, otherName, resource, timeAt } from "./builders.ts";
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
