/** Tests an operator that is killed while it changes an endpoint. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { KubernetesLink } from "../support/e2e-kubernetes-link.ts";
import { SandboxProcess } from "../support/e2e-sandbox.ts";
import {
  type Arrival,
  arriveAt,
  expectExactlyOne,
  expectNothingLeft,
  forEach,
  type Scene,
  scenesOf,
} from "../support/e2e-scene.ts";
import { E2eWorld } from "../support/e2e-world.ts";

/** A change of an existing endpoint that a person asks for, and what must be true afterwards. */
interface Change {
  readonly name: string;
  readonly method: "PATCH" | "DELETE";
  ask(scene: Scene): Promise<void>;
  expectDone(scene: Scene): Promise<void>;
}

const changes: readonly Change[] = [
  {
    name: "a size change",
    method: "PATCH",
    ask: ({ world, name, project, type }) =>
      world.apply(name, project, { type, compute: { minUnits: 1, maxUnits: 2 } }),
    async expectDone(scene) {
      await expectExactlyOne(scene);
      const [endpoint] = await scene.sandbox.control.endpoints(scene.project.id);
      expect(endpoint).toMatchObject({ autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 2 });
      const starts = (await scene.sandbox.operations(scene.project)).filter(({ action }) => action === "start_compute");
      expect(starts, "starts of the compute: by the create and by the one change").toHaveLength(2);
    },
  },
  {
    name: "a move",
    method: "PATCH",
    ask: ({ world, name, project, type }) => world.apply(name, project, { type, branchId: project.branches[1] }),
    async expectDone(scene) {
      await expectExactlyOne(scene);
      const [endpoint] = await scene.sandbox.control.endpoints(scene.project.id);
      expect(endpoint?.branch_id).toBe(scene.project.branches[1]);
    },
  },
  {
    name: "a deletion",
    method: "DELETE",
    ask: ({ world, name }) => world.delete(name),
    expectDone: expectNothingLeft,
  },
];

/** A point between two steps of a change at which the operator is killed. */
interface CrashPoint {
  readonly name: string;
  /**
   * The change during which the operator is killed. The simulation kills the operator before and after each effect of
   * every change.
   */
  readonly change: Change["name"];
  /** Prepares the control plane before the change is asked for. */
  prepare(scene: Scene, change: Change): Promise<Arrival>;
  /** Whether Kubernetes has stored the change before the kill. @default false */
  readonly isRecorded?: boolean;
}

const points: readonly CrashPoint[] = [
  {
    name: "after it was applied and before its answer",
    change: "a size change",
    async prepare({ sandbox, project }, { method }) {
      const sent = await sandbox.fault({ method, project, tail: "/endpoints/*" }, { kind: "hold" });
      return { reach: () => sent.untilHolding() };
    },
  },
  {
    name: "after its answer and before that is recorded",
    change: "a deletion",
    async prepare({ sandbox, project }, { method }) {
      const sent = await sandbox.fault({ method, project, tail: "/endpoints/*" }, { kind: "hold" });
      const answer = async () => {
        await sent.release();
        await sandbox.untilAnswered(project, method);
      };
      return { reach: () => sent.untilHolding(), answer };
    },
  },
  {
    name: "while its operations are in flight",
    change: "a move",
    isRecorded: true,
    async prepare({ sandbox, world, name }) {
      await sandbox.control.control("PUT", "/clock", { mode: "stepped" });
      const isInFlight = ({
        cause,
        durationMilliseconds,
      }: {
        cause: string;
        durationMilliseconds?: number | undefined;
      }) => cause === "SpecChange" && durationMilliseconds === undefined;
      const reach = async () => {
        await world.resources.until(name, "operations in flight", ({ status }) =>
          (status.operations ?? []).some(isInFlight),
        );
      };
      return { reach };
    },
  },
];

describe("kill -9 during a change", () => {
  let sandbox: SandboxProcess;
  beforeAll(async () => {
    sandbox = await SandboxProcess.start({ profile: "public" });
  });
  // The faults of a failed test must not affect the next test.
  afterEach(() => sandbox.endFaults());
  afterAll(() => sandbox?.stop());

  for (const point of points) {
    for (const change of changes.filter(({ name }) => name === point.change)) {
      test(`${change.name}, ${point.name} → after a restart it is done, sent once`, async () => {
        const world = await E2eWorld.start(sandbox);
        const scenes = scenesOf(sandbox, world);
        // Only reconciles of these resources list endpoints.
        const link = await KubernetesLink.start(world.account);
        const operator = await world.startPatientOperator({
          PROJECT_POLL_SECONDS: "600",
          KUBECONFIG: link.kubeconfigFile,
        });
        await forEach(scenes, ({ name, type, project }) => world.apply(name, project, { type }));
        await forEach(scenes, ({ name }) => world.untilReady(name));
        const arrivals = await forEach(scenes, (scene) => point.prepare(scene, change));
        await forEach(scenes, (scene) => change.ask(scene));
        await arriveAt(arrivals, link);
        await operator.kill();
        for (const { type, name, project } of scenes) {
          expect(await sandbox.requests(project, change.method), type).toHaveLength(1);
          const { metadata, status } = await world.stored(name);
          expect(metadata.finalizers, `${type}: still there`).toHaveLength(1);
          const isRecorded = status.observedGeneration === metadata.generation;
          if (change.method === "PATCH") expect(isRecorded, `${type}: recorded`).toBe(point.isRecorded === true);
        }
        await sandbox.endFaults();

        await world.startOperator();
        for (const scene of scenes) {
          await change.expectDone(scene);
          expect(await sandbox.requests(scene.project, change.method), scene.type).toHaveLength(1);
        }
      });
    }
  }
});
