/** Tests the start, the restart and the end of an API server. */
import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { type ApiServer, type ApiServerOptions, startApiServer } from "../../../tools/api-server/api-server.ts";
import { findFreePorts } from "../../../tools/process/free-ports.ts";
import { startGuardedProcess } from "../../../tools/process/guarded-process.ts";
import { isAnswering } from "../../../tools/process/wait-until.ts";
import { sharedApiServer } from "../../support/api-server.ts";
import { waitUntilGone } from "../../support/processes.ts";

const launcher = fileURLToPath(new URL("../../../tools/api-server/api-server.ts", import.meta.url));

/** An API server for one test, without controllers. */
async function start(options: Partial<ApiServerOptions>): Promise<ApiServer> {
  const { etcd, "kube-apiserver": binary } = sharedApiServer().assets;
  const apiServer = await startApiServer({ assets: { etcd, "kube-apiserver": binary }, ...options });
  onTestFinished(() => apiServer.stop());
  return apiServer;
}

describe("startApiServer", () => {
  it("kube-apiserver does not start → an error with its last words, etcd is stopped", async () => {
    const [etcdClient = 0, etcdPeer = 0, apiServer = 0] = await findFreePorts(3);
    const started = start({ auditPolicy: "kind: Nonsense\n", ports: { etcdClient, etcdPeer, apiServer } });
    await expect(started).rejects.toMatchObject({
      name: "ComponentError",
      message: expect.stringMatching(/kube-apiserver ended while it was starting\.\nLast lines of .*\n.*audit/s),
    });
    expect(await isAnswering(`http://127.0.0.1:${etcdClient}/health`)).toBe(false);
  });

  it("the process that started it is killed with SIGKILL → etcd and kube-apiserver end", async () => {
    const script = `
      const { startApiServer } = await import(${JSON.stringify(launcher)});
      const apiServer = await startApiServer({ assets: ${JSON.stringify(sharedApiServer().assets)} });
      console.log(JSON.stringify([apiServer.dataDirectory, ...Object.values(apiServer.processIds)]));
      setTimeout(() => process.kill(process.pid, "SIGKILL"), 10);
    `;
    const parent = await startGuardedProcess({
      command: process.execPath,
      args: ["--input-type=module", "-e", script],
    });
    parent.stderr?.resume();
    let output = "";
    for await (const chunk of parent.stdout ?? []) output += String(chunk);
    const [directory, ...pids] = JSON.parse(output) as [string, ...number[]];
    onTestFinished(() => rm(directory, { recursive: true }));
    expect(pids).toHaveLength(3);
    for (const pid of pids) await waitUntilGone(pid);
  });
});
