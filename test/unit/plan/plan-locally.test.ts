import { describe, expect, it } from "vitest";
import type { Observation } from "../../../src/plan/observation.ts";
import { ownershipToken } from "../../../src/plan/ownership-token.ts";
import { planLocally } from "../../../src/plan/plan-locally.ts";
import { condition, creating, endpoint, intent, memory, observation, owned, ownership, resource } from "./builders.ts";
import { itPlans } from "./check-plan.ts";

const elsewhere: readonly { readonly name: string; readonly change: Parameters<typeof ownership>[0] }[] = [
  { name: "of another uid", change: { resourceUid: "uid-restored" } },
  { name: "of another cluster", change: { clusterId: "cluster-b" } },
  { name: "of another service", change: { serviceUrl: "https://elsewhere.example/api/v2" } },
];

const strangeIntents: readonly { readonly name: string; readonly change: Parameters<typeof intent>[0] }[] = [
  { name: "with another resource's token", change: { token: ownershipToken("cluster-a", "uid-restored") } },
  { name: "with another cluster's token", change: { token: ownershipToken("cluster-b", "uid-orders") } },
  { name: "for another service", change: { serviceUrl: "https://elsewhere.example/api/v2" } },
];

describe("pause", () => {
  const states: readonly (readonly [string, Observation])[] = [
    ["new", observation({ resource: resource({ isPaused: true, hasFinalizer: false }) })],
    ["owned and different", owned({ disabled: true }, { resource: { isPaused: true } })],
    ["being deleted", owned({}, { resource: { isPaused: true, isDeleting: true } })],
    ["with an open create", creating({}, { resource: { isPaused: true } })],
    ["with a broken spec", observation({ resource: resource({ isPaused: true, brokenSpec: {} }) })],
    [
      "with a record of elsewhere",
      observation({
        resource: resource({ isPaused: true, status: { ownership: ownership({ clusterId: "cluster-b" }) } }),
        endpoints: [endpoint()],
      }),
    ],
  ];
  itPlans(
    states.map(([state, given]) => ({
      name: `${state}, paused → waits`,
      why: "a paused resource is written nothing but status, deletion included",
      given,
      want: { kind: "Wait", reason: "Paused" },
    })),
  );
});

describe("finalizer", () => {
  itPlans([
    {
      name: "new, no finalizer → adds it and nothing else",
      why: "nothing may be created outside before deletion would be noticed",
      given: observation({ resource: resource({ hasFinalizer: false }) }),
      want: { kind: "AddFinalizer" },
    },
    {
      name: "finalizer taken off by hand → adds it before anything else",
      why: "an owned endpoint must not outlive its resource unseen",
      given: owned({ disabled: true }, { resource: { hasFinalizer: false } }),
      want: { kind: "AddFinalizer" },
    },
    {
      name: "being deleted without our finalizer → is none of our business",
      why: "another finalizer holds the object; we have said goodbye already",
      given: owned({}, { resource: { hasFinalizer: false, isDeleting: true } }),
      want: { kind: "Settled" },
    },
  ]);
});

describe("broken spec", () => {
  itPlans([
    {
      name: "broken spec, not deleted → Stalled InvalidSpec and nothing outside is touched",
      why: "nobody knows what is asked for",
      given: observation({ resource: resource({ brokenSpec: {} }) }),
      want: { kind: "Stall", reason: "InvalidSpec", message: expect.stringContaining("spec.type") },
    },
    {
      name: "broken spec, owned, not deleted → Stalled InvalidSpec",
      why: "an endpoint is not changed by a spec nobody can read",
      given: observation({
        resource: resource({ brokenSpec: {}, status: { ownership: ownership() } }),
        endpoints: [endpoint()],
      }),
      want: { kind: "Stall", reason: "InvalidSpec" },
    },
    {
      name: "broken spec, owned, being deleted → deletes the endpoint",
      why: "a bad spec never leads to a silent leak",
      given: observation({
        resource: resource({ brokenSpec: {}, isDeleting: true, status: { ownership: ownership() } }),
        endpoints: [endpoint()],
      }),
      want: { kind: "DeleteEndpoint", endpointId: "ep-own-1", cause: "Deletion" },
    },
    {
      name: "broken spec that still says Retain, being deleted → retains",
      why: "the policy is read by itself, so that the remedy works whatever else is broken",
      given: observation({
        resource: resource({
          brokenSpec: { deletionPolicy: "Retain" },
          isDeleting: true,
          status: { ownership: ownership() },
        }),
        endpoints: [endpoint()],
      }),
      want: { kind: "RemoveFinalizer", cause: "Retained" },
    },
    {
      name: "broken spec, open create that was never sent, being deleted → closes it first",
      why: "an open intent is resolved before the finalizer goes",
      given: observation({
        resource: resource({ brokenSpec: {}, isDeleting: true, status: { createIntent: intent() } }),
        memory: memory({
          intent: {
            attempt: "attempt-1",
            posts: "NoneSent",
            firstSeenMs: 0,
            storedVersion: undefined,
            lastPostMs: undefined,
          },
        }),
      }),
      want: { kind: "CloseIntent", cause: "NothingLanded" },
    },
  ]);
});

describe("identity", () => {
  itPlans([
    ...elsewhere.flatMap(({ name, change }) => {
      const status = { ownership: ownership(change) };
      return [
        {
          name: `record ${name} → Stalled IdentityUnproven`,
          why: "a backup restored elsewhere must not touch what lives on under the old one",
          given: observation({ resource: resource({ spec: { disabled: true }, status }), endpoints: [endpoint()] }),
          want: { kind: "Stall", reason: "IdentityUnproven" } as const,
        },
        {
          name: `record ${name}, being deleted → Stalled IdentityUnproven, not deleted`,
          why: "deleting the copy must not delete the original's database",
          given: observation({ resource: resource({ isDeleting: true, status }), endpoints: [endpoint()] }),
          want: { kind: "Stall", reason: "IdentityUnproven", message: expect.stringContaining("Retain") } as const,
        },
        {
          name: `record ${name}, being deleted with Retain → lets go`,
          why: "the remedy that the message names must work",
          given: observation({
            resource: resource({ isDeleting: true, spec: { deletionPolicy: "Retain" }, status }),
            endpoints: [endpoint()],
          }),
          want: { kind: "RemoveFinalizer", cause: "Retained", abandoned: undefined } as const,
        },
        {
          name: `record ${name}, no finalizer → Stalled IdentityUnproven, not even a finalizer`,
          why: "the copy may belong to another operator",
          given: observation({ resource: resource({ hasFinalizer: false, status }) }),
          want: { kind: "Stall", reason: "IdentityUnproven" } as const,
        },
      ];
    }),
    ...strangeIntents.map(({ name, change }) => ({
      name: `open create ${name} → Stalled IdentityUnproven`,
      why: "an intent that was not made for this resource here must not be carried on",
      given: creating(change),
      want: { kind: "Stall", reason: "IdentityUnproven" } as const,
    })),
    {
      name: "ownership that cannot be read → Stalled IdentityUnproven",
      why: "a record we cannot read is not the absence of a record",
      given: observation({ resource: resource({ isOwnershipReadable: false }), endpoints: [endpoint()] }),
      want: { kind: "Stall", reason: "IdentityUnproven" },
    },
    {
      name: "ownership that cannot be read, being deleted → Stalled IdentityUnproven",
      why: "an endpoint that may be recorded there would leak",
      given: observation({ resource: resource({ isOwnershipReadable: false, isDeleting: true }) }),
      want: { kind: "Stall", reason: "IdentityUnproven" },
    },
    {
      name: "ownership that cannot be read, deleted with Retain → lets go",
      why: "the remedy works without the service",
      given: observation({
        resource: resource({ isOwnershipReadable: false, isDeleting: true, spec: { deletionPolicy: "Retain" } }),
      }),
      want: { kind: "RemoveFinalizer", cause: "Retained" },
    },
  ]);
});

describe("without the service", () => {
  it.each([
    ["a pause", observation({ resource: resource({ isPaused: true }) })],
    ["a broken spec", observation({ resource: resource({ brokenSpec: {} }) })],
    ["a retained deletion", owned({ deletionPolicy: "Retain" }, { resource: { isDeleting: true } })],
    ["an abandoned create", creating({}, { resource: { isDeleting: true, spec: { deletionPolicy: "Retain" } } })],
    [
      "an unproven identity",
      observation({ resource: resource({ status: { ownership: ownership({ clusterId: "b" }) } }) }),
    ],
    [
      "a deletion of what never was",
      observation({
        resource: resource({
          isDeleting: true,
          status: { conditions: [condition({ type: "Ready", status: "False" })] },
        }),
      }),
    ],
  ])("%s → is decided", (_name, { nowMs, resource: self, identity, claims, memory: remembered }) => {
    expect(planLocally({ nowMs, resource: self, identity, claims, memory: remembered })).toBeDefined();
  });

  it("a deletion without any status → needs the service: the status may have been lost", () => {
    expect(planLocally(observation({ resource: resource({ isDeleting: true }) }))).toBeUndefined();
  });

  it("a deletion with an endpoint → needs the service", () => {
    expect(planLocally(owned({}, { resource: { isDeleting: true } }))).toBeUndefined();
  });
});
