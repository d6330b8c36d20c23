/** Tests spec.disruption with real connections: real PostgreSQL behind the sandbox, and a real API server. */
import { readFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { conditionOf } from "../../src/resource/conditions.ts";
import { adminKubectl } from "../support/api-server.ts";
import type { StoredResource } from "../support/stored-resource.ts";
import { branches, project, startWorld, type World } from "../support/world.ts";

const orders = { branchId: branches.orders, type: "ReadWrite" } as const;
const small = { minUnits: 0.25, maxUnits: 0.25 };
const large = { minUnits: 1, maxUnits: 1 };
/** One minute of the sandbox is half a second. */
const timeScale = 120;
const suspend = { mode: "After", afterSeconds: 60 } as const;

/** Twenty minutes of office time: an application connects, writes for a minute and leaves, four times. */
const visits = 4;
const visitMs = 500;
const pauseMs = 2_500;

const pendingReason = ({ status }: StoredResource) => conditionOf(status.conditions, "ChangePending")?.reason;
const isSize = (units: number) => (resource: StoredResource) => resource.status.compute?.minUnits === units;

async function uriOf(world: World): Promise<string> {
  const endpointId = (await world.untilReady("orders")).status.ownership?.endpointId ?? "";
  const query = new URLSearchParams({
    endpoint_id: endpointId,
    branch_id: branches.orders,
    database_name: "neondb",
    role_name: "neondb_owner",
  });
  const { uri } = await world.sandbox.api<{ uri: string }>("GET", `/projects/${project}/connection_uri?${query}`);
  return uri.replace("sslmode=require", "sslmode=no-verify");
}

/** An application with one connection. It counts the connections that the server ended. */
class Application {
  readonly #uri: string;
  #client: pg.Client | undefined;
  losses = 0;

  constructor(uri: string) {
    this.#uri = uri;
    onTestFinished(() => this.leave());
  }

  async connect(): Promise<void> {
    const client = new pg.Client({ connectionString: this.#uri });
    client.on("error", () => {
      if (this.#client !== client) return;
      this.losses += 1;
      this.#client = undefined;
    });
    await client.connect();
    this.#client = client;
    await client.query("CREATE TABLE IF NOT EXISTS notes (at timestamptz DEFAULT now())");
  }

  get isConnected(): boolean {
    return this.#client !== undefined;
  }

  async write(): Promise<void> {
    await this.#client?.query("INSERT INTO notes DEFAULT VALUES");
  }

  async leave(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await client?.end();
  }
}

test("a new size WhenIdle, and an application that comes and goes → it loses no connection, and each new size is sent", async () => {
  const world = await startWorld({
    sandbox: { profile: "public", compute: { port: 0 }, timeScale, operationLatencyMs: 0 },
  });
  const disruption = { when: "WhenIdle" };
  await world.apply("orders", { ...orders, compute: small, suspend, disruption });
  const application = new Application(await uriOf(world));
  let written = 0;
  for (let visit = 0; visit < visits; visit += 1) {
    await application.connect();
    // The size changes at every second visit.
    const changed = [undefined, large, undefined, small][visit];
    if (changed) await world.apply("orders", { ...orders, compute: changed, suspend, disruption });
    for (const endMs = performance.now() + visitMs; performance.now() < endMs; written += 1) {
      await application.write();
      await setTimeout(20);
    }
    if (changed)
      await world.until("orders", "the size waits", (resource) => pendingReason(resource) === "WaitingForIdle");
    expect(application.isConnected, `visit ${visit}`).toBe(true);
    await application.leave();
    await setTimeout(pauseMs);
    if (changed) await world.until("orders", "the new size", isSize(changed.minUnits));
  }
  const { status } = await world.untilReady("orders");
  expect(application.losses).toBe(0);
  expect(written).toBeGreaterThan(visits);
  const sizesSent = (await world.sandbox.requests()).filter(
    ({ method, path }) => method === "PATCH" && path.includes("/endpoints/"),
  );
  expect(sizesSent).toHaveLength(visits / 2);
  expect(status.pendingChange).toBeUndefined();
  await world.untilEventsWith("orders", "ChangeHeld", "ChangeSent");
});

test("the sample policy → only the group of approvers may approve a change, or end the need for approval", async () => {
  const world = await startWorld();
  await world.apply("orders", { ...orders, compute: small, disruption: { approval: "Required" } });
  const text = await readFile(new URL("../../deploy/samples/approve-change-policy.yaml", import.meta.url), "utf8");
  const [policy, binding] = parseAllDocuments(text).map((document) => document.toJS());
  const name = `${world.namespace}.example`;
  const only = { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": world.namespace } } };
  const items = [
    { ...policy, metadata: { name } },
    { ...binding, metadata: { name }, spec: { ...binding.spec, policyName: name, matchResources: only } },
  ];
  onTestFinished(async () => {
    for (const { kind } of items) await adminKubectl().run(["delete", kind, name]);
  });
  await adminKubectl().run(["apply", "-f", "-"], { stdin: JSON.stringify({ apiVersion: "v1", kind: "List", items }) });

  const groupsOf = (groups: readonly string[]) => ["system:masters", ...groups].map((group) => `--as-group=${group}`);
  const as = (groups: readonly string[]) => ["--as=dana", ...groupsOf(groups)];
  const [editor, approver] = [as([]), as(["database-approvers"])];
  const words = "annotate --overwrite cpe orders endpoint-operator.dev/approve-change=3f9a";
  const approve = ["-n", world.namespace, ...words.split(" ")];
  const dryRun = "--dry-run=server";
  // The API server takes a moment to enforce a new policy.
  await expect
    .poll(async () => (await adminKubectl().tryRun([...approve, dryRun, ...editor])).stderr)
    .toContain("may approve a change");
  const patch = ["-n", world.namespace, "patch", "cpe", "orders", "--type=merge", dryRun, "-p"];
  const withoutApproval = [...patch, '{"spec":{"disruption":{"approval":null}}}'];
  expect((await adminKubectl().tryRun([...withoutApproval, ...editor])).stderr).toContain("spec.disruption.approval");
  const scheduled = '{"spec":{"schedules":[{"name":"now","schedule":"* * * * *","durationSeconds":900}]}}';
  expect((await adminKubectl().tryRun([...patch, scheduled, ...editor])).stderr).toContain("may change spec.schedules");
  expect((await adminKubectl().tryRun([...patch, '{"spec":{"disabled":false}}', ...editor])).code).toBe(0);
  expect((await adminKubectl().tryRun([...withoutApproval, ...approver])).code).toBe(0);
  expect((await adminKubectl().tryRun([...approve, dryRun, ...approver])).code).toBe(0);
});
