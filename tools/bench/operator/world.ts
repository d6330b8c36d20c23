/** The API server and the users of a benchmark. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { writeKubeconfig } from "../../api-server/kubeconfig.ts";
import type { Kubectl } from "../../process/kubectl.ts";
import { type KubeAccess, KubeClient } from "./kube-client.ts";

/** A Kubernetes API server with `crds` and `deploy/base` installed, and its administrator's access. */
export interface BenchCluster extends KubeAccess {
  /** The audit log: JSON lines, each written before its request is answered. */
  readonly auditLogFile: string;
  /** kubectl as its administrator. */
  readonly kubectl: Pick<Kubectl, "run">;
}

/** The API server of the measurements, and two of its users, so that the writes of each can be counted. */
export interface BenchWorld {
  /** The path of the bundle with operator and sandbox. */
  readonly program: string;
  /** The profile of the sandbox: `public` shows the names of endpoints, `seed` does not. */
  readonly sandboxProfile: "seed" | "public";
  /** The administrator's client. */
  readonly kube: KubeClient;
  readonly auditLogFile: string;
  readonly operatorKubeconfig: string;
  readonly floorAccess: KubeAccess;
  /** The folder for the files of the processes. */
  readonly folder: string;
  close(): Promise<void>;
}

const namespace = "endpoint-operator-system";
const operatorAccount = "endpoint-operator";
const floorAccount = "bench-floor";
const userOf = (account: string) => `system:serviceaccount:${namespace}:${account}`;

/** The users' names in the audit log. */
export const users = { operator: userOf(operatorAccount), floor: userOf(floorAccount) } as const;

/** Opens the world. The floor gets the operator's own rights, so that the API server treats both in the same way. */
export async function openWorld(
  cluster: BenchCluster,
  subject: Pick<BenchWorld, "program" | "sandboxProfile">,
): Promise<BenchWorld> {
  const { server, caFile, auditLogFile, kubectl } = cluster;
  const kube = await KubeClient.open(cluster);
  const folder = await mkdtemp(path.join(tmpdir(), "operator-bench-"));
  await kubectl.run(["create", "serviceaccount", floorAccount, "-n", namespace]);
  const rights = [`--clusterrole=${operatorAccount}`, `--serviceaccount=${namespace}:${floorAccount}`];
  await kubectl.run(["create", "clusterrolebinding", floorAccount, ...rights]);
  const accessOf = async (account: string) => {
    const token = await kubectl.run(["create", "token", account, "-n", namespace, "--duration=2h"]);
    return { server, caFile, token: token.trim() };
  };
  const operatorKubeconfig = path.join(folder, "operator-kubeconfig");
  await writeKubeconfig(operatorKubeconfig, await accessOf(operatorAccount));
  return {
    ...subject,
    kube,
    auditLogFile,
    operatorKubeconfig,
    folder,
    floorAccess: await accessOf(floorAccount),
    async close() {
      await kube.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
