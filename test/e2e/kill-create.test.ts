/** Tests that an operator killed during a create never leads to a second endpoint. */
import { expect, onTestFinished, test } from "vitest";
import { type Fault, SandboxProcess } from "../support/e2e-sandbox.ts";
import { expectExactlyOne, forEach, type Scene, scenesOf } from "../support/e2e-scene.ts";
import { E2eWorld } from "../support/e2e-world.ts";
import { waitUntil } from "../support/wait-until.ts";

interface Killed {
  readonly sandbox: SandboxProcess;
  readonly scenes: readonly Scene[];
  readonly world: E2eWorld;
  readonly posts: readonly Fault[];
}

/** The settle time does not end within the test, and the next operator reads the project again and again. */
const settings = { CREATE_SETTLE_SECONDS: "600", PROJECT_POLL_SECONDS: "1" };

/** Applies a resource of each type, and kills the operator after both POSTs. They are applied late. */
async function killAfterPosts(sandbox: SandboxProcess): Promise<Killed> {
  const world = await E2eWorld.start(sandbox, settings);
  const scenes = scenesOf(sandbox, world);
  const posts = await forEach(scenes, ({ project }) =>
    sandbox.fault({ method: "POST", project, tail: "/endpoints" }, { kind: "applyLate" }),
  );
  const operator = await world.startPatientOperator({ PROJECT_POLL_SECONDS: "600" });
  await forEach(scenes, ({ name, type, project }) => world.apply(name, project, { type }));
  await Promise.all(posts.map((post) => post.untilHolding()));
  await operator.kill();
  for (const { type, name, project } of scenes) {
    const { status } = await world.stored(name);
    expect(status.createIntent, `${type}: the intent stands`).toBeDefined();
    expect(await sandbox.requests(project, "POST"), `${type}: POSTs`).toHaveLength(1);
  }
  return { sandbox, scenes, world, posts };
}

/** Starts the next operator. A POST that is applied late takes effect when that operator has read the project. */
async function startNext({ sandbox, scenes, world, posts }: Killed): Promise<void> {
  const lists = async ({ project }: Scene) =>
    (await sandbox.requests(project, "GET")).filter(
      ({ path, status }) => path.endsWith("/endpoints") && status !== undefined,
    ).length;
  const before = await forEach(scenes, lists);
  await world.startOperator();
  const isRead = async () => (await forEach(scenes, lists)).every((count, index) => count > (before[index] ?? 0));
  await waitUntil(async () => (await isRead()) || undefined, { what: "the next operator has read each project" });
  await Promise.all(posts.map((post) => post.remove()));
}

// The simulation kills it before and after each effect of every create.
test("kill -9 after a POST that is applied late → after a restart exactly one endpoint each, none left over", async () => {
  const sandbox = await SandboxProcess.start({ profile: "public" });
  onTestFinished(() => sandbox.stop());
  const killed = await killAfterPosts(sandbox);
  await startNext(killed);
  for (const scene of killed.scenes) {
    const { status } = await expectExactlyOne(scene);
    const starts = await sandbox.operations(scene.project);
    expect(starts.map(({ action, status: state }) => [action, state])).toEqual([["start_compute", "finished"]]);
    expect(status.ownership?.origin).toBe("Created");
  }
});
