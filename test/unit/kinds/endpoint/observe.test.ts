/** Tests the decisions about a resource with `management: Observe`. */
import { describe, expect, it, test } from "vitest";
import { fullGrant, noGrant } from "../../../../src/engine/grant.ts";
import { decideEndpoint, subjectOf } from "../../../../src/kinds/endpoint/decide.ts";
import { eventsFor } from "../../../../src/kinds/endpoint/events-for.ts";
import { statusFor } from "../../../../src/kinds/endpoint/status-for.ts";
import { byId } from "../../../../src/resource/branch-place.ts";
import type { ComputeEndpointSpec } from "../../../../src/resource/spec-schema.ts";
import type { ComputeEndpointStatus } from "../../../../src/resource/status-schema.ts";
import {
  branch,
  claim,
  condition,
  endpoint,
  intent,
  intentMemory,
  observation,
  otherBranch,
  ownership,
  planFor,
  type ResourceChange,
  resource,
  stepOf,
} from "./builders.ts";

type Change = Omit<Parameters<typeof observation>[0] & object, "resource">;
type Observing = Partial<ComputeEndpointSpec>;

/** An observing resource: it has no finalizer. */
function observing(spec: Observing, change: Change = {}, more: ResourceChange = {}) {
  const observed = { hasFinalizer: false, ...more, spec: { management: "Observe", ...spec } } as const;
  return observation({ endpoints: [endpoint()], resource: resource(observed), ...change });
}

const twoUnits = { compute: { minUnits: 2, maxUnits: 2 } } as const;
const named = { adoption: { policy: "AdoptOnly", endpointId: endpoint().id } } as const;
const open: ResourceChange = { hasFinalizer: true, status: { createIntent: intent() } };
const recorded: ResourceChange = { status: { ownership: ownership() } };
const asked = { annotations: { "endpoint-operator.dev/wake-requested-at": "1" } };
const all: Observing = { deletionPolicy: "Delete", schedules: [] };
const shown = { kind: "Observe", endpoint: { id: endpoint().id }, ignored: [] };
const missing = { kind: "Stall", reason: "AdoptionTargetMissing" };
const lateMemory = intentMemory({ sinceMs: -1_000_000 });

describe("plans: none sends anything", () => {
  it.each<[name: string, given: ReturnType<typeof observing>, want: object]>([
    ["the branch has a read-write endpoint → shown", observing({}), shown],
    ["spec names an endpoint of another branch → shown", observing({ ...named, branchId: otherBranch }), shown],
    ["a replica that spec names → shown", observing({ ...named, type: "ReadOnly" }), shown],
    ["a replica that spec does not name → nothing to observe", observing({ type: "ReadOnly" }), missing],
    ["the branch has none → nothing to observe", observing({ branchId: otherBranch }), missing],
    ["the named one is proven gone → the same", observing(named, { endpoints: [], readIds: [endpoint().id] }), missing],
    [
      "the list does not show the named one → read by id",
      observing(named, { endpoints: [], readIds: [] }),
      { kind: "Look" },
    ],
    ["it differs, and only the list shows that → read by id", observing(twoUnits, { readIds: [] }), { kind: "Look" }],
    ["it differs by id → shown", observing(twoUnits), shown],
    ["it does not differ in the list → shown", observing({}, { readIds: [] }), shown],
    ["another resource owns it → shown", observing({}, { claims: [claim({ ownedEndpointId: endpoint().id })] }), shown],
    ["its own record names it → shown", observing({ branchId: otherBranch }, {}, recorded), shown],
    [
      "a policy, schedules and an annotation → named as ignored",
      observing(all, {}, asked),
      { ...shown, ignored: ["spec.deletionPolicy", "spec.schedules", "endpoint-operator.dev/wake-requested-at"] },
    ],
    ["no grant → nothing is shown", observing({}, { grant: noGrant }), { kind: "Stall", reason: "ProjectNotGranted" }],
    [
      "a grant that allows no adoption → the same",
      observing({}, { grant: { ...fullGrant, mayAdopt: false } }),
      { kind: "Stall", reason: "ProjectNotGranted" },
    ],
    [
      "an open create, its answer unknown → waits",
      observing({}, { endpoints: [], memory: intentMemory() }, open),
      { kind: "Wait", reason: "CreateUnresolved" },
    ],
    [
      "an open create that can no longer take effect → closed, and not sent again",
      observing({}, { endpoints: [], memory: lateMemory }, open),
      { kind: "CloseIntent" },
    ],
    [
      "deleted, with a record → released",
      observing(all, {}, { ...recorded, isDeleting: true, hasFinalizer: true }),
      {
        kind: "RemoveFinalizer",
        cause: "Retained",
      },
    ],
    [
      "deleted, with an open create → released",
      observing(all, {}, { ...open, isDeleting: true }),
      {
        kind: "RemoveFinalizer",
        cause: "Retained",
      },
    ],
  ])("%s", (_name, given, want) => {
    expect(planFor(given)).toMatchObject(want);
  });
});

test.each<[string, ResourceChange, object]>([
  [
    "with a record → goes without a read",
    { ...recorded, hasFinalizer: true },
    { kind: "RemoveFinalizer", cause: "Observed" },
  ],
  ["without a record → the same", { hasFinalizer: true }, { kind: "RemoveFinalizer", cause: "Observed" }],
  ["with an open create → stays until it is resolved", open, { kind: "Look" }],
])("the finalizer of a resource that was managed before, %s", (_name, more, want) => {
  expect(decideEndpoint(observing({}, {}, more), {}, { place: byId, claims: () => undefined as never })).toMatchObject(
    want,
  );
});

test("the answer to a create has no status yet → the finalizer stays", () => {
  const memory = intentMemory({ answer: { endpoint: endpoint(), operations: [] } });
  const given = observing({}, { memory }, { hasFinalizer: true });
  expect(decideEndpoint(given, {}, { place: byId, claims: () => undefined as never })).toMatchObject({ kind: "Look" });
});

const log = { state: {}, mustStore: false, ended: [], ownInFlight: [] };

function observed(spec: Observing, before: ComputeEndpointStatus = {}, more: ResourceChange = {}) {
  const step = stepOf(observing(spec, {}, { ...more, status: before }), { kind: "NothingSent" });
  const status = statusFor(step, log);
  return { step, status, events: eventsFor(step, status).map(({ reason }) => reason) };
}

const ready = ({ conditions }: ComputeEndpointStatus) => conditions?.find(({ type }) => type === "Ready");

test("an endpoint that differs → state, host and drift, Ready Observed, not in sync; no record", () => {
  const { status, events } = observed({ ...twoUnits, branchId: branch });
  const { ownership: record, host, state } = status;
  expect({ record, host, state }).toEqual({ record: undefined, host: endpoint().host, state: endpoint().state });
  expect(status.drift).toMatchObject([{ field: "spec.compute", desired: "2" }]);
  expect(ready(status)).toMatchObject({ status: "True", reason: "Observed" });
  expect(status.conditions).toContainEqual(
    expect.objectContaining({ type: "InSync", status: "False", reason: "Drift" }),
  );
  expect(events).toEqual(["EndpointReady"]);
});

test("what is ignored → in the message of Ready and in one Warning", () => {
  const first = observed(all, {}, asked);
  expect(ready(first.status)?.message).toContain("spec.deletionPolicy, spec.schedules, endpoint-operator.dev/wake");
  expect(first.events).toEqual(["EndpointReady", "FieldsIgnored"]);
  expect(observed(all, first.status, asked).events).toEqual([]);
});

test("schedules and a change that waited → neither counts any more", () => {
  const waited = { fields: [], hash: "3f9a", sinceTime: "2026-11-21T11:00:00Z" };
  const schedule = { name: "all", schedule: "* * * * *", durationSeconds: 3_600, ...twoUnits };
  const spec = { compute: { minUnits: endpoint().minUnits, maxUnits: endpoint().maxUnits }, schedules: [schedule] };
  const before = { pendingChange: waited, conditions: [condition({ type: "ChangePending", status: "True" })] };
  const { status } = observed(spec, before);
  expect([status.pendingChange, status.activeSchedule, status.drift]).toEqual([undefined, undefined, undefined]);
});

test("there is nothing to observe any more → host and state go", () => {
  const step = stepOf(observing({ branchId: otherBranch }, {}, { status: { host: "h", state: "idle" } }), {
    kind: "NothingSent",
  });
  const { host, state } = statusFor(step, log);
  expect([host, state]).toEqual([undefined, undefined]);
});

test("operations of the endpoint → its log begins once, and anew for another endpoint", () => {
  const subject = (host: string) => subjectOf(stepOf(observing({}, {}, { status: { host } }), { kind: "NothingSent" }));
  expect(subject(endpoint().host)).toMatchObject({
    ownership: { endpointId: endpoint().id, origin: "Adopted" },
    previousOwnership: { endpointId: endpoint().id },
  });
  expect(subject("ep-before.example").previousOwnership).toBeUndefined();
});
