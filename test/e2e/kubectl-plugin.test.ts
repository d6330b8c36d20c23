/** Tests the commands of `kubectl endpoints`. */
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import type { Plan } from "../../src/kinds/endpoint/plan.ts";
import { resolveAssets } from "../../tools/assets/resolve-assets.ts";
import { readAuditEvents, serviceAccountAccess, sharedApiServer } from "../support/api-server.ts";
import { bareEnvironment, startProgram } from "../support/e2e-program.ts";
import { SandboxProcess, type TestProject } from "../support/e2e-sandbox.ts";
import { E2eWorld } from "../support/e2e-world.ts";
import { saveOutput } from "../support/outputs.ts";
import type { StoredResource } from "../support/stored-resource.ts";

let sandbox: SandboxProcess;

beforeAll(async () => {
  sandbox = await SandboxProcess.start({ profile: "public" });
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
    args: [plugin, ...args, "--namespace", world.namespace],
    env,
  });
  const { code } = await program.exited;
  saveOutput("logs", program.stdout() + program.stderr());
  return { code, out: program.stdout(), err: program.stderr() };
}

/** Starts an operator, and waits until it has made the endpoint of `orders`. */
async function readyOrders(spec: object = {}) {
  const world = await E2eWorld.start(sandbox);
  await world.startOperator();
  const project = sandbox.takeProject();
  await world.apply("orders", project, { type: "ReadWrite", ...spec });
  const { status } = await world.untilReady("orders");
  return { world, project, endpointId: status.ownership?.endpointId };
}

async function planOf(world: E2eWorld, ...args: readonly string[]): Promise<Plan> {
  const { out, err } = await endpoints(world, "plan", ...args, "--output", "json");
  expect(err).toBe("");
  return JSON.parse(out) as Plan;
}

/** Writes a manifest of `orders` with further members of spec. */
async function manifestFile({ namespace }: E2eWorld, { id, branches }: TestProject, more: object): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "endpoint-operator-plan-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = path.join(folder, "orders.json");
  const spec = { projectId: id, branchId: branches[0], type: "ReadWrite", ...more };
  const metadata = { name: "orders", namespace };
  const manifest = { apiVersion: "endpoint-operator.dev/v1alpha1", kind: "ComputeEndpoint", metadata, spec };
  await writeFile(file, JSON.stringify(manifest));
  return file;
}

/** Makes a DatabaseBranch and deletes it. @returns the id of its branch, which stays */
async function retainedBranch(world: E2eWorld, { id: projectId }: TestProject): Promise<string> {
  const { kubectl, namespace } = world;
  const metadata = { name: "spare", namespace };
  const spec = { projectId, deletionPolicy: "Retain" };
  const manifest = { apiVersion: "endpoint-operator.dev/v1alpha1", kind: "DatabaseBranch", metadata, spec };
  await kubectl.run(["apply", "-f", "-"], { stdin: JSON.stringify(manifest) });
  const spare = ["-n", namespace, "dbb/spare"];
  await kubectl.run(["wait", "--for=condition=Ready", "--timeout=60s", ...spare]);
  expect((await endpoints(world, "ops", "dbb/spare")).out).toMatch(/\nspare .*create_branch +finished/);
  expect((await endpoints(world, "plan", "dbb/spare")).out).toBe(`${namespace}/spare: Settled\n`);
  const branchId = await kubectl.run(["get", ...spare, "-o", "jsonpath={.status.branchId}"]);
  await kubectl.run(["delete", "--timeout=60s", ...spare]);
  return branchId;
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
      apiVersion: "endpoint-operator.dev/v1alpha1",
      kind: "ClusterControlPlane",
      metadata: { name },
      spec: { url, apiKeySecretRef },
    },
  ];
  await kubectl.run(["apply", "-f", "-"], { stdin: JSON.stringify({ apiVersion: "v1", kind: "List", items }) });
}

describe("kubectl endpoints", () => {
  test("a Ready resource → why says so, ops lists its operations, plan has nothing to do; nothing is written", async () => {
    const { world, project, endpointId } = await readyOrders();
    const branchId = await retainedBranch(world, project);
    const [{ sequence: before = 0 } = {}] = (await sandbox.control.requests()).slice(-1);

    const why = await endpoints(world, "why", "orders");
    expect(why).toMatchObject({ code: 0, err: "" });
    expect(why.out).toContain(`${world.namespace}/orders: Ready=True UpToDate`);
    expect((await endpoints(world, "ops", "orders")).out).toMatch(/^NAME .*\norders .*start_compute +finished/);
    expect((await endpoints(world, "ops", "-A")).out).toMatch(
      new RegExp(`^NAMESPACE +NAME .*\n(.*\n)*${world.namespace} +orders `),
    );
    expect(await planOf(world, "orders")).toMatchObject({ kind: "Settled" });
    const foreign = await sandbox.control.createForeign(project.id, project.branches[1]);
    const orphans = await endpoints(world, "orphans", "--project", project.id);
    expect(orphans.out).toContain(foreign);
    expect(orphans.out).not.toContain(endpointId);
    expect((await endpoints(world, "orphans", "--project", project.id)).out).toContain(branchId);
    const adopt = await endpoints(world, "adopt", "--all", "--project", project.id);
    expect((await endpoints(world, "adopt", "--all", "--observe", "--project", project.id)).out).toContain(
      "management: Observe",
    );
    const usage = await endpoints(world, "usage", "orders");
    expect(usage).toMatchObject({ code: 0, err: "" });
    expect(usage.out).toContain(`\n${world.namespace}/ total `);
    const elsewhere = { CONTROL_PLANE_URL: "http://127.0.0.1:9/api/v2" };
    const refused = await endpointsWith(elsewhere, world, ["plan", "orders"]);
    expect(refused.code).toBe(1);
    expect(refused.err).toContain(`but the control plane that made status is at ${sandbox.url}.`);
    const items = (parse(adopt.out) as { items: readonly { spec: object }[] }).items.map(({ spec }) => spec);
    expect(items).toEqual([
      {
        projectId: project.id,
        branchId: project.branches[1],
        type: "ReadWrite",
        compute: { minUnits: 0.25, maxUnits: 0.25 },
        suspend: { mode: "ServiceDefault" },
        adoption: { policy: "AdoptOnly", endpointId: foreign },
        deletionPolicy: "Retain",
      },
    ]);

    const written = (await sandbox.control.requests(before)).filter(({ method }) => method !== "GET");
    expect(written.map(({ path: at }) => at)).toEqual([`/api/v2/projects/${project.id}/endpoints`]);
    const own = await readAuditEvents((event) => event.userAgent?.startsWith("kubectl-endpoints/") ?? false);
    expect(own.length).toBeGreaterThan(4);
    expect([...new Set(own.map(({ verb }) => verb))].sort()).toEqual(["get", "list"]);

    await world.kubectl.run(["apply", "-f", "-"], { stdin: adopt.out });
    const { ownership } = (await world.untilReady(foreign)).status;
    expect(ownership).toMatchObject({ endpointId: foreign, origin: "Adopted" });
  });

  test("a file with another size → plan names the change that the operator then sends", async () => {
    const { world, project, endpointId } = await readyOrders({ compute: { minUnits: 0.25, maxUnits: 1 } });
    const compute = { minUnits: 0.5, maxUnits: 2 };
    const file = await manifestFile(world, project, { compute });
    const change = { kind: "UpdateEndpoint", endpointId, changes: compute, restarts: true };
    expect(await planOf(world, "-f", file)).toMatchObject(change);
    const [{ sequence: before = 0 } = {}] = (await sandbox.control.requests()).slice(-1);
    const typo = await manifestFile(world, project, { comput: compute });
    const moved = await manifestFile(world, sandbox.takeProject(), {});
    await writeFile(path.join(path.dirname(file), "broken.yaml"), "a: [b");
    const several = await endpoints(world, "plan", "-f", typo, "-f", moved, "-f", path.dirname(file));
    expect(several.code).toBe(1);
    expect(several.err).toMatch(/broken\.yaml: not YAML: /);
    expect(several.err).toMatch(/\norders: .*unknown field "spec.comput"\norders: .*projectId cannot be changed/);
    expect(several.out).toContain(`${world.namespace}/orders: UpdateEndpoint ${endpointId} {`);
    expect(several.out).toContain("the compute restarts and drops its connections");
    await world.kubectl.run(["apply", "-f", file]);
    await world.untilReady("orders");
    const sent = (await sandbox.control.requests(before)).filter(({ method }) => method !== "GET");
    expect(sent.map(({ method, path: at }) => `${method} ${at.split("/").at(-1)}`)).toEqual([`PATCH ${endpointId}`]);
    expect((await planOf(world, "-f", file)).kind).toBe("Settled");

    const fresh = sandbox.takeProject();
    const spec = { projectId: fresh.id, branchId: fresh.branches[1], type: "ReadWrite" };
    const items = ["one", "two"].map((name) => ({
      apiVersion: "endpoint-operator.dev/v1alpha1",
      kind: "ComputeEndpoint",
      metadata: { name },
      spec,
    }));
    await writeFile(typo, JSON.stringify({ kind: "List", items }));
    const both = JSON.parse((await endpoints(world, "plan", "-f", typo, "-o", "json")).out) as readonly Plan[];
    expect(both.map(({ kind }) => kind).sort(), "one branch has one read-write endpoint").toEqual([
      "CreateEndpoint",
      "Stall",
    ]);
  });

  test("the words of a command line → kubectl completes commands, names, options, formats and files", async () => {
    const { world } = await readyOrders();
    const folder = await mkdtemp(path.join(tmpdir(), "endpoint-operator-path-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const bundle = path.dirname(inject("bundledProgram"));
    const { kubectl } = await resolveAssets(["kubectl"]);
    await symlink(path.join(bundle, "kubectl-endpoints.js"), path.join(folder, "kubectl-endpoints"));
    await symlink(path.join(bundle, "kubectl_complete-endpoints"), path.join(folder, "kubectl_complete-endpoints"));
    await symlink(kubectl, path.join(folder, "kubectl"));
    const PATH = [folder, path.dirname(process.execPath), bareEnvironment.PATH].join(":");
    const env = { ...bareEnvironment, PATH, HOME: folder, KUBECONFIG: sharedApiServer().kubeconfigFile };
    async function completed(...words: readonly string[]): Promise<readonly string[]> {
      const program = await startProgram({ command: kubectl, args: ["__complete", "endpoints", ...words], env });
      await program.exited;
      return program.stdout().trim().split("\n");
    }
    expect(await completed("")).toEqual(
      expect.arrayContaining(["why", "ops", "plan", "orphans", "adopt", "wake", ":4"]),
    );
    expect(await completed("why", "-n", world.namespace, "")).toEqual(["orders", ":4"]);
    expect(await completed("why", "-n", "")).toContain(world.namespace);
    expect(await completed("plan", "--f")).toContain("--filename");
    expect(await completed("adopt", "--output", "")).toEqual(["yaml", "json", ":4"]);
    expect(await completed("plan", "-f", "")).toEqual([":0"]);
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
    expect(refused.code).toBe(1);
    expect(refused.err).toContain(`CONTROL_PLANE_URL is ${sandbox.url}, but ClusterControlPlane ${name} is at`);
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

  test("a user who may only read the namespace → the same plan, and notes say what it does not know", async () => {
    const { world, project } = await readyOrders();
    const inNamespace = (...args: readonly string[]) => world.kubectl.run(["-n", world.namespace, ...args]);
    await inNamespace("create", "serviceaccount", "reader");
    const cpe = "computeendpoints.endpoint-operator.dev";
    await inNamespace("create", "role", "reader", "--verb=get,list", `--resource=${cpe}`);
    await inNamespace("create", "rolebinding", "reader", "--role=reader", `--serviceaccount=${world.namespace}:reader`);
    const { kubeconfigFile: KUBECONFIG } = await serviceAccountAccess(world.namespace, "reader");
    const { metadata } = await world.kubectl.getJson<StoredResource>(["get", "namespace", "kube-system"]);
    const reader = { KUBECONFIG, CLUSTER_ID: metadata.uid };
    const notes = [
      "You may not read Namespaces: the plan uses the grant that status shows.",
      "You may not list ComputeEndpoints of other namespaces: one of them may own the endpoint.",
    ];
    const stored = await endpointsWith(reader, world, ["plan", "orders", "-o", "json"]);
    expect(stored).toMatchObject({ code: 0, err: "" });
    expect(JSON.parse(stored.out)).toMatchObject({ kind: "Settled", notes });
    const file = await manifestFile(world, project, { compute: { minUnits: 0.5, maxUnits: 2 } });
    const planned = await endpointsWith(reader, world, ["plan", "-f", file]);
    expect(planned).toMatchObject({ code: 3, err: expect.stringContaining("the API server has not checked it") });
    expect(planned.out).toContain("/orders: UpdateEndpoint ");
    const unnamed = await endpointsWith({ KUBECONFIG }, world, ["plan", "orders"]);
    expect(unnamed).toMatchObject({ code: 1, err: expect.stringContaining("kube-system") });
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
    expect(why.out).toContain("To take it over, add to spec");
    expect(await planOf(world, "orders")).toMatchObject({ kind: "Stall", reason: "EndpointExists" });

    await world.apply("lost", project, { type: "ReadWrite", branchId: "br-missing" });
    await world.untilReadyReason("lost", "Retrying");
    expect(await planOf(world, "lost")).toMatchObject({ kind: "Wait", reason: "CreateUnresolved" });
    const config = ["--kubeconfig", sharedApiServer().kubeconfigFile];
    const all = await endpointsWith({ KUBECONFIG: "" }, world, ["why", ...config]);
    expect(all.code).toBe(4);
    expect(all.out).toContain(`${world.namespace}/lost: Ready=False`);
    expect(all.out).toContain(`${world.namespace}/orders: Ready=False EndpointExists`);
    await world.kubectl.run(["-n", world.namespace, "label", "cpe", "lost", "app=lost"]);
    const labelled = await endpoints(world, "why", "-A", "-l", "app=lost", "-o", "json");
    expect(JSON.parse(labelled.out)).toMatchObject({ resource: `${world.namespace}/lost`, reason: "Retrying" });
    const name = await world.kubectl.run(["-n", world.namespace, "get", "cpe", "lost", "-o", "name"]);
    expect((await endpoints(world, "why", name.trim())).out).toContain(`${world.namespace}/lost: `);
    expect(await endpoints(world, "why", "--context", "nowhere")).toMatchObject({ code: 1, out: "" });

    const partly = await endpoints(world, "orphans", "--project", "no-such-1", "--project", project.id);
    expect(partly).toMatchObject({ code: 1, err: expect.stringContaining("no-such-1: ") });
    expect(partly.out).toContain(project.id);
  });

  test("suspend and wake with --wait → the operator does it, also after the lock of the project", async () => {
    const { world, project } = await readyOrders();
    const stateNow = async () => (await sandbox.control.endpoints(project.id))[0]?.current_state;
    expect(await endpoints(world, "suspend", "orders", "--wait")).toMatchObject({ code: 0, err: "" });
    expect(await stateNow()).toBe("idle");
    const start = `/api/v2/projects/${project.id}/endpoints/*/start`;
    await sandbox.control.fault({ method: "POST", path: start, times: 2 }, { kind: "status", status: 423 });
    const wake = await endpoints(world, "wake", "orders", "--wait");
    expect(wake).toMatchObject({ code: 0, err: "", out: expect.stringContaining("/orders: Ready=True UpToDate") });
    expect(await stateNow()).toBe("active");
    await world.annotate("orders", "paused", "true");
    await world.untilReadyReason("orders", "Paused");
    expect((await endpoints(world, "wake", "orders", "--wait")).code).toBe(4);
    await world.apply("orders", project, { type: "ReadWrite", disabled: true });
    const disabled = await endpoints(world, "wake", "orders", "--wait");
    expect(disabled).toMatchObject({ code: 1, err: expect.stringContaining("spec.disabled is true") });
    await world.apply("orders", project, { type: "ReadWrite", management: "Observe" });
    for (const command of ["wake", "suspend"]) {
      const observed = await endpoints(world, command, "orders", "--wait");
      expect(observed).toMatchObject({ code: 1, err: expect.stringContaining("spec.management is Observe") });
    }
    expect(await endpoints(world, "wake", "nothing")).toMatchObject({ code: 1, out: "" });
  });

  test.each([
    ["an unknown name", ["why", "nothing"], 1, "nothing"],
    ["a name and a file", ["plan", "orders", "-f", "-"], 2, "error: name cannot be provided when a path is specified"],
    [
      "a name and a selector",
      ["why", "orders", "-l", "a=b"],
      2,
      "name cannot be provided when a selector is specified",
    ],
    ["a name and -A", ["ops", "orders", "-A"], 2, "cannot be retrieved by name across all namespaces"],
    ["a file and -A", ["plan", "-f", "-", "-A"], 2, "cannot be used with option '-f, --filename <file>'"],
    ["a file that does not exist", ["plan", "-f", "/nowhere.yaml"], 1, "/nowhere.yaml: "],
    ["a wrong format", ["why", "-o", "wide"], 2, "Allowed choices are table, json"],
    ["no name where one is needed", ["wake"], 2, "missing required argument"],
    ["nothing in the namespace", ["why"], 0, "No ComputeEndpoints found."],
  ] as const)("%s → an exit code and words", async (_name, args, code, words) => {
    const world = await E2eWorld.start(sandbox);
    expect(await endpoints(world, ...args)).toMatchObject({ code, err: expect.stringContaining(words) });
  });

  test("the program without Node on PATH → one line says what it needs", async () => {
    const command = path.join(path.dirname(inject("bundledProgram")), "kubectl-endpoints.js");
    const program = await startProgram({ command, args: ["why"], env: { PATH: "/nowhere" } });
    expect(await program.exited).toMatchObject({ code: 1 });
    expect(program.stderr()).toBe("kubectl endpoints needs Node 22.19 or later on PATH.\n");
    const withNode = { PATH: `${path.dirname(process.execPath)}:${bareEnvironment.PATH}` };
    const found = await startProgram({ command, args: ["--help"], env: withNode });
    expect(await found.exited).toMatchObject({ code: 0 });
    expect(found.stdout()).toContain("Usage: kubectl-endpoints");
  });

  test("a missing setting → the words of the operator's settings", async () => {
    const world = await E2eWorld.start(sandbox);
    const refused = await endpointsWith({ CONTROL_PLANE_URL: "" }, world, ["orphans"]);
    expect(refused).toMatchObject({
      code: 1,
      err: expect.stringContaining("CONTROL_PLANE_URL is not set; it must be"),
    });
  });
});
