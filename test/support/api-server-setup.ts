/** Starts the API server that the files of a tier share. */
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";
import { startApiServer } from "../../tools/api-server/api-server.ts";
import { untilEstablished } from "../../tools/api-server/established.ts";
import { resolveAssets } from "../../tools/assets/resolve-assets.ts";
import { createKubectl } from "./kubectl.ts";

/**
 * The data about the shared API server that the files of a tier get. It is plain data, because it crosses a process
 * boundary.
 */
export interface SharedApiServer {
  readonly url: string;
  /** The kubeconfig of an administrator. */
  readonly kubeconfigFile: string;
  readonly caFile: string;
  /** The administrator's bearer token. */
  readonly token: string;
  readonly auditLogFile: string;
  /** The paths of the binaries by name. */
  readonly assets: Readonly<Record<"etcd" | "kube-apiserver" | "kubectl" | "kube-controller-manager", string>>;
}

declare module "vitest" {
  interface ProvidedContext {
    sharedApiServer: SharedApiServer;
  }
}

const folders = ["crds", "deploy/base"].map((name) => fileURLToPath(new URL(`../../${name}/`, import.meta.url)));

/**
 * Vitest's global set-up for the tiers that need Kubernetes. It starts one API server with namespace controller and
 * garbage collector, and installs the shipped manifests as a user does. Vitest calls the returned function when the
 * tier has ended.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const names = ["etcd", "kube-apiserver", "kubectl", "kube-controller-manager"] as const;
  const assets = await resolveAssets(names, { progress: (line) => process.stdout.write(`${line}\n`) });
  const apiServer = await startApiServer({ assets });
  try {
    const { url, kubeconfigFile, caFile, token, auditLogFile } = apiServer;
    await installOperatorManifests(createKubectl({ binary: assets.kubectl, kubeconfigFile }));
    project.provide("sharedApiServer", { url, kubeconfigFile, caFile, token, auditLogFile, assets });
  } catch (error) {
    await apiServer.stop();
    throw error;
  }
  return () => apiServer.stop();
}

/**
 * Installs the shipped manifests. There is no kubelet, so the Deployment starts no pod. Only the CRDs and the rights
 * matter.
 */
async function installOperatorManifests(kubectl: ReturnType<typeof createKubectl>): Promise<void> {
  for (const folder of folders) await kubectl.run(["apply", "--server-side", "-k", folder]);
  await untilEstablished(kubectl);
}
