import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { AccessWorld } from "../support/access-world.ts";
import { sharedApiServer } from "../support/api-server.ts";
import { type Fault, SandboxProcess, type TestProject } from "../support/e2e-sandbox.ts";
import { E2eWorld } from "../support/e2e-world.ts";
import type { RequestFault } from "../support/fault-proxy/fault.ts";
import type { FaultProxy } from "../support/fault-proxy/fault-proxy.ts";
import { startProxiedApiServer } from "../support/fault-proxy/proxied-api-server.ts";
import { waitUntil } from "../support/wait-until.ts";

const role = "orders_app";

/** The changes that a DatabaseAccess makes in the control plane, each in an access and a project of its own. */
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

/** One access and the project that only it uses. */
interface Scene {
  readonly name: string;
  readonly project: TestProject;
}

/** A namespace in which the operator may write Secrets, and which it reaches by a proxy. */
interface Stage {
  readonly world: E2eWorld;
  readonly accesses: AccessWorld<E2eWorld>;
  readonly proxy: FaultProxy;
  startOperator(): ReturnType<E2eWorld["startOperator"]>;
}

async function startStage(): Promise<Stage> {
  const world = await E2eWorld.start(sandbox);
  const accesses = new AccessWorld(world);
  await accesses.allowSecrets();
  const { url, caFile } = sharedApiServer();
  const { proxy, kubeconfigFile } = await startProxiedApiServer({ ...world.account, url, caFile });
  onTestFinished(() => proxy.stop());
  const startOperator = () => world.startOperator({ KUBECONFIG: kubeconfigFile });
  return { world, accesses, proxy, startOperator };
}

async function applyBoth({ world, accesses }: Stage, { name, project }: Scene): Promise<void> {
  await world.apply(name, project, { type: "ReadWrite" });
  await accesses.apply(name, { endpointRef: { name } });
}

const scenesFor = (names: readonly string[]): readonly Scene[] =>
  names.map((name) => ({ name, project: sandbox.takeProject() }));

async function names(project: TestProject, kind: "roles" | "databases"): Promise<readonly string[]> {
  const path = `/projects/${project.id}/branches/${project.branches[0]}/${kind}`;
  const answer = await sandbox.control.api<Record<string, readonly { readonly name: string }[]>>("GET", path);
  return (answer[kind] ?? []).map(({ name }) => name);
}

/** Requests that the control plane has carried out: answered with 2xx, or with an answer that a fault kept back. */
async function appliedPosts(project: TestProject, pattern: RegExp): Promise<number> {
  const posts = await sandbox.requests(project, "POST");
  const isApplied = ({ status, fault }: (typeof posts)[number]) =>
    fault === "dropAfter" || fault === "hold" || (status !== undefined && status < 300);
  return posts.filter((post) => pattern.test(post.path) && isApplied(post)).length;
}

/** The access is Ready, its Secret holds the password that works now, and nothing was made twice. */
async function expectWorking({ accesses }: Stage, { name, project }: Scene, resets: number): Promise<void> {
  if (resets > 0) {
    const { status } = await accesses.until(name, "rotated", (access) => access.status.lastHandledRotateAt === "now");
    expect(status.password?.rotatedTime, `${name}: the time of the rotation`).toBeDefined();
  }
  await accesses.untilReady(name);
  const path = `/projects/${project.id}/branches/${project.branches[0]}/roles/${role}/reveal_password`;
  const { password } = await sandbox.control.api<{ password: string }>("GET", path);
  expect((await accesses.secret(name))?.data.password, `${name}: the Secret's password`).toBe(password);
  expect(await names(project, "roles")).toContain(role);
  expect(await names(project, "databases")).toContain("orders");
  const applied = await Promise.all(
    [/\/roles$/, /\/databases$/, /\/reset_password$/].map((pattern) => appliedPosts(project, pattern)),
  );
  expect(applied, `${name}: roles, databases and resets that the control plane made`).toEqual([1, 1, resets]);
}

const resetsOf = (name: string) => (name === "reset" ? 1 : 0);

/** Adds a fault to each step, and lets the operator meet it. */
async function meetFaults(
  stage: Stage,
  scenes: readonly Scene[],
  effect: { readonly kind: "dropBefore" | "dropAfter" | "hold" },
): Promise<void> {
  const times = effect.kind === "dropAfter" ? { times: 1 } : {};
  const addFault = ({ name, project }: Scene) =>
    sandbox.fault({ method: "POST", project, tail: steps[name as StepName].tail, ...times }, effect);
  const meet = (fault: Fault) => (effect.kind === "hold" ? fault.untilHolding() : fault.untilHit());
  await Promise.all(
    scenes.map(async (scene) => {
      if (!steps[scene.name as StepName].isRotation) {
        const fault = await addFault(scene);
        await applyBoth(stage, scene);
        return await meet(fault);
      }
      await applyBoth(stage, scene);
      await stage.accesses.untilReady(scene.name);
      const fault = await addFault(scene);
      await stage.accesses.annotate(scene.name, "rotateRequestedAt", "now");
      await meet(fault);
    }),
  );
}

describe("the operator is killed at a change of the control plane", () => {
  test.each([
    ["that is lost", "dropBefore"],
    ["that was made and whose answer did not come", "hold"],
  ] as const)("a change %s → the next operator finishes each access, and makes nothing twice", async (_, kind) => {
    const stage = await startStage();
    const scenes = scenesFor(stepNames);
    const operator = await stage.startOperator();
    await meetFaults(stage, scenes, { kind });
    await operator.kill();
    await sandbox.endFaults();
    await stage.startOperator();
    await Promise.all(scenes.map((scene) => expectWorking(stage, scene, resetsOf(scene.name))));
  });

  test("without a kill, the answer of each change is lost → finished by the same operator, nothing twice", async () => {
    const stage = await startStage();
    const scenes = scenesFor(stepNames);
    await stage.startOperator();
    await meetFaults(stage, scenes, { kind: "dropAfter" });
    await Promise.all(scenes.map((scene) => expectWorking(stage, scene, resetsOf(scene.name))));
  });
});

/** What happens to a write of a Secret before the operator is killed. */
const secretFaults: readonly (readonly [string, RequestFault])[] = [
  ["that the API server never saw", { kind: "NeverAnswer" }],
  ["that the API server stored", { kind: "NeverFinish" }],
];

describe("the operator is killed at a write of a Secret", () => {
  test.each(secretFaults)(
    "a create %s → the next operator writes the Secret, and makes nothing twice",
    async (_, fault) => {
      const stage = await startStage();
      const [scene] = scenesFor(["created"]) as [Scene];
      const injected = stage.proxy.inject({ match: { verb: "create", resource: "secrets" }, fault });
      const operator = await stage.startOperator();
      await applyBoth(stage, scene);
      await waitUntil(() => injected.bites > 0 || undefined, { what: "the create of the Secret" });
      await operator.kill();
      stage.proxy.quiet();
      await stage.startOperator();
      await expectWorking(stage, scene, 0);
    },
  );

  test.each(secretFaults)(
    "a write %s after a rotation → the next operator reveals the password and stores it",
    async (_, fault) => {
      const stage = await startStage();
      const [scene] = scenesFor(["rotated"]) as [Scene];
      const operator = await stage.startOperator();
      await applyBoth(stage, scene);
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
    const stage = await startStage();
    const [scene] = scenesFor(["answered"]) as [Scene];
    await stage.startOperator();
    const lost = (["create", "patch"] as const).map((verb) =>
      stage.proxy.inject({ match: { verb, resource: "secrets" }, fault: { kind: "LoseAnswer" }, times: 1 }),
    );
    await applyBoth(stage, scene);
    await stage.accesses.untilReady(scene.name);
    await stage.accesses.annotate(scene.name, "rotateRequestedAt", "now");
    await expectWorking(stage, scene, 1);
    expect(lost.map(({ bites }) => bites)).toEqual([1, 1]);
  });
});
