/** Tests by simulation what a burst of creates in one project costs. */
import { describe, expect, test } from "vitest";
import { world as places } from "./control-plane/engine.ts";
import { planOf } from "./run/plain-plan.ts";
import { run } from "./run/run.ts";
import { isSettled } from "./run/settled.ts";
import type { World } from "./run/world.ts";

/** The costs of a burst of creates in one project until the last resource is Ready, per resource. */
interface Cost {
  readonly calls: number;
  /** The writes to the resource: finalizer, intent, ownership, Ready. */
  readonly writes: number;
}

async function costOfBurst(count: number): Promise<Cost> {
  const spec = { projectId: places.project, branchId: places.branches[1], type: "ReadOnly" } as const;
  const { world } = await run(
    planOf({
      steps: Array.from({ length: count }, (_, at) => ({
        atMs: 1_000,
        action: { kind: "Apply", name: `replica-${at}`, spec },
      })),
      world: {
        operationLatencyMs: { min: 200, max: 200 },
        settings: { CONTROL_PLANE_REQUESTS_PER_MINUTE: "1000000", CONTROL_PLANE_REQUESTS_PER_SECOND: "100000" },
      },
      quietFromMs: 10_000 + 450 * count,
    }),
  );
  expect(world.resources().filter(isSettled)).toHaveLength(count);
  return costIn(world, count);
}

/** Returns the costs from the log, which names each call. */
function costIn({ log, history }: World, count: number): Cost {
  const lastReadyMs = Math.max(...history.readyMs.values());
  const entries = log.entries.filter(({ atMs }) => atMs <= lastReadyMs);
  const calls = entries.filter(({ text }) => text.startsWith("asks the control plane to ")).length;
  const writes = entries.filter(({ text }) => /^asks the API server to (patch|add|remove)/.test(text)).length;
  return { calls: calls / count, writes: writes / count };
}

describe("many resources of one project are created at once", () => {
  test.for([10, 40, 150])("%i resources → few calls for each", async (count) => {
    const { calls, writes } = await costOfBurst(count);
    expect(calls).toBeLessThanOrEqual(3.5);
    expect(writes).toBe(4);
  });
});
