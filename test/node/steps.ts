/** The steps of the test on a real node. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { waitUntil } from "../support/wait-until.ts";
import { connectSteps } from "./connect.ts";
import { standStill } from "./counts.ts";
import { readmeInstall } from "./pages.ts";
import { upgradeSteps } from "./upgrades.ts";
import {
  inOperator,
  isReady,
  leader,
  operatorNamespace,
  operatorPods,
  remoteState,
  resize,
  rollout,
  type Step,
  sampleProject,
  sandboxControl,
  sandboxUrl,
  untilResized,
  untilSamplesReady,
  type World,
} from "./world.ts";

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
  await kubectl.run(["apply", "--server-side", "--force-conflicts", "--filename=-"], { stdin: manifest });
}

/** Replaces the values in the README that a user replaces: the registry, the control plane and the key file. */
async function readmeCommands({ input }: World): Promise<readonly string[]> {
  const { commands, manifest } = await readmeInstall();
  await writeFile(path.join(input.current, "endpoint.yaml"), manifest);
  await writeFile(path.join(input.current, "api-key"), input.apiKey);
  return commands.map((command) =>
    command
      .replaceAll("registry.example.com/endpoint-operator", "docker.io/library/endpoint-operator")
      .replaceAll("https://control-plane.example.com/api/v2", sandboxUrl)
      .replace("api-key=FILE", "api-key=api-key"),
  );
}

const nodeReady: Step = {
  name: "a fresh cluster → its node is Ready",
  run: async ({ kubectl, cluster }) => {
    await kubectl.run(["wait", "--for=create", `node/${cluster.nodeName}`, "--timeout=30s"]);
    await kubectl.run(["wait", "--for=condition=Ready", "node", "--all", "--timeout=60s"]);
  },
};

const readmeFollowed: Step = {
  name: "a cluster without an operator, Pod Security restricted → the five commands of the README end with a Ready endpoint",
  run: async (world) => {
    const { kubectl, input } = world;
    const [build, namespace = "", ...commands] = await readmeCommands(world);
    assert.equal(namespace, `kubectl create namespace ${operatorNamespace}`);
    await world.shell(namespace, input.current);
    await kubectl.run(["label", "namespace", operatorNamespace, "pod-security.kubernetes.io/enforce=restricted"]);
    // The image of this version is on the node already. The test has built it with the same function.
    assert.match(build ?? "", /^npm ci && npm run image -- --push docker.io\/library\/endpoint-operator:0\.1\.0$/);
    assert.equal(commands.length, 3);
    for (const command of commands) await world.shell(command, input.current);
    assert.match(commands.at(-1) ?? "", /&& kubectl wait --for=condition=Ready /);
    await kubectl.run(["delete", "--filename", path.join(input.current, "endpoint.yaml"), "--timeout=60s"]);
  },
};

const samplesReady: Step = {
  name: "samples are applied → they are Ready; the endpoint that the project had is as it was",
  run: async (world) => {
    const { kubectl, input, sandbox } = world;
    const foreign = (await sandbox.endpoints(sampleProject)).map(({ id }) => id).sort();
    const { creates } = await remoteState(world);
    const unrestricted = ["run", "shell", "--image=pause", "--dry-run=server"];
    const refusal = await kubectl.tryRun([...inOperator, ...unrestricted]);
    assert.match(refusal.stderr, /violates PodSecurity "restricted/);
    await kubectl.run(["apply", "--kustomize", path.join(input.current, "deploy", "samples")]);
    await untilSamplesReady(world);
    assert.deepEqual((await operatorPods(world)).map(isReady), [true, true]);
    const { owned, ...rest } = await remoteState(world);
    assert.equal(owned.length, 4);
    // The fixture's branch has an endpoint from the start. It still exists, and no request has changed it.
    assert.equal(foreign.length, 1);
    assert.deepEqual(rest, { foreign, creates: creates + 4, changesOfForeign: 0 });
  },
};

const leaderKilled: Step = {
  name: "the leader is killed → a replica leads again and applies a change",
  run: async (world) => {
    const name = await leader(world);
    const pod = (await operatorPods(world)).find(({ metadata }) => metadata.name === name);
    const id = pod?.status.containerStatuses?.[0]?.containerID.replace("containerd://", "");
    assert.ok(id, `the Lease names a pod: ${name}`);
    await world.cluster.killContainer(id);
    await resize(world, 3);
    await untilResized(world, 3);
  },
};

const secondRelease: Step = {
  name: "a second release in another namespace, under an arbitrary user id → it runs beside the first one, and goes without taking anything of it",
  run: async (world) => {
    const { kubectl, helm, input } = world;
    const place = ["-n", "team-b"] as const;
    await kubectl.run(["create", "namespace", "team-b"]);
    await kubectl.run(["label", "namespace", "team-b", "pod-security.kubernetes.io/enforce=restricted"]);
    const secret = ["create", "secret", "generic", "control-plane-api-key", `--from-literal=api-key=${input.apiKey}`];
    await kubectl.run([...place, ...secret]);
    // As OpenShift does it: a high user id, and the group 0.
    const user = "podSecurityContext.runAsUser=1000650000,podSecurityContext.runAsGroup=0";
    const once = "crds.enabled=false,secretsRole.create=false,watchNamespaces={team-b}";
    const image = "image.repository=docker.io/library/endpoint-operator";
    const values = [`controlPlane.url=${sandboxUrl}`, image, once, user].flatMap((value) => ["--set", value]);
    const chart = path.join(input.current, "charts", "endpoint-operator");
    await helm("install", "team-b", chart, ...place, ...values, "--wait", "--timeout", "90s");
    const names = async (...what: readonly string[]) =>
      (await kubectl.run(["get", ...what, "--output=name"])).split("\n");
    await waitUntil(
      async () => {
        const leases = await names("lease", "--all-namespaces");
        const has = (name: string) => leases.includes(`lease.coordination.k8s.io/${name}`);
        return has("endpoint-operator") && has("team-b-endpoint-operator") ? true : undefined;
      },
      { what: "each release has a leader" },
    );
    const before = await names("crd,clusterrole");
    await helm("uninstall", "team-b", ...place, "--wait", "--timeout", "90s");
    const after = await names("crd,clusterrole");
    const gone = before.filter((name) => !after.includes(name));
    assert.ok(gone.length > 0);
    assert.deepEqual(
      gone.filter((name) => !name.includes("/team-b-")),
      [],
    );
    await kubectl.run(["delete", "namespace", "team-b", "--timeout=60s"]);
  },
};

const rollingRestart: Step = {
  name: "a rolling restart → always a replica that is ready; then every pod is new",
  run: async (world) => {
    const { kubectl } = world;
    const before = (await operatorPods(world)).map(({ metadata }) => metadata.name);
    await kubectl.run([...inOperator, "rollout", "restart", "deployment/endpoint-operator"]);
    let isRolling = true;
    let fewestReady = Number.POSITIVE_INFINITY;
    const watching = (async () => {
      while (isRolling) fewestReady = Math.min(fewestReady, (await operatorPods(world)).filter(isReady).length);
    })();
    await kubectl.run([...inOperator, ...rollout]);
    isRolling = false;
    await watching;
    assert.ok(fewestReady >= 1, `fewest ready pods: ${fewestReady}`);
    const after = (await operatorPods(world)).map(({ metadata }) => metadata.name);
    assert.deepEqual(
      after.filter((name) => before.includes(name)),
      [],
    );
    await resize(world, 2);
    await untilResized(world, 2);
  },
};

const drained: Step = {
  name: "the node is drained → the PodDisruptionBudget keeps one replica, and it works",
  run: async (world) => {
    const { kubectl, cluster } = world;
    const drain = ["drain", cluster.nodeName, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=7s"];
    const result = await kubectl.tryRun(drain);
    assert.match(result.stderr, /would violate the pod's disruption budget/);
    const ready = (await operatorPods(world)).filter(isReady);
    assert.equal(ready.length, 1);
    await resize(world, 4);
    await untilResized(world, 4);
    await kubectl.run(["uncordon", cluster.nodeName]);
    await kubectl.run([...inOperator, ...rollout]);
  },
};

const uninstalled: Step = {
  name: "the chart is uninstalled → endpoints, resources and CRDs stay",
  run: async (world) => {
    // The next step counts from here, and until then there is no operator.
    await standStill(world);
    const before = await remoteState(world);
    await world.helm("uninstall", "endpoint-operator", ...inOperator, "--wait", "--timeout", "90s");
    await waitUntil(async () => ((await operatorPods(world)).length === 0 ? true : undefined), {
      what: "no pod is left",
    });
    const resources = await world.kubectl.getJson<{ items: readonly unknown[] }>(["-n", "shop", "get", "cpe"]);
    assert.equal(resources.items.length, 4);
    assert.deepEqual(await remoteState(world), before);
  },
};

const keyRotated: Step = {
  name: "the API key is replaced, the old one revoked, and the mounted file stays old → a change still reaches the control plane",
  run: async (world) => {
    const old = world.sandbox;
    const { key } = await old.api<{ key: string }>("POST", "/api_keys", { key_name: "second" });
    const keys = await old.api<readonly { id: number; name: string }[]>("GET", "/api_keys");
    const renewed = sandboxControl(key);
    // The kubelet would renew the mounted file after a minute or so. Without the kubelet, only the watch of the Secret
    // can bring the key.
    await world.cluster.whileKubeletStandsStill(async () => {
      await setApiKey(world, key);
      for (const { id, name } of keys) if (name !== "second") await renewed.api("DELETE", `/api_keys/${id}`);
      await resize(world, 4);
      const isSent = async () =>
        (await renewed.endpoints(sampleProject)).some((each) => each.autoscaling_limit_max_cu === 4);
      await waitUntil(async () => ((await isSent()) ? true : undefined), {
        what: "the change is sent",
      });
    });
    await untilResized(world, 4);
  },
};

/** The story in order. */
export const steps: readonly Step[] = [
  nodeReady,
  readmeFollowed,
  samplesReady,
  secondRelease,
  leaderKilled,
  rollingRestart,
  drained,
  uninstalled,
  ...upgradeSteps,
  keyRotated,
  ...connectSteps,
];
