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
