import assert from "node:assert/strict";
import path from "node:path";
import {
  isReady,
  operatorNamespace,
  operatorPods,
  remoteState,
  sandboxUrl,
  untilSamplesReady,
  type World,
} from "./world.ts";

/** One step of the story; the next one starts from what it leaves. */
export interface Step {
  /** "<state> → <effect>" */
  readonly name: string;
  run(world: World): Promise<void>;
}

const inOperator = ["-n", operatorNamespace];
const patient = { timeoutMs: 100_000 };

async function setApiKey({ kubectl }: World, key: string): Promise<void> {
  const create = [
    ...inOperator,
    "create",
    "secret",
    "generic",
    "control-plane-api-key",
    `--from-literal=api-key=${key}`,
  ];
  const manifest = await kubectl.run([...create, "--dry-run=client", "--output=yaml"]);
  await kubectl.run(["apply", "--server-side", "--filename=-"], { stdin: manifest });
}

async function installChart(world: World): Promise<void> {
  const chart = path.join(world.input.current, "charts", "endpoint-operator");
  const wait = ["--wait", "--timeout", "90s"];
  await world.helm(
    "install",
    "endpoint-operator",
    chart,
    ...inOperator,
    "--set",
    `controlPlane.url=${sandboxUrl}`,
    ...wait,
  );
}

const nodeReady: Step = {
  name: "a fresh cluster → its node is Ready",
  run: async ({ kubectl, cluster }) => {
    await kubectl.run(["wait", "--for=create", `node/${cluster.nodeName}`, "--timeout=30s"], patient);
    await kubectl.run(["wait", "--for=condition=Ready", "node", "--all", "--timeout=60s"], patient);
  },
};

const chartInstalled: Step = {
  name: "the chart is installed under Pod Security restricted → the samples are Ready",
  run: async (world) => {
    const { kubectl, input } = world;
    await kubectl.run(["create", "namespace", operatorNamespace]);
    await kubectl.run(["label", "namespace", operatorNamespace, "pod-security.kubernetes.io/enforce=restricted"]);
    await setApiKey(world, input.apiKey);
    await installChart(world);
    const unrestricted = ["run", "shell", "--image=pause", "--dry-run=server"];
    const refusal = await kubectl.tryRun([...inOperator, ...unrestricted]);
    assert.match(refusal.stderr, /violates PodSecurity "restricted/);
    await kubectl.run(["apply", "--kustomize", path.join(input.current, "deploy", "samples")]);
    await untilSamplesReady(world);
    assert.deepEqual((await operatorPods(world)).map(isReady), [true, true]);
    const { ids, creates } = await remoteState(world);
    assert.deepEqual({ endpoints: ids.length, creates }, { endpoints: 4, creates: 4 });
  },
};

/** The story in order. */
export const steps: readonly Step[] = [nodeReady, chartInstalled];
