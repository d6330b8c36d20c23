/** An API server whose etcd can be restored to an earlier time. */

import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { startApiServer } from "../../tools/api-server/api-server.ts";
import { apiServerFiles } from "../../tools/api-server/component-args.ts";
import { untilEstablished } from "../../tools/api-server/established.ts";
import { findFreePorts } from "../../tools/process/free-ports.ts";
import { sharedApiServer } from "./api-server.ts";
import { createKubectl } from "./kubectl.ts";
import { waitUntil } from "./wait-until.ts";

const crds = fileURLToPath(new URL("../../crds/", import.meta.url));

/** Starts an API server whose etcd can be restored to an earlier state. */
export async function startRestorableApiServer() {
  const { etcd, kubectl: binary, "kube-apiserver": server } = sharedApiServer().assets;
  const directory = await mkdtemp(path.join(tmpdir(), "endpoint-operator-restore-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const dataDirectory = path.join(directory, "server");
  const [etcdClient = 0, etcdPeer = 0, apiServer = 0] = await findFreePorts(3);
  const ports = { etcdClient, etcdPeer, apiServer };
  const start = () => startApiServer({ assets: { etcd, "kube-apiserver": server }, dataDirectory, ports });
  let running = await start();
  onTestFinished(() => running.stop());
  const kubectl = createKubectl({ binary, kubeconfigFile: running.kubeconfigFile });
  await kubectl.run(["apply", "--server-side", "-k", crds]);
  await untilEstablished(kubectl);
  const { etcdData } = apiServerFiles(dataDirectory);
  const backup = path.join(directory, "backup");
  const whileStopped = async (work: () => Promise<void>) => {
    await running.stop();
    await work();
    running = await start();
    // Right after a start the API server answers 429, until its own cache of the resources is filled.
    const isServed = () =>
      kubectl.run(["get", "computeendpoints", "--all-namespaces"]).then(
        () => true,
        () => undefined,
      );
    await waitUntil(isServed, { what: "the resources are served" });
  };
  return {
    server: { ...running, adminKubeconfigFile: running.kubeconfigFile },
    backUp: () => whileStopped(() => cp(etcdData, backup, { recursive: true })),
    restore: () =>
      whileStopped(async () => {
        await rm(etcdData, { recursive: true });
        await cp(backup, etcdData, { recursive: true });
      }),
  };
}
