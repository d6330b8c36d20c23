/** The shared API server behind a fault proxy. */
import { mkdtemp, readFile } from "node:fs/promises";
import path from "node:path";
import type { Clock } from "../../../src/domain/clock.ts";
import { writeKubeconfig } from "../../../tools/api-server/kubeconfig.ts";
import { FaultProxy } from "./fault-proxy.ts";

/** A real API server, and the credentials for it. */
export interface ProxiedApiServerOptions {
  readonly url: string;
  readonly caFile: string;
  /** The bearer token of the client. */
  readonly token: string;
  /** The clock of the proxy. @default systemClock */
  readonly clock?: Clock;
}

/** A fault proxy in front of a real API server. */
export interface ProxiedApiServer {
  readonly proxy: FaultProxy;
  /** The kubeconfig of a client that goes through the proxy. It is removed with the API server's files. */
  readonly kubeconfigFile: string;
}

/**
 * Starts the proxy with the API server's own certificate. It is valid for this address, and the client's CA verifies
 * it.
 */
export async function startProxiedApiServer(options: ProxiedApiServerOptions): Promise<ProxiedApiServer> {
  const { url, caFile, token, clock } = options;
  // kube-apiserver writes the key beside the certificate, with the same name.
  const [cert, key] = await Promise.all([readFile(caFile, "utf8"), readFile(caFile.replace(/\.crt$/, ".key"), "utf8")]);
  const proxy = await FaultProxy.start({
    target: url,
    targetCa: cert,
    tls: { cert, key },
    ...(clock === undefined ? {} : { clock }),
  });
  const kubeconfigFile = path.join(await mkdtemp(path.join(path.dirname(caFile), "fault-proxy-")), "kubeconfig.yaml");
  await writeKubeconfig(kubeconfigFile, { server: proxy.url, caFile, token });
  return { proxy, kubeconfigFile };
}
