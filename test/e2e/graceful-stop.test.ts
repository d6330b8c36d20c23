/** Tests that a stopped operator loses no answer, and that a restart writes nothing. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { OperatorProcess } from "../support/e2e-operator.ts";
import { SandboxProcess } from "../support/e2e-sandbox.ts";
import { expectExactlyOne, forEach, type Scene, scenesOf } from "../support/e2e-scene.ts";
import { E2eWorld } from "../support/e2e-world.ts";
import { waitUntil } from "../support/wait-until.ts";

let sandbox: SandboxProcess;
beforeAll(async () => {
  // The control plane does not show names. So the operator could not find an endpoint whose answer was not recorded.
  sandbox = await SandboxProcess.start({ profile: "seed" });
});
afterAll(() => sandbox?.stop());

test("SIGTERM during a create → its answer is still recorded, nothing new is begun, exit code 0", async () => {
  const world = await E2eWorld.start(sandbox);
  const scenes = scenesOf(sandbox, world);
  const holds = await forEach(scenes, ({ project }) =>
    sandbox.fault({ method: "POST", project, tail: "/endpoints" }, { kind: "hold" }),
  );
  const operator = await world.startPatientOperator();
  await forEach(scenes, ({ name, project, type }) => world.apply(name, project, { type }));
  await Promise.all(holds.map((hold) => hold.untilHolding()));

  await operator.askToStop();
  const late = sandbox.takeProject();
  await world.apply("late", late, { type: "ReadWrite" });
  await Promise.all(holds.map((hold) => hold.remove()));
  expect(await operator.exited).toEqual({ code: 0, signal: null });
  for (const { name, project } of scenes) {
    const { status } = await world.resources.until(
      name,
      "ownership is recorded",
      ({ status: { ownership } }) => !!ownership,
    );
    expect(await sandbox.endpointIds(project)).toEqual([status.ownership?.endpointId]);
    expect(status).toMatchObject({ ownership: { origin: "Created" } });
    expect(status.createIntent).toBeUndefined();
  }
  expect((await world.stored("late")).metadata.finalizers).toBeUndefined();

  await world.startOperator();
  for (const scene of scenes) {
    await expectExactlyOne(scene);
    expect(await sandbox.requests(scene.project, "POST")).toHaveLength(1);
  }
  await world.untilReady("late");
});

test("a restart over settled resources, after SIGTERM and after SIGKILL → no write to Kubernetes", async () => {
  const world = await E2eWorld.start(sandbox);
  const scenes = scenesOf(sandbox, world);
  const first = await world.startOperator();
  await forEach(scenes, ({ name, project, type }) => world.apply(name, project, { type }));
  await forEach(scenes, ({ name }) => world.untilReady(name));
  expect(await first.stop()).toEqual({ code: 0, signal: null });

  const atRest = (await world.operatorWrites()).length;
  expect(atRest).toBeGreaterThan(0);
  const second = await world.startOperator();
  await untilReconciles(second, scenes.length);
  await second.kill();
  const third = await world.startOperator();
  await untilReconciles(third, scenes.length);
  expect((await world.operatorWrites()).slice(atRest)).toEqual([]);

  // Each requested reconcile is confirmed by one write. If the operator had more to write, it would have written it by
  // now.
  await forEach(scenes, (scene) => reconcileBy(world, scene));
  const writes = (await world.operatorWrites()).slice(atRest).map(({ objectRef }) => objectRef);
  expect(writes.map((ref) => `${ref?.name} ${ref?.resource}/${ref?.subresource}`).sort()).toEqual([
    "replica computeendpoints/status",
    "writer computeendpoints/status",
  ]);
});

/** Waits until the operator has made this number of reconciles without an error. */
async function untilReconciles(operator: OperatorProcess, count: number): Promise<void> {
  let seen = 0;
  await waitUntil(
    async () => {
      const lines = (await operator.scrape()).match(/^controller_runtime_reconcile_total\{.*$/gm) ?? [];
      const good = lines.filter((line) => !line.includes('result="error"'));
      seen = good.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
      return seen >= count ? true : undefined;
    },
    { what: `${count} reconciles`, lastSeen: () => seen },
  );
}

async function reconcileBy(world: E2eWorld, { name }: Scene): Promise<void> {
  const value = `${Date.now()}`;
  await world.annotate(name, "reconcileRequestedAt", value);
  await world.resources.until(name, "the reconcile is echoed", ({ status }) => status.lastHandledReconcileAt === value);
}
