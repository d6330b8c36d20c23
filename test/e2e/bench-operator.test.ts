/** Tests the benchmark of the operator at a small size. */
import { expect, inject, onTestFinished, test } from "vitest";
import { type BenchPlan, measureSize } from "../../tools/bench/operator/measure-size.ts";
import { reportText, targetsOf } from "../../tools/bench/operator/report.ts";
import { openWorld } from "../../tools/bench/operator/world.ts";
import { adminKubectl, sharedApiServer } from "../support/api-server.ts";

const resources = 3;
const plan: BenchPlan = {
  resources,
  projects: resources,
  rounds: 1,
  edits: 1,
  restSeconds: 2,
  settings: { PROJECT_POLL_SECONDS: "0.5" },
};

test("the benchmark at a small size → every figure is measured, and what must be nothing is nothing", async () => {
  const { url: server, caFile, token, auditLogFile } = sharedApiServer();
  const world = await openWorld(
    { server, caFile, token, auditLogFile, kubectl: adminKubectl() },
    { program: inject("bundledProgram"), sandboxProfile: "seed" },
  );
  onTestFinished(() => world.close());
  const lines: string[] = [];
  const result = await measureSize(world, plan, (line) => lines.push(line));

  expect(result.floor).toMatchObject([
    { kubernetesWrites: 4 * resources, controlPlaneWrites: resources, kubernetesEvents: 0 },
  ]);
  const [byOperator] = result.operator;
  expect(byOperator).toMatchObject({ controlPlaneWrites: resources });
  // On a slow machine, a further write reports what a resource waits for. test/simulation/burst.test.ts has the exact
  // number.
  expect(byOperator?.kubernetesWrites, "finalizer, intent, ownership, Ready").toBeGreaterThanOrEqual(4 * resources);
  // Two writes: one for the finalizer with the intent, and one for Ready. On a slow machine, one poll may see the whole
  // operation.
  expect(byOperator?.reconciles).toBeGreaterThanOrEqual(2 * resources);
  for (const run of [...result.operator, ...result.floor]) {
    expect(run.seconds).toBeGreaterThan(0);
    expect(run.cpuMs).toBeGreaterThan(0);
    expect(run.peakRssBytes).toBeGreaterThan(2 ** 20);
  }
  expect(result.edits).toHaveLength(1);
  expect(result.restart).toMatchObject({ kubernetesWrites: 0, controlPlaneWrites: 0 });
  expect(result.rest).toMatchObject({ kubernetesWrites: 0, kubernetesEvents: 0, controlPlaneWrites: 0 });
  expect(result.rest.controlPlaneReads).toBeGreaterThan(0);

  const noWrites = targetsOf(result).filter(({ what }) => /^writes (after|at)/.test(what));
  expect(noWrites.map(({ measured }) => measured)).toEqual([0, 0]);
  expect(reportText(result)).toContain(`| ${resources} in ${resources}: operator |`);
  expect(lines).toHaveLength(3);
});
