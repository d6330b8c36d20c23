/** Starts a Kubernetes cluster with one real node. */
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { type ApiServer, startApiServer } from "../api-server/api-server.ts";
import type { AssetName } from "../assets/asset-table.ts";
import type { AssetPaths } from "../assets/resolve-assets.ts";
import { runCommand } from "../assets/run-command.ts";
import { startComponent, waitForComponent } from "../process/component.ts";
import { isAnswering } from "../process/wait-until.ts";
import { makeCgroups } from "./cgroups.ts";
import {
  containerdConfig,
  containerdSocket,
  kubeletConfig,
  type NodePlaces,
  networkConfig,
  nodeAddress,
  serviceAddress,
} from "./node-files.ts";

/** The binaries of a cluster with one node. */
export const nodeAssets = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kubelet",
  "kubectl",
  "helm",
] as const satisfies readonly AssetName[];

/** The options of a cluster. */
export interface NodeClusterOptions extends NodePlaces {
  readonly assets: AssetPaths<(typeof nodeAssets)[number]>;
  /** The OCI archives for containerd. Each names its image. */
  readonly images: readonly string[];
}

/** A cluster with one node, in the namespaces of this process. */
export interface NodeCluster {
  readonly apiServer: ApiServer;
  readonly nodeName: string;
  /** Sends a signal to the main process of a container. @param id the container's id without `containerd://` */
  killContainer(id: string): Promise<void>;
  /** Does something while the kubelet stands still, so that it renews no mounted file. */
  whileKubeletStandsStill<Result>(work: () => Promise<Result>): Promise<Result>;
}

const nodeName = "node1";
const startTimeoutMs = 60_000;

/**
 * Starts API server, controllers, scheduler, containerd and kubelet.
 * Call it only inside `startInNamespaces`: it sets addresses and mounts a new /run, and its processes end with the
 * namespace.
 * @returns when the API server, containerd and the kubelet answer; the node becomes Ready soon after.
 * @throws ComponentError with the end of the log of the process that failed.
 */
export async function startNodeCluster(options: NodeClusterOptions): Promise<NodeCluster> {
  const { directory, assets } = options;
  await prepareNamespaces();
  await makeCgroups(options.cgroup);
  await mkdir(path.join(directory, "cni"), { recursive: true });
  await writeFile(path.join(directory, "cni", "10-bridge.conflist"), networkConfig(options));
  await writeFile(path.join(directory, "containerd.toml"), containerdConfig(options));
  await writeFile(path.join(directory, "kubelet.yaml"), kubeletConfig(options));
  const deadlineMs = performance.now() + startTimeoutMs;
  const start = (name: string, command: string, args: readonly string[]) =>
    startComponent({ name, command, args, logFile: path.join(directory, `${name}.log`), graceMs: 2_000 });
  const containerd = await start("containerd", "containerd", ["--config", path.join(directory, "containerd.toml")]);
  const apiServer = await startApiServer({
    assets: { etcd: assets.etcd, "kube-apiserver": assets["kube-apiserver"] },
    dataDirectory: path.join(directory, "api-server"),
    ports: { etcdClient: 2379, etcdPeer: 2380, apiServer: 443 },
    // The certificate is for 127.0.0.1 and the service address. Pods use the latter.
    apiServerArgs: ["--bind-address=0.0.0.0", "--kubelet-preferred-address-types=InternalIP"],
  });
  const control = { directory, kubeconfig: apiServer.kubeconfigFile };
  await start("controller-manager", assets["kube-controller-manager"], controllerManagerArgs(control));
  await start("scheduler", assets["kube-scheduler"], [`--kubeconfig=${control.kubeconfig}`, "--leader-elect=false"]);
  const ctr = ["--address", containerdSocket(options), "--namespace", "k8s.io"];
  await waitForComponent(containerd, deadlineMs, () => succeeds("ctr", [...ctr, "version"]));
  for (const image of options.images) await runCommand({ command: "ctr", args: [...ctr, "images", "import", image] });
  const kubelet = await start("kubelet", assets.kubelet, kubeletArgs(control));
  await waitForComponent(kubelet, deadlineMs, () => isAnswering("http://127.0.0.1:10248/healthz"));
  return {
    apiServer,
    nodeName,
    killContainer: async (id) => {
      await runCommand({ command: "ctr", args: [...ctr, "tasks", "kill", "--signal", "SIGKILL", id] });
    },
    whileKubeletStandsStill: async (work) => {
      kubelet.process.kill("SIGSTOP");
      try {
        return await work();
      } finally {
        kubelet.process.kill("SIGCONT");
      }
    },
  };
}

async function prepareNamespaces(): Promise<void> {
  const commands = [
    ["mount", "-t", "tmpfs", "tmpfs", "/run"],
    ["ip", "link", "set", "lo", "up"],
    ["ip", "address", "add", `${nodeAddress}/32`, "dev", "lo"],
    ["ip", "address", "add", `${serviceAddress}/32`, "dev", "lo"],
  ];
  for (const [command = "", ...args] of commands) await runCommand({ command, args });
  await writeFile("/proc/sys/net/ipv4/ip_forward", "1");
}

interface ControlFiles {
  readonly directory: string;
  readonly kubeconfig: string;
}

function controllerManagerArgs({ directory, kubeconfig }: ControlFiles): readonly string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    `--service-account-private-key-file=${directory}/api-server/service-account.key`,
    `--root-ca-file=${directory}/api-server/certificates/apiserver.crt`,
    "--leader-elect=false",
  ];
}

function kubeletArgs({ directory, kubeconfig }: ControlFiles): readonly string[] {
  return [
    `--config=${directory}/kubelet.yaml`,
    `--kubeconfig=${kubeconfig}`,
    `--root-dir=${directory}/kubelet`,
    `--cert-dir=${directory}/kubelet-certificates`,
    `--hostname-override=${nodeName}`,
    `--node-ip=${nodeAddress}`,
  ];
}

function succeeds(command: string, args: readonly string[]): Promise<boolean> {
  return runCommand({ command, args }).then(
    () => true,
    () => false,
  );
}
