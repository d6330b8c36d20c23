/** Writes kubeconfig files. */
import { writeFile } from "node:fs/promises";
import { stringify } from "yaml";

/** The values of a kubeconfig for one user. */
export interface KubeconfigOptions {
  /** The base URL, without a trailing slash. */
  readonly server: string;
  /** The PEM file with the CA of the server's certificate. */
  readonly caFile: string;
  readonly token: string;
  /** The namespace of the context. @default "default" */
  readonly namespace?: string;
}

/** Writes a kubeconfig with one context. Only its owner can read it. */
export async function writeKubeconfig(file: string, options: KubeconfigOptions): Promise<void> {
  const name = "endpoint-operator-local";
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": name,
    clusters: [{ name, cluster: { server: options.server, "certificate-authority": options.caFile } }],
    users: [{ name, user: { token: options.token } }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: options.namespace ?? "default" } }],
  };
  await writeFile(file, stringify(config), { mode: 0o600 });
}
