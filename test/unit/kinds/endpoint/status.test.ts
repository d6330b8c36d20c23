/** Tests what status says after a plan and its outcome. */
import { expect, it } from "vitest";
import { ControlPlaneError } from "../../../../src/domain/control-plane-error.ts";
import { summaryOf } from "../../../../src/kinds/endpoint/endpoint-conditions.ts";
import type { EndpointOutcome } from "../../../../src/kinds/endpoint/plan.ts";
import { statusFor } from "../../../../src/kinds/endpoint/status-for.ts";
import { conditionOf } from "../../../../src/resource/conditions.ts";
import { annotations } from "../../../../src/resource/names.ts";
import { condition, endpoint, owned, ownership, planFor, stepOf, timeAt } from "./builders.ts";

const deferred = { kind: "Deferred", waitedMs: 0 } as const;
const noOperations = { state: {}, mustStore: false, ended: [], ownInFlight: [] };

it.each([
  ["that an earlier process has seen → Stalled stays", 1, { kind: "Unchanged" }],
  ["of an earlier spec → the wait is reported", 0, { reason: "WaitingForProject" }],
])("the change waits, and the resource is Stalled by a refusal %s", (_, observedGeneration, want) => {
  const reasonAndTime = { status: "True", reason: "Rejected", lastTransitionTime: timeAt(-3_600_000) } as const;
  const stalled = condition({ type: "Stalled", ...reasonAndTime, observedGeneration });
  const larger = { compute: { minUnits: 2, maxUnits: 2 } };
  const given = owned(larger, { status: { conditions: [stalled], bookkeeping: undefined } });
  expect(summaryOf(stepOf(given, { kind: "Deferred", waitedMs: 600_000 }))).toMatchObject(want);
});

it.each<[string, EndpointOutcome, string | undefined]>([
  ["accepted → noted", { kind: "Accepted", answer: { endpoint: endpoint(), operations: [] } }, "1"],
  ["put off → not noted", deferred, undefined],
])("a start that an annotation asks for is %s", (_, outcome, want) => {
  const given = owned({}, { resource: { annotations: { [annotations.wakeRequestedAt]: "1" } } });
  expect(statusFor(stepOf(given, outcome), noOperations).lastHandledWakeAt).toBe(want);
});

const inSync = { conditions: (["Ready", "InSync"] as const).map((type) => condition({ type, status: "True" })) };
const adopted = { ...inSync, ownership: ownership({ origin: "Adopted" }) };
const failure = new ControlPlaneError("Unavailable", "no", { effect: "NotApplied" });
const outage = { kind: "Failed", error: failure, forMs: 3_600_000, lockHolder: undefined } as const;
const unsent = { kind: "NothingSent" } as const;

it.each<[string, Parameters<typeof owned>[1], EndpointOutcome, string]>([
  ["the endpoint is gone → Stalled", { status: adopted, endpoints: [] }, unsent, "NotCompared"],
  ["paused, and gone", { status: inSync, endpoints: [], resource: { isPaused: true } }, unsent, "NotCompared"],
  ["an outage", { status: inSync, readIds: [] }, outage, "UpToDate"],
  ["an outage at a schedule's end", { status: { ...inSync, activeSchedule: "a" }, readIds: [] }, outage, "NotCompared"],
])("InSync was True; then %s", (_, change, outcome, reason) => {
  const given = owned({}, change);
  const plan = outcome === outage ? ({ kind: "Look", at: "Project" } as const) : planFor(given);
  const { conditions } = statusFor(stepOf(given, outcome, plan), noOperations);
  expect(conditionOf(conditions, "InSync")?.reason).toBe(reason);
});

it.each([
  ["True", "1"],
  ["False", "0.25-2"],
] as const)("Ready %s that stays → the size %s: only Stalled shows another one", (status, size) => {
  const known = {
    compute: { minUnits: 1, maxUnits: 1, size: "1" },
    conditions: [condition({ type: "Ready", status })],
  };
  const step = stepOf(owned({}, { status: known, endpoint: { minUnits: 0.25, maxUnits: 2 } }), deferred);
  expect(statusFor(step, noOperations).compute?.size).toBe(size);
});

const connections = { 0.25: 112, 0.5: 225, 1: 450, 2: 901, 3: 1351, 4: 1802, 5: 2253, 6: 2703, 7: 3154, 8: 3604 };

it.each([...Object.entries(connections), ["9", undefined], ["-1e300", undefined]])(
  "%s units → %s connections",
  (units, want) => {
    const step = stepOf(owned({}, { endpoint: { minUnits: Number(units), maxUnits: 9 } }), unsent);
    expect(statusFor(step, noOperations).compute?.maxConnections).toBe(want);
  },
);
