/** Tests the commands of `kubectl endpoints`. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import type { Plan } from "../../src/kinds/endpoint/plan.ts";
import { readAuditEvents, sharedApiServer } from "../support/api-server.ts";
import { bareEnvironment, startProgram } from "../support/e2e-program.ts";
import { SandboxProcess } from "../support/e2e-sandbox.ts";
import { E2eWorld } from "../support/e2e-world.ts";
import { saveOutput } from "../support/outputs.ts";
import { waitUntil } from "../support/wait-until.ts";

let sandbox: SandboxProcess;

beforeAll(async () => {
  sandbox = await SandboxProcess.start();
});

afterAll(() => sandbox?.stop());

/** Runs the plugin as kubectl does, with the user's kubeconfig. */
function endpoints(world: E2eWorld, ...args: readonly string[]) {
  return endpointsWith({}, world, args);
}

async function endpointsWith(settings: NodeJS.ProcessEnv, world: E2eWorld, args: readonly string[]) {
  const plugin = path.join(path.dirname(inject("bundledProgram")), "kubectl-endpoints.js");
  const env = {
    ...bareEnvironment,
    KUBECONFIG: sharedApiServer().kubeconfigFile,
    CONTROL_PLANE_URL: sandbox.url,
    CONTROL_PLANE_API_KEY: sandbox.apiKey,
    ...settings,
  };
  const program = await startProgram({
    command: process.execPath,
    args: [plugin, ...args, ...(args[0] === "orphans" ? [] : ["--namespace", world.namespace])],
    env,
  });
  const { code } = await program.exited;
  saveOutput("logs", program.stdout() + program.stderr());
  return { code, out: program.stdout(), err: program.stderr() };
}

async function planOf(world: E2eWorld, ...args: readonly string[]): Promise<Plan> {
  const { out, err } = await endpoints(world, "plan", ...args, "--output", "json");
  expect(err).toBe("");
  return JSON.parse(out) as Plan;
}

/**
 * Writes the manifest of `orders` on the first branch of a project.
 * @param lines further lines of its spec
 */
async function manifestFile(
  world: E2eWorld,
  project: { readonly id: string; readonly branches: readonly string[] },
  lines: readonly string[],
): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "endpoint-operator-plan-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = path.join(folder, "orders.yaml");
  const all = [...lines, "type: ReadWrite", `projectId: ${project.id}`, `branchId: ${project.branches[0]}`];
  const head = "apiVersion: endpoint-operator.dev/v1alpha1\nkind: ComputeEndpoint";
  const metadata = `metadata: { name: orders, namespace: ${world.namespace} }`;
  await writeFile(file, `${head}\n${metadata}\nspec:\n${all.map((line) => `  ${line}`).join("\n")}\n`);
  return file;
}

/** Makes a ClusterControlPlane of a sandbox, with its key in a Secret that the operator may read. */
async function applyPlane({ kubectl, namespace }: E2eWorld, name: string, { url, apiKey }: SandboxProcess) {
  await kubectl.run([
    ...["create", "rolebinding", "endpoint-operator-secrets", `--namespace=${namespace}`],
    "--clusterrole=endpoint-operator-secrets",
    "--serviceaccount=endpoint-operator-system:endpoint-operator",
  ]);
  const stringData = { "api-key": apiKey };
  const apiKeySecretRef = { namespace, name: "other-key", key: "api-key" };
  const items = [
    { apiVersion: "v1", kind: "Secret", metadata: { name: "other-key", namespace }, stringData },
    {
      ...{ apiVersion: "endpoint-operator.dev/v1alpha1", kind: "ClusterControlPlane", metadata: { name } },
      spec: { url, apiKeySecretRef },
    },
  ];
  await kubectl.run(["apply", "-f", "-"], { stdin: JSON.stringify({ apiVersion: "v1", kind: "List", items }) });
}

describe("kubectl endpoints", () => {
  test("a Ready resource → why says so, ops lists its operations, plan has nothing to do; nothing is written", async () => {
    const world = await E2eWorld.start(sandbox);
    await world.startOperator();
    const project = sandbox.takeProject();
    await world.apply("orders", project, { type: "ReadWrite" });
    const { status } = await world.untilReady("orders");
    const [{ sequence: before = 0 } = {}] = (await sandbox.control.requests()).slice(-1);

    const why = await endpoints(world, "why", "orders");
    expect(why).toMatchObject({ code: 0, err: "" });
    expect(why.out).toContain(`${world.namespace}/orders: Ready=True UpToDate`);
    expect((await endpoints(world, "ops", "orders")).out).toMatch(/start_compute +finished/);
    expect(await planOf(world, "orders")).toMatchObject({ kind: "Settled" });
    const foreign = await sandbox.control.createForeign(project.id, project.branches[1]);
    const orphans = await endpoints(world, "orphans", "--project", project.id);
    expect(orphans.out).toContain(foreign);
    expect(orphans.out).not.toContain(status.ownership?.endpointId);
    const adopt = await endpoints(world, "adopt", "--all", "--project", project.id);
    const elsewhere = { CONTROL_PLANE_URL: "http://127.0.0.1:9/api/v2" };
    const refused = await endpointsWith(elsewhere, world, ["plan", "orders"]);
    expect(refused).toMatchObject({ code: 1, out: "" });
    expect(refused.err).toContain(`the operator works on ${world.namespace}/orders at ${sandbox.url}.`);
    const manifests = JSON.parse(adopt.out) as { items: readonly { spec: { adoption: { endpointId: string } } }[] };
    expect(manifests.items.map(({ spec }) => spec.adoption.endpointId)).toEqual([foreign]);

    const written = (await sandbox.control.requests(before)).filter(({ method }) => method !== "GET");
    expect(written.map(({ path: at }) => at)).toEqual([`/api/v2/projects/${project.id}/endpoints`]);
    const own = await readAuditEvents((event) => event.userAgent?.startsWith("kubectl-endpoints/") ?? false);
    expect(own.length).toBeGreaterThan(4);
    expect([...new Set(own.map(({ verb }) => verb))].sort()).toEqual(["get", "list"]);

    await world.kubectl.run(["apply", "-f", "-"], { stdin: adopt.out });
    expect((await world.untilReady(foreign)).status.ownership).toMatchObject({
      endpointId: foreign,
      origin: "Adopted",
    });
  });

  test("a file with another size → plan names the change that the operator then sends", async () => {
    const world = await E2eWorld.start(sandbox);
    await world.startOperator();
    const project = sandbox.takeProject();
    await world.apply("orders", project, { type: "ReadWrite", compute: { minUnits: 0.25, maxUnits: 1 } });
    const { status } = await world.untilReady("orders");
    const file = await manifestFile(world, project, ["compute: { minUnits: 0.5, maxUnits: 2 }"]);

    const plan = await planOf(world, "-f", file);
    expect(plan).toMatchObject({
      kind: "UpdateEndpoint",
      endpointId: status.ownership?.endpointId,
      changes: { minUnits: 0.5, maxUnits: 2 },
      restarts: true,
    });
    const [{ sequence: before = 0 } = {}] = (await sandbox.control.requests()).slice(-1);
    await world.kubectl.run(["apply", "-f", file]);
    await waitUntil(
      async () => ((await sandbox.control.endpoints(project.id))[0]?.autoscaling_limit_max_cu === 2 ? true : undefined),
      {
        what: "the operator has sent the change",
      },
    );
    const sent = (await sandbox.control.requests(before)).filter(({ method }) => method !== "GET");
    expect(sent.map(({ method, path: at }) => `${method} ${at.split("/").at(-1)}`)).toEqual([
      `PATCH ${status.ownership?.endpointId}`,
    ]);
    await world.untilReady("orders");
    expect((await planOf(world, "-f", file)).kind).toBe("Settled");
  });

  test("a namespace without a grant → plan -f stalls as the operator then does; with the grant both create", async () => {
    const world = await E2eWorld.start(sandbox);
    const settings = { PROJECT_GRANTS: "Required" };
    await world.startOperator(settings);
    const project = sandbox.takeProject();
    const file = await manifestFile(world, project, []);
    const plan = async () => {
      const { out, err } = await endpointsWith(settings, world, ["plan", "-f", file, "--output", "json"]);
      expect(err).toBe("");
      return JSON.parse(out) as Plan;
    };
    expect(await plan()).toMatchObject({ kind: "Stall", reason: "ProjectNotGranted", isGrantAssumed: false });
    await world.kubectl.run(["apply", "-f", file]);
    await world.untilStalled("orders", "ProjectNotGranted");
    await world.delete("orders");
    const grant = `endpoint-operator.dev/projects=${project.id}`;
    await world.kubectl.run(["annotate", "namespace", world.namespace, grant]);
    onTestFinished(async () => {
      await world.kubectl.run(["annotate", "namespace", world.namespace, "endpoint-operator.dev/projects-"]);
    });
    expect(await plan()).toMatchObject({ kind: "CreateEndpoint" });
    await world.kubectl.run(["apply", "-f", file]);
    await world.untilReady("orders");
    expect(await plan()).toMatchObject({ kind: "Settled" });
    const own = await readAuditEvents((event) => event.userAgent?.startsWith("kubectl-endpoints/") ?? false);
    const plans = own.filter(({ objectRef }) => objectRef?.resource === "namespaces");
    expect(plans.length).toBeGreaterThan(0);
    expect([...new Set(plans.map(({ verb }) => verb))].sort()).toEqual(["get", "list"]);
  });

  test("a resource of another control plane → plan needs its URL, adopt names it, orphans and why know it", async () => {
    const world = await E2eWorld.start(sandbox);
    await world.startOperator();
    const other = await SandboxProcess.start();
    onTestFinished(() => other.stop());
    const name = `other-${world.namespace}`;
    await applyPlane(world, name, other);
    const project = other.takeProject();
    const controlPlaneRef = { kind: "ClusterControlPlane", name };
    await world.apply("orders", project, { type: "ReadWrite", controlPlaneRef });
    const { status } = await world.untilReady("orders");

    const refused = await endpoints(world, "plan", "orders");
    expect(refused).toMatchObject({ code: 1, out: "" });
    expect(refused.err).toContain(`CONTROL_PLANE_URL is ${sandbox.url}, but the url of ClusterControlPlane ${name} is`);
    const there = { CONTROL_PLANE_URL: other.url, CONTROL_PLANE_API_KEY: other.apiKey };
    expect(await endpointsWith(there, world, ["plan", "orders"])).toMatchObject({ code: 0, err: "" });

    const foreign = await other.control.createForeign(project.id, project.branches[1]);
    const plane = ["--control-plane", `ccpl/${name}`];
    const orphans = await endpointsWith(there, world, ["orphans", ...plane]);
    expect(orphans).toMatchObject({ code: 0, err: "" });
    expect(orphans.out).toContain(foreign);
    expect(orphans.out).not.toContain(status.ownership?.endpointId);
    const adopt = ["adopt", "--all", "--project", project.id, ...plane];
    expect((await endpoints(world, ...adopt)).err).toContain("CONTROL_PLANE_URL is");
    const { out } = await endpointsWith(there, world, adopt);
    await world.kubectl.run(["apply", "-f", "-"], { stdin: out });
    expect((await world.untilReady(foreign)).status.ownership).toMatchObject({ serviceUrl: other.url });

    const why = await endpoints(world, "why", `ccpl/${name}`);
    expect(why).toMatchObject({ code: 0, err: "" });
    expect(why.out).toContain(`${name}: Ready=True KeyAccepted`);
    await world.kubectl.run(["-n", world.namespace, "delete", "cpe", "--all", "--timeout=100s"]);
    await world.kubectl.run(["delete", "clustercontrolplane", name, "--timeout=100s"]);
  });

  test("a Stalled resource → why has exit code 4 and the next step; plan stalls with the same reason", async () => {
    const world = await E2eWorld.start(sandbox);
    await world.startOperator();
    const project = sandbox.takeProject();
    await sandbox.control.createForeign(project.id, project.branches[0]);
    await world.apply("orders", project, { type: "ReadWrite" });
    await world.untilStalled("orders", "EndpointExists");
    const why = await endpoints(world, "why", "orders");
    expect(why.code).toBe(4);
    expect(why.out).toContain("next: Add the lines that the message names to spec");
    expect(await planOf(world, "orders")).toMatchObject({ kind: "Stall", reason: "EndpointExists" });
  });

  test("suspend, then wake → the compute sleeps and starts", async () => {
    const world = await E2eWorld.start(sandbox);
    await world.startOperator();
    const project = sandbox.takeProject();
    await world.apply("orders", project, { type: "ReadWrite" });
    await world.untilReady("orders");
    await sandbox.control.untilUnlocked(project.id);
    const untilState = (state: string) =>
      waitUntil(
        async () => ((await sandbox.control.endpoints(project.id))[0]?.current_state === state ? true : undefined),
        {
          what: `the compute is ${state}`,
        },
      );
    await untilState("active");
    expect(await endpoints(world, "suspend", "orders")).toMatchObject({ code: 0, err: "" });
    await untilState("idle");
    await sandbox.control.untilUnlocked(project.id);
    expect(await endpoints(world, "wake", "orders")).toMatchObject({ code: 0, err: "" });
    await untilState("active");
  });

  test("an unknown name, a missing setting, a wrong option → exit codes 1, 1 and 2, each with words", async () => {
    const world = await E2eWorld.start(sandbox);
    expect(await endpoints(world, "why", "nothing")).toMatchObject({
      code: 1,
      err: expect.stringContaining("nothing"),
    });
    expect(await endpoints(world, "plan")).toMatchObject({ code: 1, err: expect.stringContaining("-f") });
    expect(await endpoints(world, "why")).toMatchObject({
      code: 2,
      err: expect.stringContaining("missing required argument"),
    });
  });
});
