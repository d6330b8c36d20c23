/** The API server and the users of a benchmark. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { writeKubeconfig } from "../../api-server/kubeconfig.ts";
import { AuditTail } from "./audit-tail.ts";
import { type KubeAccess, KubeClient, type ServiceAccount, userNameOf } from "./kube-client.ts";

/** A Kubernetes API server with `crds` and `deploy/base` installed, and its administrator's access. */
export interface BenchCluster extends KubeAccess {
  /** The audit log: JSON lines, each written before its request is answered. */
  readonly auditLogFile: string;
}

/** The API server of the measurements, and two of its users, so that the writes of each can be counted. */
export interface BenchWorld {
  /** The administrator's client. */
  readonly kube: KubeClient;
  readonly audit: AuditTail;
  /** The path of the bundle with operator and sandbox. */
  readonly program: string;
  /** The profile of the sandbox: `public` shows the names of endpoints, `seed` does not. */
  readonly sandboxProfile: "seed" | "public";
  readonly operator: { readonly user: string; readonly kubeconfigFile: string };
  readonly floor: { readonly user: string; readonly access: KubeAccess };
  /** The folder for settings files of the processes. */
  readonly folder: string;
  close(): Promise<void>;
}

const operatorAccount: ServiceAccount = { namespace: "endpoint-operator-system", name: "endpoint-operator" };
const floorAccount: ServiceAccount = { namespace: "endpoint-operator-system", name: "bench-floor" };

/** Opens the world. The floor gets the operator's own rights, so that the API server treats both in the same way. */
export async function openWorld(
  cluster: BenchCluster,
  { program, sandboxProfile }: Pick<BenchWorld, "program" | "sandboxProfile">,
): Promise<BenchWorld> {
  const { server, caFile, auditLogFile } = cluster;
  const kube = await KubeClient.open(cluster);
  const folder = await mkdtemp(path.join(tmpdir(), "operator-bench-"));
  await createFloorAccount(kube);
  const kubeconfigFile = path.join(folder, "operator-kubeconfig");
  await writeKubeconfig(kubeconfigFile, { server, caFile, token: await kube.tokenOf(operatorAccount) });
  return {
    kube,
    audit: new AuditTail(auditLogFile),
    program,
    sandboxProfile,
    operator: { user: userNameOf(operatorAccount), kubeconfigFile },
    floor: { user: userNameOf(floorAccount), access: { server, caFile, token: await kube.tokenOf(floorAccount) } },
    folder,
    async close() {
      await kube.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function createFloorAccount(kube: KubeClient): Promise<void> {
  const { name, namespace } = floorAccount;
  await kube.request({
    method: "POST",
    path: `/api/v1/namespaces/${namespace}/serviceaccounts`,
    body: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } },
  });
  const apiGroup = "rbac.authorization.k8s.io";
  await kube.request({
    method: "POST",
    path: `/apis/${apiGroup}/v1/clusterrolebindings`,
    body: {
      apiVersion: `${apiGroup}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name },
      roleRef: { apiGroup, kind: "ClusterRole", name: operatorAccount.name },
      subjects: [{ kind: "ServiceAccount", name, namespace }],
    },
  });
}

/** Writes the task of another process into a file. */
export async function writeTask(world: BenchWorld, name: string, task: object): Promise<string> {
  const file = path.join(world.folder, `${name}.json`);
  await writeFile(file, JSON.stringify(task), { mode: 0o600 });
  return file;
}
