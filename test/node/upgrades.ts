/** The steps that upgrade from the previous version. */
import assert from "node:assert/strict";
import path from "node:path";
import { parseAllDocuments } from "yaml";
import { waitUntil } from "../support/wait-until.ts";
import { endedOperations, expectCounted, operationsInFlight, standStill, startClock } from "./counts.ts";
import {
  inOperator,
  operatorPods,
  remoteState,
  resize,
  rollout,
  type Step,
  sandboxUrl,
  untilResized,
  type World,
} from "./world.ts";

/** One way to install a version in place of the running one. */
interface Way {
  readonly name: string;
  /** Installs the previous version. */
  goBack(world: World): Promise<void>;
  /** Replaces it by this version. */
  upgrade(world: World): Promise<void>;
}

const chartName = "endpoint-operator";
const chartIn = (folder: string) => path.join(folder, "charts", chartName);
const image = (tag: string) => ["--set", `image.repository=docker.io/library/endpoint-operator,image.tag=${tag}`];
const waiting = ["--wait", "--timeout", "90s"];

const ways: readonly Way[] = [
  {
    name: "kustomize",
    goBack: (world) => applyBase(world, world.input.previous),
    // The commands of docs/upgrades.md.
    upgrade: async (world) => {
      await applyFolder(world, path.join(world.input.current, "crds"));
      await applyBase(world, world.input.current);
    },
  },
  {
    name: "Helm",
    goBack: async (world) => {
      await removeBase(world, world.input.current);
      const options = [...inOperator, "--set", `controlPlane.url=${sandboxUrl}`, ...image("previous"), ...waiting];
      await world.helm("install", chartName, chartIn(world.input.previous), ...options);
    },
    // The command of docs/upgrades.md.
    upgrade: async ({ helm, input }) => {
      const options = [...inOperator, "--reset-then-reuse-values", ...image("0.1.0"), ...waiting];
      await helm("upgrade", chartName, chartIn(input.current), ...options);
    },
  },
];

const applyBase = (world: World, folder: string) => applyFolder(world, path.join(folder, "deploy", "base"));

async function applyFolder({ kubectl }: World, folder: string): Promise<void> {
  await kubectl.run(["apply", "--server-side", "--force-conflicts", "--kustomize", folder]);
}

/** Removes what kustomize has installed. The namespace with the key stays, as after `helm uninstall`. */
async function removeBase({ kubectl }: World, folder: string): Promise<void> {
  const text = await kubectl.run(["kustomize", path.join(folder, "deploy", "base")]);
  const objects = parseAllDocuments(text).map((document) => document.toJS() as { readonly kind: string });
  const items = objects.filter(({ kind }) => kind !== "Namespace");
  const stdin = JSON.stringify({ apiVersion: "v1", kind: "List", items });
  await kubectl.run(["delete", "--filename=-", "--timeout=90s"], { stdin });
}

function backStep(way: Way): Step {
  return {
    name: `the version before is installed by ${way.name} → it reads what the newer one wrote, creates nothing, and counts every operation once`,
    run: async (world) => {
      const before = await remoteState(world);
      await standStill(world);
      const ended = await endedOperations(world, before.owned);
      await way.goBack(world);
      await untilRolledOut(world, "previous");
      await startClock(world);
      await resize(world, 2);
      await untilResized(world, 2);
      assert.deepEqual(await remoteState(world), before);
      await expectCounted(world, before.owned, ended);
    },
  };
}

function upgradeStep(way: Way): Step {
  return {
    name: `an upgrade from it by ${way.name} with an operation in flight → nothing is created twice; old and new counts together are the control plane's list`,
    run: async (world) => {
      const before = await remoteState(world);
      await standStill(world);
      const ended = await endedOperations(world, before.owned);
      await resize(world, 3);
      await waitUntil(async () => ((await operationsInFlight(world)) > 0 ? true : undefined), {
        what: "an operation is in flight",
      });
      await way.upgrade(world);
      await untilRolledOut(world, "0.1.0");
      assert.ok((await operationsInFlight(world)) > 0, "the operation is still in flight after the upgrade");
      await startClock(world);
      await untilResized(world, 3);
      assert.deepEqual(await remoteState(world), before);
      const added = await expectCounted(world, before.owned, ended);
      assert.ok(Object.keys(added).length > 0, "an operation has ended under the new version");
      await expectStatusComplete(world);
    },
  };
}

/** Waits until both replicas run this image and no other pod is left. */
async function untilRolledOut(world: World, tag: string): Promise<void> {
  await world.kubectl.run([...inOperator, ...rollout]);
  const images = (await operatorPods(world)).map(({ spec }) => spec.containers[0]?.image?.split(":").at(-1));
  assert.deepEqual(images, [tag, tag]);
}

/** Checks that status shows every operation once, as finished, and no failure. */
async function expectStatusComplete({ kubectl }: World): Promise<void> {
  const { status } = await kubectl.getJson<{
    status: { operations: readonly { id: string; status: string }[]; failedActions?: readonly unknown[] };
  }>(["-n", "shop", "get", "cpe", "orders"]);
  assert.deepEqual([...new Set(status.operations.map((operation) => operation.status))], ["finished"]);
  assert.equal(new Set(status.operations.map(({ id }) => id)).size, status.operations.length);
  assert.deepEqual(status.failedActions ?? [], []);
}

/** Installs the previous version and then this version again, in each way. */
export const upgradeSteps: readonly Step[] = ways.flatMap((way) => [backStep(way), upgradeStep(way)]);
