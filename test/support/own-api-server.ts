/** Starts an API server for one test. */

import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { type ApiServer, type ApiServerOptions, startApiServer } from "../../tools/api-server/api-server.ts";
import { untilEstablished } from "../../tools/api-server/established.ts";
import { sharedApiServer } from "./api-server.ts";
import { createKubectl, type Kubectl } from "./kubectl.ts";

const crds = fileURLToPath(new URL("../../crds/", import.meta.url));

/** An API server for one test only. */
export interface OwnApiServer {
  readonly apiServer: ApiServer;
  /** kubectl as its administrator. */
  readonly kubectl: Kubectl;
}

/** Starts an API server without controllers, with the CRDs installed. It is for tests that restart or damage it. */
export async function startOwnApiServer(options: Partial<ApiServerOptions> = {}): Promise<OwnApiServer> {
  const own = await startBareApiServer(options);
  await own.kubectl.run(["apply", "--server-side", "-k", crds]);
  await untilEstablished(own.kubectl);
  return own;
}

/** Starts an API server without controllers and without the CRDs. */
export async function startBareApiServer(options: Partial<ApiServerOptions> = {}): Promise<OwnApiServer> {
  const { etcd, kubectl: binary, "kube-apiserver": server } = sharedApiServer().assets;
  const apiServer = await startApiServer({ assets: { etcd, "kube-apiserver": server }, ...options });
  onTestFinished(() => apiServer.stop());
  const kubectl = createKubectl({ binary, kubeconfigFile: apiServer.kubeconfigFile });
  return { apiServer, kubectl };
}

/** Compacts etcd, so that it forgets everything before now. In a cluster this happens every five minutes. */
export async function compactEtcd({ etcdUrl }: ApiServer): Promise<void> {
  const post = async (path: string, body: object) => {
    const answer = await fetch(`${etcdUrl}/v3/kv/${path}`, { method: "POST", body: JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`etcd answered ${answer.status} to ${path}: ${text}`);
    return JSON.parse(text) as { readonly header: { readonly revision: string } };
  };
  const key = Buffer.from("any").toString("base64");
  const { header } = await post("range", { key });
  await post("compaction", { revision: header.revision, physical: true });
}
