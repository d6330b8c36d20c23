/** A way to the API server that a test can block. */
import { mkdtemp } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import path from "node:path";
import { onTestFinished } from "vitest";
import { writeKubeconfig } from "../../tools/api-server/kubeconfig.ts";
import { type ServiceAccountAccess, sharedApiServer } from "./api-server.ts";

/**
 * Opens a connection to the shared API server for the running test. It passes bytes on and does not parse them.
 * @returns the kubeconfig of the service account for this connection, and a function that stops all traffic, as on a
 * network that drops every packet
 */
export async function startKubernetesLink({ token }: ServiceAccountAccess) {
  const { url, caFile } = sharedApiServer();
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let isFrozen = false;
  const freeze = () => {
    isFrozen = true;
    for (const socket of sockets) socket.unpipe().pause();
  };
  const server = createServer((inner) => {
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
    if (isFrozen) freeze();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  const kubeconfigFile = path.join(await mkdtemp(path.join(path.dirname(caFile), "link-")), "kubeconfig.yaml");
  await writeKubeconfig(kubeconfigFile, { server: `https://127.0.0.1:${port}`, caFile, token });
  return { kubeconfigFile, freeze };
}
