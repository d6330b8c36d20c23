/** Tests what status says after a plan and its outcome, where the product of all factors does not pin it down. */
import { expect, it } from "vitest";
import { summaryOf } from "../../../../src/kinds/endpoint/endpoint-conditions.ts";
import type { EndpointOutcome } from "../../../../src/kinds/endpoint/observation.ts";
import { statusFor } from "../../../../src/kinds/endpoint/status-for.ts";
import { annotations } from "../../../../src/resource/names.ts";
import { condition, endpoint, owned, stepOf, timeAt } from "./builders.ts";

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
  ["put off → not noted", { kind: "Deferred", waitedMs: 0 }, undefined],
])("a start that an annotation asks for is %s", (_, outcome, want) => {
  const given = owned({}, { resource: { annotations: { [annotations.wakeRequestedAt]: "1" } } });
  expect(statusFor(stepOf(given, outcome), noOperations).lastHandledWakeAt).toBe(want);
});
