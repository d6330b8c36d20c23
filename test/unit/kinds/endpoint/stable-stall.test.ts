/** Tests that a Stalled by a refused change stays until the next try has a result, also after a restart. */
import { expect, test } from "vitest";
import { planOf } from "../../../../src/kinds/endpoint/decide.ts";
import { summaryOf } from "../../../../src/kinds/endpoint/endpoint-conditions.ts";
import { condition, owned, timeAt } from "./builders.ts";

const larger = { compute: { minUnits: 2, maxUnits: 2 } } as const;

/** Returns the summary of a resource that is Stalled by a refusal, while its change waits for the project. */
function summaryOfWait(observedGeneration: number) {
  const reasonAndTime = { status: "True", reason: "Rejected", lastTransitionTime: timeAt(-3_600_000) } as const;
  const stalled = condition({ type: "Stalled", ...reasonAndTime, observedGeneration });
  const given = owned(larger, {
    status: { conditions: [stalled], acknowledged: undefined },
  });
  const plan = planOf(given);
  expect(plan.kind).toBe("UpdateEndpoint");
  const outcome = { kind: "Deferred", waitedMs: 600_000, stillMs: 600_000 } as const;
  return summaryOf({ local: given, observation: given, plan, outcome });
}

test("Stalled by a refusal that an earlier process has seen, the change waits → Stalled stays", () => {
  expect(summaryOfWait(1)).toEqual({ kind: "Unchanged" });
});

test("Stalled by an earlier refusal, and spec has changed since → the wait is reported", () => {
  expect(summaryOfWait(0)).toMatchObject({ reason: "WaitingForProject" });
});
