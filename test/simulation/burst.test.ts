/** Tests by simulation what a burst of creates in one project costs. */
import { describe, expect, test } from "vitest";
import { planOf } from "./cases/named-case.ts";
import { world as places } from "./control-plane/engine.ts";
import { run } from "./run/run.ts";
import { isSettled } from "./run/settled.ts";
import type { World } from "./run/world.ts";

/** The costs of a burst of creates in one project until the last resource is Ready, per resource. */
interface Cost {
  readonly calls: number;
  /** The writes to the resource: finalizer, intent, ownership, Ready. */
  readonly writes: number;
  /** Counts endpoints in the answers to lists and reads by id. */
  readonly endpointsRead: number;
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

/** Returns the costs from the log, which names each call. A list shows the endpoints that were created before it. */
function costIn({ log, history }: World, count: number): Cost {
  const lastReadyMs = Math.max(...history.readyMs.values());
  const calls = log.entries
    .filter(({ atMs, text }) => atMs <= lastReadyMs && text.startsWith("asks the control plane to "))
    .map(({ text }) => text.slice("asks the control plane to ".length));
  let created = 0;
  let endpointsRead = 0;
  for (const call of calls) {
    created += call === "create the endpoint" ? 1 : 0;
    endpointsRead += call === "list the project's endpoints" ? created : call === "read the endpoint" ? 1 : 0;
  }
  expect(created).toBe(count);
  const writes = log.entries.filter(
    ({ atMs, text }) => atMs <= lastReadyMs && /^asks the API server to (patch|add|remove)/.test(text),
  ).length;
  return { calls: calls.length / count, writes: writes / count, endpointsRead: endpointsRead / count };
}

describe("many resources of one project are created at once", () => {
  test.for([10, 40, 150])(
    "%i resources → few calls for each, and reads that do not grow with the project",
    async (count) => {
      const { calls, writes, endpointsRead } = await costOfBurst(count);
      expect(calls).toBeLessThanOrEqual(3);
      expect(writes).toBe(4);
      expect(endpointsRead).toBeLessThanOrEqual(12);
    },
  );
});
