/** Tests that a stopped operator loses no answer. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { SandboxProcess } from "../support/e2e-sandbox.ts";
import { expectExactlyOne, forEach, scenesOf } from "../support/e2e-scene.ts";
import { E2eWorld } from "../support/e2e-world.ts";

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
