/** Tests the benchmark of the operator at a small size. */
import { expect, inject, onTestFinished, test } from "vitest";
import { reportText, targetsOf } from "../../tools/bench/operator/report.ts";
import { type BenchPlan, runBenchmark } from "../../tools/bench/operator/run.ts";
import { openWorld } from "../../tools/bench/operator/world.ts";
import { sharedApiServer } from "../support/api-server.ts";

const resources = 3;
const plan: BenchPlan = {
  sizes: [{ resources, projects: resources, rounds: 1 }],
  edits: 1,
  restSeconds: 2,
  settings: { PROJECT_POLL_SECONDS: "0.5" },
  restSettings: { RESYNC_SECONDS: "1" },
};

test("the benchmark at a small size → every figure is measured, and what must be nothing is nothing", async () => {
  const { url: server, caFile, token, auditLogFile } = sharedApiServer();
  const world = await openWorld(
    { server, caFile, token, auditLogFile },
    { program: inject("bundledProgram"), sandboxProfile: "seed" },
  );
  onTestFinished(() => world.close());
  const lines: string[] = [];
  const result = await runBenchmark(world, plan, (line) => lines.push(line));

  const [size] = result;
  expect(size?.floor).toMatchObject([
    { kubernetesWrites: 4 * resources, controlPlaneWrites: resources, kubernetesEvents: 0 },
  ]);
  const [byOperator] = size?.operator ?? [];
  expect(byOperator).toMatchObject({ controlPlaneWrites: resources, kubernetesRefusals: 0 });
  expect(byOperator?.kubernetesReads, "of a create that was long in coming").toBeLessThanOrEqual(resources);
  // On a slow machine, a further write reports what a resource waits for. test/simulation/burst.test.ts has the exact
  // number.
  expect(byOperator?.kubernetesWrites, "finalizer, intent, ownership, Ready").toBeGreaterThanOrEqual(4 * resources);
  // Two writes: one for the finalizer with the intent, and one for Ready. On a slow machine, one poll may see the whole
  // operation.
  expect(byOperator?.reconciles).toBeGreaterThanOrEqual(2 * resources);
  for (const run of [...(size?.operator ?? []), ...(size?.floor ?? [])]) {
    expect(run.seconds).toBeGreaterThan(0);
    expect(run.cpuMs).toBeGreaterThan(0);
    expect(run.peakRssBytes).toBeGreaterThan(2 ** 20);
  }
  expect(size?.edits.firstCallMs).toHaveLength(1);
  expect(size?.edits.changeMs).toHaveLength(1);
  expect(size?.restart).toMatchObject({ kubernetesWrites: 0, controlPlaneWrites: 0 });
  expect(size?.rest).toMatchObject({ kubernetesWrites: 0, kubernetesEvents: 0, controlPlaneWrites: 0 });
  expect(size?.rest.reconciles).toBeGreaterThanOrEqual(resources);
  expect(size?.rest.controlPlaneReadsPerMinute).toBeGreaterThan(0);

  const targets = targetsOf(result);
  expect(targets.filter(({ what }) => /writes (after|at)/.test(what)).map(({ isMet }) => isMet)).toEqual([true, true]);
  expect(targets.filter(({ what }) => /writes for each/.test(what))).toHaveLength(1);
  expect(reportText(result)).toContain(`| ${resources} in ${resources} |`);
  expect(lines).toHaveLength(3);
});
