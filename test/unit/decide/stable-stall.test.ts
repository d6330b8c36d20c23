/** Tests that a Stalled by a refused change stays until the next try has a result, also after a restart. */
import { expect, test } from "vitest";
import { summaryOf } from "../../../src/decide/conditions-for.ts";
import { planOf } from "../../../src/decide/plan-resource.ts";
import { condition, memory, owned, timeAt } from "./builders.ts";

const since = timeAt(-3_600_000);
const larger = { compute: { minUnits: 2, maxUnits: 2 } } as const;

/** Returns the summary of a resource that is Stalled by a refusal, while its change waits for the project. */
function summaryOfWait(stalledSinceAtFirst: string | undefined, observedGeneration = 1) {
  const reasonAndTime = { status: "True", reason: "Rejected", lastTransitionTime: since } as const;
  const stalled = condition({ type: "Stalled", ...reasonAndTime, observedGeneration });
  const given = owned(larger, {
    status: { conditions: [stalled], acknowledged: undefined },
    memory: memory({ stalledSinceAtFirst }),
  });
  const plan = planOf(given);
  expect(plan.kind).toBe("UpdateEndpoint");
  const outcome = { kind: "Deferred", waitedMs: 600_000, stillMs: 600_000 } as const;
  return summaryOf({ local: given, observation: given, plan, outcome });
}

test("Stalled by a refusal that an earlier process has seen, the change waits → Stalled stays", () => {
  expect(summaryOfWait(since)).toEqual({ kind: "Unchanged" });
});

test("Stalled by an earlier refusal, and spec has changed since → the wait is reported", () => {
  expect(summaryOfWait(since, 0)).toMatchObject({ reason: "WaitingForProject" });
});

test("Stalled by a failed read of this process, and the project can be read again → the wait is reported", () => {
  expect(summaryOfWait(timeAt(-7_200_000))).toMatchObject({ reason: "WaitingForProject" });
});
