import { readdir } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";
import { startApiServer } from "../../tools/api-server/api-server.ts";
import { resolveAssets } from "../../tools/assets/resolve-assets.ts";
import { createKubectl } from "./kubectl.ts";

/** What the files of a tier are told about the API server they share. Plain data: it crosses a process boundary. */
export interface SharedApiServer {
  readonly url: string;
  /** Kubeconfig of an administrator. */
  readonly kubeconfigFile: string;
  readonly caFile: string;
  /** The administrator's bearer token. */
  readonly token: string;
  readonly auditLogFile: string;
  /** Paths of the binaries by name. */
  readonly assets: Readonly<Record<"etcd" | "kube-apiserver" | "kubectl" | "kube-controller-manager", string>>;
}

declare module "vitest" {
  interface ProvidedContext {
    sharedApiServer: SharedApiServer;
  }
}

const crdDirectory = fileURLToPath(new URL("../../crds/", import.meta.url));

/**
 * Vitest's global set-up for the tiers that need Kubernetes: one API server with namespace controller and garbage
 * collector, the custom resource installed. Vitest calls what it answers when the tier is done.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const names = ["etcd", "kube-apiserver", "kubectl", "kube-controller-manager"] as const;
  const assets = await resolveAssets(names, { progress: (line) => process.stdout.write(`${line}\n`) });
  const apiServer = await startApiServer({ assets });
  try {
    const { url, kubeconfigFile, caFile, token, auditLogFile } = apiServer;
    await installCustomResources(createKubectl({ binary: assets.kubectl, kubeconfigFile }));
    project.provide("sharedApiServer", { url, kubeconfigFile, caFile, token, auditLogFile, assets });
  } catch (error) {
    await apiServer.stop();
    throw error;
  }
  return () => apiServer.stop();
}

async function installCustomResources(kubectl: ReturnType<typeof createKubectl>): Promise<void> {
  const files = (await readdir(crdDirectory)).filter((name) => name.endsWith(".yaml"));
  if (files.length === 0) return;
  const filenames = files.flatMap((name) => ["--filename", path.join(crdDirectory, name)]);
  await kubectl.run(["apply", "--server-side", ...filenames]);
  await kubectl.run(["wait", "--for=condition=Established", "--timeout=30s", ...filenames]);
}
