/** Tests that an operator killed during a create never leads to a second endpoint. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import { KubernetesLink } from "../support/e2e-kubernetes-link.ts";
import { SandboxProcess } from "../support/e2e-sandbox.ts";
import {
  type Arrival,
  arriveAt,
  expectExactlyOne,
  expectNothingLeft,
  forEach,
  type Profile,
  type Scene,
  scenesOf,
} from "../support/e2e-scene.ts";
import { E2eWorld } from "../support/e2e-world.ts";
import { waitUntil } from "../support/wait-until.ts";

/**
 * The POST takes effect after this time. By then the next operator has read the project, and still waits for the settle
 * time.
 */
const lateMs = 2_000;
const landedMs = lateMs + 500;
const settleMs = 4_000;

/**
 * A point between two steps of a create at which the operator is killed. The simulation kills it before and after each
 * effect of every create.
 */
interface CrashPoint {
  /** Prepares the control plane before the resource is applied. */
  prepare(scene: Scene): Promise<Arrival>;
  /** How long the operator assumes that a lost POST may still take effect. @default 1_500 */
  readonly settleMs?: number;
  /** After this time the POST has taken effect, so its result is known. @default 0 */
  readonly landedMs?: number;
}

const points = {
  "after a POST that is applied late": {
    settleMs,
    landedMs,
    async prepare({ sandbox, project }) {
      const match = { method: "POST", project, tail: "/endpoints", times: 1 };
      const posts = await sandbox.fault(match, { kind: "applyLate", milliseconds: lateMs });
      return { reach: () => posts.untilHit() };
    },
  },
  "after the POST was applied and before its answer": {
    async prepare({ sandbox, project }) {
      const posts = await sandbox.fault({ method: "POST", project, tail: "/endpoints" }, { kind: "hold" });
      return { reach: () => posts.untilHolding() };
    },
  },
} as const satisfies Readonly<Record<string, CrashPoint>>;

interface Killed {
  readonly scenes: readonly Scene[];
  readonly world: E2eWorld;
  /** Waits until what was sent before the kill can no longer take effect. */
  untilLanded(): Promise<void>;
}

/** Applies a resource of each type, and kills the operator when both have reached the point. */
async function killAt(point: CrashPoint, sandbox: SandboxProcess, spec: object = {}): Promise<Killed> {
  const { settleMs: forMs = 1_500 } = point;
  const world = await E2eWorld.start(sandbox, { CREATE_SETTLE_SECONDS: `${forMs / 1_000}` });
  const scenes = scenesOf(sandbox, world);
  const link = await KubernetesLink.start(world.account);
  const arrivals = await forEach(scenes, (scene) => point.prepare(scene));
  const operator = await world.startOperator({ PROJECT_POLL_SECONDS: "600", KUBECONFIG: link.kubeconfigFile });
  await forEach(scenes, ({ name, type, project }) => world.apply(name, project, { type, ...spec }));
  await arriveAt(arrivals, link);
  await operator.kill();
  for (const { type, name, project } of scenes) {
    expect(world.resources.get(name)?.status.createIntent, `${type}: the intent stands`).toBeDefined();
    expect(await sandbox.requests(project, "POST"), `${type}: POSTs`).toHaveLength(1);
  }
  await sandbox.endFaults();
  const landsAtMs = performance.now() + (point.landedMs ?? 0);
  const untilLanded = async () =>
    void (await waitUntil(() => performance.now() >= landsAtMs || undefined, { what: "the POST has landed" }));
  return { scenes, world, untilLanded };
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
async function expectAmbiguous({ sandbox, world, name, project }: Scene): Promise<{
  readonly suspect: string;
  readonly attempt: string;
}> {
  const { status } = await world.untilStalled(name, "CreateAmbiguous");
  const [suspect = "", ...others] = await sandbox.endpointIds(project);
  const attempt = status.createIntent?.attempt ?? "";
  expect(others).toEqual([]);
  expect(status.ownership).toBeUndefined();
  expect(status.createIntent?.suspectIds).toEqual([suspect]);
  const message = conditionOf(status.conditions, "Stalled")?.message;
  expect(message).toContain(suspect);
  expect(message).toContain("endpoint-operator.dev/resolve-create=adopt=");
  expect(message).toContain(`endpoint-operator.dev/resolve-create=abandon=${attempt}`);
  return { suspect, attempt };
}

describe.each([
  ["public", "after a POST that is applied late"],
  ["seed", "after the POST was applied and before its answer"],
] as const)("kill -9 during a create, profile %s, %s", (profile, name) => {
  const point = points[name];
  let sandbox: SandboxProcess;
  beforeAll(async () => {
    sandbox = await SandboxProcess.start({ profile });
  });
  // The faults of a failed test must not affect the next test.
  afterEach(() => sandbox.endFaults());
  afterAll(() => sandbox?.stop());

  test("after a restart exactly one endpoint each, none left over", async () => {
    const { scenes, world, untilLanded } = await killAt(point, sandbox);
    await world.startOperator();
    await untilLanded();
    for (const scene of scenes) {
      if (isAmbiguous(profile, scene)) {
        await expectAmbiguous(scene);
        continue;
      }
      const { status } = await expectExactlyOne(scene);
      const starts = await sandbox.operations(scene.project);
      expect(starts.map(({ action, status: state }) => [action, state])).toEqual([["start_compute", "finished"]]);
      expect(status.ownership?.origin).toBe(profile === "public" ? "Created" : "Presumed");
    }
  });

  test("the resource is deleted meanwhile → after a restart nothing is left", async () => {
    const { scenes, world } = await killAt(point, sandbox, { deletionPolicy: "Delete" });
    await world.delete(...scenes.map(({ name }) => name));
    await world.startOperator();
    for (const scene of scenes) {
      if (isAmbiguous(profile, scene)) {
        const { suspect } = await expectAmbiguous(scene);
        await scene.world.annotate(scene.name, "resolveCreate", `adopt=${suspect}`);
      }
      await expectNothingLeft(scene);
    }
  });
});

describe("a replica whose create is ambiguous", () => {
  let sandbox: SandboxProcess;
  beforeAll(async () => {
    sandbox = await SandboxProcess.start({ profile: "seed" });
  });
  // The faults of a failed test must not affect the next test.
  afterEach(() => sandbox.endFaults());
  afterAll(() => sandbox?.stop());

  async function startAmbiguous() {
    const { scenes } = await killAt(points["after the POST was applied and before its answer"], sandbox);
    const replica = scenes.find(({ type }) => type === "ReadOnly");
    if (replica === undefined) throw new Error("there is no replica");
    await replica.world.startOperator();
    return { replica, ...(await expectAmbiguous(replica)) };
  }

  test("resolve-create: adopt=<id> → Ready with that endpoint, nothing else is made", async () => {
    const { replica, suspect } = await startAmbiguous();
    await replica.world.annotate(replica.name, "resolveCreate", `adopt=${suspect}`);
    const { status } = await expectExactlyOne(replica);
    expect(status.ownership?.endpointId).toBe(suspect);
  });

  test("resolve-create: abandon=<attempt> → Ready with a new endpoint, the suspect is left alone", async () => {
    const { replica, suspect, attempt } = await startAmbiguous();
    await replica.world.annotate(replica.name, "resolveCreate", `abandon=${attempt}`);
    const { status } = await replica.world.untilReady(replica.name);
    const owned = status.ownership?.endpointId ?? "";
    expect(owned).not.toBe(suspect);
    expect(await sandbox.endpointIds(replica.project)).toEqual(expect.arrayContaining([suspect, owned]));
    expect(await sandbox.endpointIdsEver(replica.project)).toHaveLength(2);
    await replica.world.delete(replica.name);
    await replica.world.resources.untilGone(replica.name);
    expect(await sandbox.endpointIds(replica.project)).toEqual([suspect]);
  });
});
