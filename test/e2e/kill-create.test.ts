import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import { SandboxProcess, type TestProject } from "../support/e2e-sandbox.ts";
import { E2eWorld } from "../support/e2e-world.ts";

/** The two dialects of the service: seed drops endpoint names, public echoes them. */
const profiles = ["seed", "public"] as const;
type Profile = (typeof profiles)[number];

/** One resource of each type, each in a project of its own, so that neither waits for the other. */
const names = { ReadWrite: "writer", ReadOnly: "replica" } as const;
type EndpointType = keyof typeof names;
const types = Object.keys(names) as readonly EndpointType[];

/** Longer than anything here is late. */
const settings = { CREATE_SETTLE_SECONDS: "2.5" };
const lateMs = 1_000;

interface Scene {
  readonly sandbox: SandboxProcess;
  readonly world: E2eWorld;
  readonly type: EndpointType;
  readonly project: TestProject;
}

/** A point between two steps of a create at which the operator is killed. */
interface CrashPoint {
  readonly name: string;
  /** Prepares the service before the resource is applied. @returns waits until the operator is at the point */
  prepare(scene: Scene): Promise<() => Promise<void>>;
  /** POSTs that the service received before the kill. */
  readonly postsBefore: number;
  /** Whether the service carries out the POST of the process that was killed. */
  readonly isApplied: boolean;
}

const points: readonly CrashPoint[] = [
  {
    name: "after the intent was stored and before the POST",
    postsBefore: 0,
    isApplied: false,
    /** Between the two stands a fresh list: the first one leads to the intent, the second one is held. */
    async prepare({ sandbox, world, project, type }) {
      const lists = await sandbox.fault({ method: "GET", project, tail: "/endpoints" }, { kind: "hold" });
      return async () => {
        await lists.untilHolding();
        await lists.release();
        await world.untilIntent(names[type]);
        await lists.untilHolding();
      };
    },
  },
  {
    name: "after the POST was sent, which was lost on its way",
    postsBefore: 1,
    isApplied: false,
    async prepare({ sandbox, project }) {
      const posts = await sandbox.fault({ method: "POST", project, tail: "/endpoints" }, { kind: "dropBefore" });
      return () => posts.untilHit();
    },
  },
  {
    name: "after the POST was sent, which is applied after the kill",
    postsBefore: 1,
    isApplied: true,
    async prepare({ sandbox, project }) {
      const match = { method: "POST", project, tail: "/endpoints", times: 1 };
      const posts = await sandbox.fault(match, { kind: "applyLate", milliseconds: lateMs });
      return () => posts.untilHit();
    },
  },
  {
    name: "after the POST was applied and before its answer",
    postsBefore: 1,
    isApplied: true,
    async prepare({ sandbox, project }) {
      const posts = await sandbox.fault({ method: "POST", project, tail: "/endpoints" }, { kind: "hold" });
      return () => posts.untilHolding();
    },
  },
];

/** Applies a resource of each type, and kills the operator when both are at the point. */
async function killAt(point: CrashPoint, sandbox: SandboxProcess): Promise<readonly Scene[]> {
  const world = await E2eWorld.start(sandbox, settings);
  const scenes = types.map((type) => ({ sandbox, world, type, project: sandbox.takeProject() }));
  const arrivals = await Promise.all(scenes.map((scene) => point.prepare(scene)));
  // Nothing but the passes of the resources lists endpoints.
  const operator = await world.startOperator({ PROJECT_POLL_SECONDS: "600" });
  await Promise.all(scenes.map(({ type, project }) => world.apply(names[type], project, { type })));
  await Promise.all(arrivals.map((arrive) => arrive()));
  await operator.kill();
  for (const { type, project } of scenes) {
    expect(world.resources.get(names[type])?.status.createIntent, `${type}: the intent stands`).toBeDefined();
    expect(await sandbox.requests(project, "POST"), `${type}: POSTs`).toHaveLength(point.postsBefore);
  }
  await sandbox.control.clearFaults();
  return scenes;
}

/** Whether a person must say which endpoint it is: a replica that was made, at a service that does not echo names. */
function isAmbiguous(point: CrashPoint, profile: Profile, type: EndpointType): boolean {
  return point.isApplied && profile === "seed" && type === "ReadOnly";
}

/** One Ready resource, one endpoint, and never another one. */
async function expectExactlyOne({ sandbox, world, type, project }: Scene): Promise<void> {
  const { status } = await world.untilReady(names[type]);
  const owned = status.ownership?.endpointId;
  expect(status.createIntent).toBeUndefined();
  expect(await sandbox.endpointIds(project)).toEqual([owned]);
  expect(await sandbox.endpointIdsEver(project), "endpoints that ever were").toEqual([owned]);
  expect((await sandbox.operations(project)).map(({ action, status: state }) => [action, state])).toEqual([
    ["start_compute", "finished"],
  ]);
}

describe.each(profiles)("kill -9 during a create, profile %s", (profile) => {
  let sandbox: SandboxProcess;
  beforeAll(async () => {
    sandbox = await SandboxProcess.start({ profile });
  });
  afterAll(() => sandbox?.stop());

  test.each(points)("$name → after a restart one endpoint each, none left over", async (point) => {
    const scenes = await killAt(point, sandbox);
    await scenes[0]?.world.startOperator();
    for (const scene of scenes) {
      if (isAmbiguous(point, profile, scene.type)) {
        await expectAmbiguous(scene);
      } else {
        await expectExactlyOne(scene);
      }
    }
  });
});

/** Neither a second POST nor a guess: one endpoint there, and a condition that names it and both ways out. */
async function expectAmbiguous({ sandbox, world, type, project }: Scene): Promise<string> {
  const { status } = await world.untilStalled(names[type], "CreateAmbiguous");
  const [suspect = "", ...others] = await sandbox.endpointIds(project);
  expect(others).toEqual([]);
  expect(status.ownership).toBeUndefined();
  expect(status.createIntent?.suspectIds).toEqual([suspect]);
  const message = conditionOf(status.conditions, "Stalled")?.message;
  expect(message).toContain(suspect);
  expect(message).toContain("endpoint-operator.dev/resolve-create=adopt=");
  expect(message).toContain(`endpoint-operator.dev/resolve-create=abandon=${status.createIntent?.attempt}`);
  return suspect;
}
