/** A proxy between the operator and the API server. It passes everything on, and holds back the answers that a test names. */
import { mkdtemp, readFile } from "node:fs/promises";
import { Agent, createServer, request } from "node:https";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { writeKubeconfig } from "../../../tools/api-server/kubeconfig.ts";

/** A real API server, and the bearer token of a client. */
interface Target {
  readonly url: string;
  readonly caFile: string;
  readonly token: string;
}

interface Hold {
  readonly isMatch: (method: string, url: string) => boolean;
  readonly lifted: Promise<void>;
}

export interface FaultProxy {
  /** The kubeconfig of a client that goes through the proxy. It is removed with the API server's files. */
  readonly kubeconfigFile: string;
  /**
   * Holds back the answer to the next request that matches. The server has carried the request out by then.
   * @returns a function that lets the answer through
   */
  hold(isMatch: Hold["isMatch"]): () => void;
  stop(): Promise<void>;
}

/** Starts the proxy with the API server's own certificate, which is valid for the same address. */
export async function startFaultProxy({ url: target, caFile, token }: Target): Promise<FaultProxy> {
  // kube-apiserver writes the key beside the certificate, with the same name.
  const [cert, key] = await Promise.all([readFile(caFile, "utf8"), readFile(caFile.replace(/\.crt$/, ".key"), "utf8")]);
  const agent = new Agent({ keepAlive: true, ca: cert });
  const holds = new Set<Hold>();
  const server = createServer({ cert, key }, (incoming, response) => {
    const { method = "GET", url = "/", headers } = incoming;
    const hold = [...holds].find(({ isMatch }) => isMatch(method, url));
    if (hold !== undefined) holds.delete(hold);
    const cut = () => void response.destroy();
    const own = { ...headers, host: new URL(target).host };
    const outgoing = request(new URL(url, target), { method, agent, headers: own }, async (answer) => {
      answer.on("error", cut);
      await hold?.lifted;
      response.writeHead(answer.statusCode ?? 502, answer.headers).flushHeaders();
      answer.pipe(response);
    });
    outgoing.on("error", cut);
    response.on("close", () => outgoing.destroy());
    incoming.pipe(outgoing);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const kubeconfigFile = path.join(await mkdtemp(path.join(path.dirname(caFile), "fault-proxy-")), "kubeconfig.yaml");
  await writeKubeconfig(kubeconfigFile, { server: `https://127.0.0.1:${port}`, caFile, token });
  return {
    kubeconfigFile,
    hold(isMatch) {
      const { promise: lifted, resolve } = Promise.withResolvers<void>();
      holds.add({ isMatch, lifted });
      return resolve;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      agent.destroy();
    },
  };
}
