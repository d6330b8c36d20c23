import { describe, expect } from "vitest";
import type { ComputeEndpointSpec } from "../../../src/resource/spec-schema.ts";
import { claim, endpoint, nowMs, observation, otherBranch, ownName, resource, token } from "./builders.ts";
import { itPlans, type PlanCase } from "./check-plan.ts";

type Adoption = NonNullable<ComputeEndpointSpec["adoption"]>;

const there = endpoint({ id: "ep-there-1" });
const replica = endpoint({ id: "ep-replica-1", type: "ReadOnly" });
const asking = (adoption?: Adoption, change: Partial<ComputeEndpointSpec> = {}) =>
  resource({ spec: { ...(adoption === undefined ? {} : { adoption }), ...change } });

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
