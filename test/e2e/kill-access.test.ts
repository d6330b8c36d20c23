/** Tests an operator that is killed while it creates roles and databases, or writes a Secret. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type AccessOfProject, AccessStage, changeFaults, role, writeFaults } from "../support/access-stage.ts";
import { type Fault, SandboxProcess } from "../support/e2e-sandbox.ts";
import { waitUntil } from "../support/wait-until.ts";

/**
 * The changes that a DatabaseAccess makes in the control plane. Each is tested with its own DatabaseAccess and project.
 */
const steps = {
  role: { tail: "/branches/*/roles", isRotation: false },
  database: { tail: "/branches/*/databases", isRotation: false },
  reset: { tail: `/branches/*/roles/${role}/reset_password`, isRotation: true },
} as const;
type StepName = keyof typeof steps;
const stepNames = Object.keys(steps) as readonly StepName[];

let sandbox: SandboxProcess;
beforeAll(async () => {
  sandbox = await SandboxProcess.start({ profile: "public" });
});
afterEach(() => sandbox?.endFaults());
afterAll(() => sandbox?.stop());

const scenesFor = (names: readonly string[]): readonly AccessOfProject[] =>
  names.map((name) => ({ name, project: sandbox.takeProject() }));

/**
 * Checks that the DatabaseAccess is Ready, that its Secret holds the valid password, and that nothing was made twice.
 */
async function expectWorking(stage: AccessStage, scene: AccessOfProject, resets: number): Promise<void> {
  const { accesses } = stage;
  const { name, project } = scene;
  if (resets > 0) {
    const { status } = await accesses.until(name, "rotated", (access) => access.status.lastHandledRotateAt === "now");
    expect(status.password?.rotatedTime, `${name}: the time of the rotation`).toBeDefined();
  }
  await accesses.untilReady(name);
  const path = `/projects/${project.id}/branches/${project.branches[0]}/roles/${role}/reveal_password`;
  const { password } = await sandbox.control.api<{ password: string }>("GET", path);
  expect((await accesses.secret(name))?.data.password, `${name}: the Secret's password`).toBe(password);
  expect(await stage.names(scene, "roles")).toContain(role);
  expect(await stage.names(scene, "databases")).toContain("orders");
  const applied = await stage.applied(scene, "POST", [/\/roles$/, /\/databases$/, /\/reset_password$/]);
  expect(applied, `${name}: roles, databases and resets that the control plane made`).toEqual([1, 1, resets]);
}

const resetsOf = (name: string) => (name === "reset" ? 1 : 0);

/** Adds a fault to the request of each step, and waits until each fault has had its effect. */
async function meetFaults(
  stage: AccessStage,
  scenes: readonly AccessOfProject[],
  effect: { readonly kind: "dropBefore" | "dropAfter" | "hold" },
): Promise<void> {
  const times = effect.kind === "dropAfter" ? { times: 1 } : {};
  const addFault = ({ name, project }: AccessOfProject) =>
    sandbox.fault({ method: "POST", project, tail: steps[name as StepName].tail, ...times }, effect);
  const meet = (fault: Fault) => (effect.kind === "hold" ? fault.untilHolding() : fault.untilHit());
  await Promise.all(
    scenes.map(async (scene) => {
      if (!steps[scene.name as StepName].isRotation) {
        const fault = await addFault(scene);
        await stage.applyBoth(scene);
        return await meet(fault);
      }
      await stage.applyBoth(scene);
      await stage.accesses.untilReady(scene.name);
      const fault = await addFault(scene);
      await stage.accesses.annotate(scene.name, "rotateRequestedAt", "now");
      await meet(fault);
    }),
  );
}

describe("the operator is killed at a change of the control plane", () => {
  test.each(changeFaults)(
    "a change %s → the next operator finishes each access, and makes nothing twice",
    async (_, kind) => {
      const stage = await AccessStage.start(sandbox);
      const scenes = scenesFor(stepNames);
      const operator = await stage.startOperator();
      await meetFaults(stage, scenes, { kind });
      await operator.kill();
      await sandbox.endFaults();
      await stage.startOperator();
      await Promise.all(scenes.map((scene) => expectWorking(stage, scene, resetsOf(scene.name))));
    },
  );

  test("without a kill, the answer of each change is lost → finished by the same operator, nothing twice", async () => {
    const stage = await AccessStage.start(sandbox);
    const scenes = scenesFor(stepNames);
    await stage.startOperator();
    await meetFaults(stage, scenes, { kind: "dropAfter" });
    await Promise.all(scenes.map((scene) => expectWorking(stage, scene, resetsOf(scene.name))));
  });
});

describe("the operator is killed at a write of a Secret", () => {
  test.each(writeFaults)(
    "a create %s → the next operator writes the Secret, and makes nothing twice",
    async (_, fault) => {
      const stage = await AccessStage.start(sandbox);
      const [scene] = scenesFor(["created"]) as [AccessOfProject];
      const injected = stage.proxy.inject({ match: { verb: "create", resource: "secrets" }, fault });
      const operator = await stage.startOperator();
      await stage.applyBoth(scene);
      await waitUntil(() => injected.bites > 0 || undefined, { what: "the create of the Secret" });
      await operator.kill();
      stage.proxy.quiet();
      await stage.startOperator();
      await expectWorking(stage, scene, 0);
    },
  );

  test.each(writeFaults)(
    "a write %s after a rotation → the next operator reveals the password and stores it",
    async (_, fault) => {
      const stage = await AccessStage.start(sandbox);
      const [scene] = scenesFor(["rotated"]) as [AccessOfProject];
      const operator = await stage.startOperator();
      await stage.applyBoth(scene);
      await stage.accesses.untilReady(scene.name);
      const before = (await stage.accesses.secret(scene.name))?.uid;
      const injected = stage.proxy.inject({ match: { verb: "patch", resource: "secrets" }, fault });
      await stage.accesses.annotate(scene.name, "rotateRequestedAt", "now");
      await waitUntil(() => injected.bites > 0 || undefined, { what: "the write of the Secret" });
      await operator.kill();
      stage.proxy.quiet();
      await stage.startOperator();
      await expectWorking(stage, scene, 1);
      expect((await stage.accesses.secret(scene.name))?.uid, "the same Secret").toBe(before);
    },
  );

  test("without a kill, the answer of the write is lost → the same operator finishes, nothing twice", async () => {
    const stage = await AccessStage.start(sandbox);
    const [scene] = scenesFor(["answered"]) as [AccessOfProject];
    await stage.startOperator();
    const lost = (["create", "patch"] as const).map((verb) =>
      stage.proxy.inject({ match: { verb, resource: "secrets" }, fault: { kind: "LoseAnswer" }, times: 1 }),
    );
    await stage.applyBoth(scene);
    await stage.accesses.untilReady(scene.name);
    await stage.accesses.annotate(scene.name, "rotateRequestedAt", "now");
    await expectWorking(stage, scene, 1);
    expect(lost.map(({ bites }) => bites)).toEqual([1, 1]);
  });
});
