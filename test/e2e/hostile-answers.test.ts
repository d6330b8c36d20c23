/** Tests what the answers of one team's control plane cost the other teams. */
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { adminKubectl, createTestNamespace, shippedAccount } from "../support/api-server.ts";
import type { OperatorProcess } from "../support/e2e-operator.ts";
import { SandboxProcess, type TestProject } from "../support/e2e-sandbox.ts";
import { E2eWorld } from "../support/e2e-world.ts";
import { newSecret } from "../support/secrets.ts";
import { waitUntil } from "../support/wait-until.ts";

const mebibyte = 1_024 * 1_024;
const entries = "{},".repeat((16 * mebibyte - 100) / 3);
const manyEndpoints = Buffer.from(`{"endpoints":[${entries}{}]}`);
const projects = Array.from({ length: 5 }, (_, at) => `hostile-owl-${100_000 + at}`);

/** Starts a control plane whose lists of endpoints hold 16 MB of empty entries. */
async function startHostileService() {
  const state = { lists: 0 };
  const server = createServer(({ url = "" }, response) => {
    const isList = url.endsWith("/endpoints");
    if (isList) state.lists += 1;
    response.writeHead(200, { "content-type": "application/json" });
    response.end(isList ? manyEndpoints : '{"operations":[]}');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { state, url: `http://127.0.0.1:${port}/api/v2` };
}

/** Describes the hostile control plane in a namespace of its own, and some endpoints there. */
async function describeHostile(namespace: string, url: string): Promise<void> {
  const { namespace: home, name } = shippedAccount;
  const secrets = ["--clusterrole=endpoint-operator-secrets", `--serviceaccount=${home}:${name}`];
  await adminKubectl().run(["-n", namespace, "create", "rolebinding", "endpoint-operator-secrets", ...secrets]);
  const apiVersion = "endpoint-operator.dev/v1alpha1";
  const endpoint = (projectId: string) => ({
    apiVersion,
    kind: "ComputeEndpoint",
    metadata: { name: projectId, namespace },
    spec: {
      projectId,
      branchId: "br-hostile-lake-000001",
      type: "ReadWrite",
      controlPlaneRef: { kind: "ControlPlane", name: "own" },
    },
  });
  const items = [
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "key", namespace },
      stringData: { key: newSecret("api-key") },
    },
    {
      apiVersion,
      kind: "ControlPlane",
      metadata: { name: "own", namespace },
      spec: { url, apiKeySecretRef: { name: "key", key: "key" } },
    },
    ...projects.map(endpoint),
  ];
  const list = JSON.stringify({ apiVersion: "v1", kind: "List", items });
  await adminKubectl().run(["apply", "-f", "-"], { stdin: list });
}

/** Edits an endpoint some times. @returns the median time from the edit until it is Ready, in milliseconds */
async function medianEdit(world: E2eWorld, project: TestProject, firstSeconds: number): Promise<number> {
  const times: number[] = [];
  for (let afterSeconds = firstSeconds; afterSeconds < firstSeconds + 7; afterSeconds += 1) {
    await world.apply("orders", project, { type: "ReadWrite", suspend: { mode: "After", afterSeconds } });
    const editedMs = performance.now();
    await world.untilReady("orders");
    times.push(performance.now() - editedMs);
  }
  return times.sort((a, b) => a - b)[3] ?? Number.NaN;
}

/** Returns the memory of a process in mebibytes: now, and the most since `clear_refs` was written. */
async function memoryOf({ pid }: OperatorProcess): Promise<{ readonly now: number; readonly most: number }> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const read = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1_024;
  return { now: read("VmRSS"), most: read("VmHWM") };
}

test("a team's control plane lists 16 MB of empty entries → another team's edit takes at most a second longer, the process at most 60 MiB more", async () => {
  const sandbox = await SandboxProcess.start();
  onTestFinished(() => sandbox.stop());
  const hostile = await startHostileService();
  const world = await E2eWorld.start(sandbox, { TENANT_CONTROL_PLANE_HOSTS: "127.0.0.1" });
  const namespace = await createTestNamespace("hostile");
  const operator = await world.startOperator({ WATCH_NAMESPACES: `${world.namespace},${namespace}` });
  const project = sandbox.takeProject();
  await world.apply("orders", project, { type: "ReadWrite" });
  await world.untilReady("orders");
  const usualMs = await medianEdit(world, project, 400);
  const before = await memoryOf(operator);
  await writeFile(`/proc/${operator.pid}/clear_refs`, "5");

  await describeHostile(namespace, hostile.url);
  await waitUntil(async () => (hostile.state.lists >= projects.length ? true : undefined), {
    what: "each hostile project is listed",
  });
  const slowedMs = await medianEdit(world, project, 500);
  await waitUntil(async () => (hostile.state.lists >= 3 * projects.length ? true : undefined), {
    what: "each hostile project is listed again and again",
  });
  const { most } = await memoryOf(operator);
  expect(slowedMs - usualMs).toBeLessThan(1_000);
  expect(most - before.now).toBeLessThan(60);
  const { stdout } = await adminKubectl().tryRun(["-n", namespace, "get", "cpe", "--output=yaml"]);
  expect(stdout).toContain("a body that is too long or has too many entries");
  expect(operator.exit).toBeUndefined();
});
