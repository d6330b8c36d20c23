/** Runs the simplest simulation. */
import { expect, test } from "vitest";
import { rightControlPlaneClock } from "./control-plane/calendar.ts";
import { world as places } from "./control-plane/engine.ts";
import { faultless } from "./faults/fault-plan.ts";
import { run } from "./run/run.ts";
import { conditionOf } from "./run/settled.ts";
import { rightClock } from "./time/machine.ts";

test("one resource, one replica, no fault → Ready, its endpoint is there, no promise is broken", async () => {
  const { world, violations } = await run({
    world: {
      seed: 1,
      profile: "public",
      machines: [rightClock],
      controlPlaneClock: rightControlPlaneClock,
      operationLatencyMs: { min: 300, max: 1_000 },
      hasElection: true,
      faults: faultless,
      settings: {},
    },
    steps: [
      {
        atMs: 1_000,
        action: {
          kind: "Apply",
          name: "orders",
          spec: { projectId: places.project, branchId: places.branches[1], type: "ReadWrite" },
        },
      },
    ],
    quietFromMs: 10_000,
    restWithinMs: 1_200_000,
  });
  const stored = world.stored("orders");
  expect(stored && conditionOf(stored, "Ready")?.status).toBe("True");
  expect(world.endpoints()).toHaveLength(1);
  expect(violations).toEqual([]);
});
