/** A way to the API server that a test can block. */
import { mkdtemp } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import path from "node:path";
import { onTestFinished } from "vitest";
import { writeKubeconfig } from "../../tools/api-server/kubeconfig.ts";
import { type ServiceAccountAccess, sharedApiServer } from "./api-server.ts";

/**
 * A connection to the shared API server that a test can block. So a test can stop an operator between the control
 * plane's answer and the operator's write to Kubernetes. It passes bytes on and does not parse them.
 */
export class KubernetesLink {
  /** The base URL of the API server through this link. */
  readonly url: string;
  /** The kubeconfig of the service account for this link. */
  readonly kubeconfigFile: string;
  readonly #server: Server;
  readonly #sockets: Set<Socket>;
  #isFrozen = false;

  private constructor(parts: {
    readonly url: string;
    readonly kubeconfigFile: string;
    readonly server: Server;
    readonly sockets: Set<Socket>;
  }) {
    this.url = parts.url;
    this.kubeconfigFile = parts.kubeconfigFile;
    this.#server = parts.server;
    this.#sockets = parts.sockets;
  }

  /** Opens a link for the running test. */
  static async start(account: ServiceAccountAccess): Promise<KubernetesLink> {
    const { url: serverUrl, caFile } = sharedApiServer();
    const target = new URL(serverUrl);
    const sockets = new Set<Socket>();
    const join = (inner: Socket) => {
      const outer = connect(Number(target.port), target.hostname);
      for (const [from, to] of [
        [inner, outer],
        [outer, inner],
      ] as const) {
        sockets.add(from);
        from.on("error", () => to.destroy());
        from.on("close", () => {
          sockets.delete(from);
          to.destroy();
        });
        from.pipe(to);
      }
      if (link.#isFrozen) link.freeze();
    };
    const server = createServer(join);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const kubeconfigFile = path.join(await mkdtemp(path.join(path.dirname(caFile), "link-")), "kubeconfig.yaml");
    const url = `https://127.0.0.1:${port}`;
    await writeKubeconfig(kubeconfigFile, { server: url, caFile, token: account.token });
    const link = new KubernetesLink({ url, kubeconfigFile, server, sockets });
    onTestFinished(() => link.#stop());
    return link;
  }

  /** Stops all traffic: no byte passes in either direction, as on a network that drops every packet. */
  freeze(): void {
    this.#isFrozen = true;
    for (const socket of this.#sockets) {
      socket.unpipe();
      socket.pause();
    }
  }

  async #stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
