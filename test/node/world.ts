/** The cluster, the sandbox and the helpers of the test on a real node. */
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { runCommand } from "../../tools/assets/run-command.ts";
import { type NodeCluster, type NodeClusterOptions, startNodeCluster } from "../../tools/node/node-cluster.ts";
import { nodeAddress } from "../../tools/node/node-files.ts";
import { startComponent } from "../../tools/process/component.ts";
import { createKubectl, type Kubectl } from "../support/kubectl.ts";
import { SandboxControl } from "../support/sandbox-control.ts";
import { waitUntil } from "../support/wait-until.ts";

/** What the test prepares outside of the namespaces, as JSON for the story. */
export interface StoryInput extends NodeClusterOptions {
  /** The path of the bundle, for the sandbox. */
  readonly program: string;
  /** The folder with `charts` and `deploy` of this version. The image is endpoint-operator:0.1.0. */
  readonly current: string;
  /** The folder with `charts` and `deploy` of the previous version. The image is endpoint-operator:previous. */
  readonly previous: string;
  readonly apiKey: string;
  /** The folder with the programs of PostgreSQL, for the computes of the sandbox. */
  readonly postgresBin: string;
}

/** The namespace of the operator. */
export const operatorNamespace = "endpoint-operator-system";
/** The project and namespace of deploy/samples. */
export const sampleProject = "green-fox-123456";
const sandboxPort = 8787;
/** The image of the application that connects. */
export const applicationImage = "docker.io/library/application:1";

/** The base URL of the sandbox for pods. */
export const sandboxUrl = `http://${nodeAddress}:${sandboxPort}/api/v2`;

/** One step of the story. The next step starts from the state that it leaves. */
export interface Step {
  /** "<state> → <effect>" */
  readonly name: string;
  run(world: World): Promise<void>;
}

/** The options of kubectl and Helm. */
export const inOperator = ["-n", operatorNamespace] as const;
export const rollout = ["rollout", "status", "deployment/endpoint-operator", "--timeout=90s"] as const;

/** The parts of an operator pod that the story reads. */
export interface Pod {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
  readonly spec: { readonly containers: readonly { readonly image: string }[] };
  readonly status: {
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly { readonly containerID: string }[];
  };
}

/** Everything that the steps of the story use. */
export interface World {
  readonly input: StoryInput;
  readonly cluster: NodeCluster;
  readonly kubectl: Kubectl;
  readonly sandbox: SandboxControl;
  readonly helm: (...args: readonly string[]) => Promise<string>;
  /** Runs a shell command line that finds our kubectl and helm. */
  readonly shell: (line: string, cwd: string) => Promise<string>;
}

/** Starts the cluster and the sandbox. */
export async function startWorld(input: StoryInput): Promise<World> {
  const { assets, directory } = input;
  await startSandbox(input);
  const cluster = await startNodeCluster(input);
  const { kubeconfigFile } = cluster.apiServer;
  const kubectl = createKubectl({ binary: assets.kubectl, kubeconfigFile });
  const home = { HELM_CACHE_HOME: directory, HELM_CONFIG_HOME: directory, HELM_DATA_HOME: directory };
  const tools = [assets.kubectl, assets.helm].map((file) => path.dirname(file)).join(":");
  const env = { ...process.env, ...home, KUBECONFIG: kubeconfigFile, PATH: `${tools}:${process.env.PATH}` };
  const helm = (...args: readonly string[]) => runCommand({ command: assets.helm, args, env });
  const shell = (line: string, cwd: string) => runCommand({ command: "sh", args: ["-ec", line], cwd, env });
  return { input, cluster, kubectl, helm, shell, sandbox: sandboxControl(input.apiKey) };
}

/** Returns a client of the sandbox with this key. */
export function sandboxControl(apiKey: string): SandboxControl {
  const controlUrl = `http://127.0.0.1:${sandboxPort}/sandbox/v1`;
  return new SandboxControl({ url: `http://127.0.0.1:${sandboxPort}/api/v2`, controlUrl, apiKey });
}

async function startSandbox({ program, apiKey, directory, postgresBin }: StoryInput): Promise<void> {
  const reached = ["--host", "0.0.0.0", "--allow-remote-control", "--port", String(sandboxPort)];
  // Pods cannot reach the node's loopback addresses. So the API shows host names, and the hosts file of a pod resolves
  // them.
  const computes = ["--compute", "postgres", "--compute-hosts", "names", "--postgres-bin", postgresBin];
  const options = [...reached, ...computes];
  await startComponent({
    name: "sandbox",
    command: process.execPath,
    args: [program, "sandbox", "--profile", "seed", ...options, "--api-key", apiKey, "--operation-latency", "1500"],
    logFile: path.join(directory, "sandbox.log"),
    graceMs: 2_000,
  });
}

/** Returns the pods of the operator that are not being deleted. */
export async function operatorPods({ kubectl }: World): Promise<readonly Pod[]> {
  const { items } = await kubectl.getJson<{ items: readonly Pod[] }>(["-n", operatorNamespace, "get", "pods"]);
  return items.filter((pod) => pod.metadata.deletionTimestamp === undefined);
}

/** Whether a pod is Ready. Pure. */
export function isReady({ status }: Pod): boolean {
  return status.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True") ?? false;
}

/** Returns the name of the pod that holds the Lease. The holder's identity is the pod's name and a random part. */
export async function leader({ kubectl }: World): Promise<string> {
  const lease = await kubectl.getJson<{ spec: { holderIdentity?: string } }>([
    ...["-n", operatorNamespace, "get", "lease", "endpoint-operator"],
  ]);
  return lease.spec.holderIdentity?.split("_")[0] ?? "";
}

/** Waits until every sample is Ready for its newest spec. */
export async function untilSamplesReady({ kubectl }: World, timeoutSeconds = 60): Promise<void> {
  const wait = ["wait", "--for=condition=Ready", "cpe", "--all", `--timeout=${timeoutSeconds}s`];
  await kubectl.run(["-n", "shop", ...wait], { timeoutMs: (timeoutSeconds + 5) * 1_000 });
}

/** Changes the largest size of the sample `orders`. */
export async function resize({ kubectl }: World, maxUnits: number): Promise<void> {
  const patch = JSON.stringify({ spec: { compute: { minUnits: 1, maxUnits } } });
  await kubectl.run(["-n", "shop", "patch", "cpe", "orders", "--type=merge", `--patch=${patch}`]);
}

/** Waits until the control plane shows this size and the sample `orders` is Ready with it. */
export async function untilResized(world: World, maxUnits: number): Promise<void> {
  const look = () =>
    world.kubectl.getJson<{
      metadata: { generation: number };
      status: {
        observedGeneration?: number;
        compute?: { maxUnits: number };
        conditions?: { type: string; status: string }[];
      };
    }>(["-n", "shop", "get", "cpe", "orders"]);
  await waitUntil(
    async () => {
      const { metadata, status } = await look();
      const ready = status.conditions?.find(({ type }) => type === "Ready");
      const isDone = status.observedGeneration === metadata.generation && status.compute?.maxUnits === maxUnits;
      return isDone && ready?.status === "True" ? true : undefined;
    },
    { what: `orders is Ready with up to ${maxUnits} units` },
  );
}

/** Returns the endpoints in the control plane, and the changes that the operator has made there. */
export async function remoteState({ sandbox, kubectl }: World) {
  const ids = (await sandbox.endpoints(sampleProject)).map(({ id }) => id).sort();
  const { items } = await kubectl.getJson<{
    items: readonly { status?: { ownership?: { endpointId: string } } }[];
  }>(["-n", "shop", "get", "cpe"]);
  const owned = new Set(items.flatMap(({ status }) => status?.ownership?.endpointId ?? []));
  const foreign = ids.filter((id) => !owned.has(id));
  const changes = (await sandbox.requests()).filter(({ method, status }) => method !== "GET" && status < 300);
  return {
    /** The endpoints that a resource owns. */
    owned: ids.filter((id) => owned.has(id)),
    /** The endpoints that no resource owns. */
    foreign,
    creates: changes.filter(({ method, path: at }) => method === "POST" && /\/endpoints$/.test(at)).length,
    changesOfForeign: changes.filter(({ path: at }) => foreign.some((id) => at.includes(id))).length,
  };
}

/** Changes the manifests of a folder to use the sandbox, and an image that containerd has. */
export async function pointManifests(folder: string, imageTag: string): Promise<void> {
  const base = path.join(folder, "deploy", "base");
  const settings = path.join(base, "settings.env");
  const env = await readFile(settings, "utf8");
  await writeFile(settings, env.replace(/^CONTROL_PLANE_URL=.*$/m, `CONTROL_PLANE_URL=${sandboxUrl}`));
  const kustomization = path.join(base, "kustomization.yaml");
  const yaml = await readFile(kustomization, "utf8");
  await writeFile(kustomization, yaml.replace(/newTag: .*/, `newTag: ${imageTag}`));
}
