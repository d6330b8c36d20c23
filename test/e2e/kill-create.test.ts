/** Tests that an operator killed during a create never leads to a second endpoint. */
import { expect, onTestFinished, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import { type Fault, SandboxProcess } from "../support/e2e-sandbox.ts";
import { expectExactlyOne, forEach, type Profile, type Scene, scenesOf } from "../support/e2e-scene.ts";
import { E2eWorld } from "../support/e2e-world.ts";
import { waitUntil } from "../support/wait-until.ts";

/**
 * A point between two steps of a create at which the operator is killed. The simulation kills it before and after each
 * effect of every create.
 */
interface CrashPoint {
  readonly profile: Profile;
  readonly point: string;
  /** What the control plane does with each POST. */
  readonly fault: "applyLate" | "hold";
  /** Settings of all operators. */
  readonly settings: Readonly<Record<string, string>>;
}

const points: readonly CrashPoint[] = [
  {
    profile: "public",
    point: "after a POST that is applied late",
    fault: "applyLate",
    // The settle time does not end within the test, and the next operator reads the project again and again.
    settings: { CREATE_SETTLE_SECONDS: "600", PROJECT_POLL_SECONDS: "1" },
  },
  {
    profile: "seed",
    point: "after the POST was applied and before its answer",
    fault: "hold",
    settings: { CREATE_SETTLE_SECONDS: "1.5" },
  },
];

interface Killed {
  readonly sandbox: SandboxProcess;
  readonly scenes: readonly Scene[];
  readonly world: E2eWorld;
  readonly posts: readonly Fault[];
}

/** Applies a resource of each type, and kills the operator when both have reached the point. */
async function killAt(point: CrashPoint, sandbox: SandboxProcess): Promise<Killed> {
  const world = await E2eWorld.start(sandbox, point.settings);
  const scenes = scenesOf(sandbox, world);
  const posts = await forEach(scenes, ({ project }) =>
    sandbox.fault({ method: "POST", project, tail: "/endpoints" }, { kind: point.fault }),
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

/**
 * Whether a person must say which endpoint it is. That is so for a replica whose create took effect, if the control
 * plane shows no names.
 */
function isAmbiguous(profile: Profile, { type }: Scene): boolean {
  return profile === "seed" && type === "ReadOnly";
}

/**
 * Checks that there was no second POST and no guess: there is one endpoint, and the condition names it and both
 * remedies.
 */
async function expectAmbiguous({ sandbox, world, name, project }: Scene): Promise<void> {
  const { status } = await world.untilStalled(name, "CreateAmbiguous");
  const [suspect = "", ...others] = await sandbox.endpointIds(project);
  const attempt = status.createIntent?.attempt ?? "";
  expect(others).toEqual([]);
  expect(status.ownership).toBeUndefined();
  const message = conditionOf(status.conditions, "Stalled")?.message;
  expect(message).toContain(suspect);
  expect(message).toContain("endpoint-operator.dev/resolve-create=adopt=");
  expect(message).toContain(`endpoint-operator.dev/resolve-create=abandon=${attempt}`);
}

test.each(points)(
  "kill -9 during a create, profile $profile, $point → after a restart exactly one endpoint each, none left over",
  async (point) => {
    const { profile } = point;
    const sandbox = await SandboxProcess.start({ profile });
    onTestFinished(() => sandbox.stop());
    const killed = await killAt(point, sandbox);
    await startNext(killed);
    for (const scene of killed.scenes) {
      if (isAmbiguous(profile, scene)) {
        await expectAmbiguous(scene);
        continue;
      }
      const { status } = await expectExactlyOne(scene);
      const starts = await sandbox.operations(scene.project);
      expect(starts.map(({ action, status: state }) => [action, state])).toEqual([["start_compute", "finished"]]);
      expect(status.ownership?.origin).toBe(profile === "public" ? "Created" : "Presumed");
    }
  },
);
