import { writeFile } from "node:fs/promises";
import { stringify } from "yaml";

/** What a client needs to talk to an API server as one user. */
export interface KubeconfigOptions {
  /** Base URL, without a trailing slash. */
  readonly server: string;
  /** PEM file with the CA of the serving certificate. */
  readonly caFile: string;
  readonly token: string;
  /** @default "default" */
  readonly namespace?: string;
}

/** Writes a kubeconfig with one context, readable by its owner only. */
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
