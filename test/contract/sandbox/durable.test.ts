/** Tests that a sandbox continues after it was stopped and started on the same directory. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type SandboxOptions, startSandbox } from "../../../src/sandbox/index.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { branches, freshSandbox, latencyMs, paid, type SandboxClient, titles } from "./sandbox-client.ts";
import { runCommand } from "./sandbox-command.ts";

const newDirectory = (): string => temporaryFolder("sandbox-data");

/** Makes every later write of an operation fail, as on a full disk. */
function refuseNewOperations(directory: string): void {
  const file = new DatabaseSync(join(directory, "sandbox.db"));
  file.exec(`CREATE TRIGGER full BEFORE INSERT ON record WHEN NEW.collection = 'operations'
    BEGIN SELECT RAISE(ABORT, 'no room'); END`);
  file.close();
}

/** Changes the stored clock, as if the sandbox had been stopped this much earlier and its clock were real. */
function stoppedEarlier(directory: string, milliseconds: number): void {
  const file = new DatabaseSync(join(directory, "sandbox.db"));
  const where = "WHERE collection = 'values' AND key = 'clock'";
  const row = file.prepare(`SELECT value FROM record ${where}`).get() as { readonly value: string };
  const anchor = JSON.parse(JSON.parse(row.value));
  const earlier = JSON.stringify({ ...anchor, mode: "real", wallMs: anchor.wallMs - milliseconds });
  file.prepare(`UPDATE record SET value = ? ${where}`).run(JSON.stringify(earlier));
  file.close();
}

const apiKey = "not-a-real-key";
const create = { body: { endpoint: { branch_id: branches.orders, type: "read_write" } } };

/**
 * Starts a sandbox on a new directory.
 * @returns a function that stops it and starts it again on that directory
 */
async function restartable(options: SandboxOptions = {}) {
  const data = newDirectory();
  let client = await freshSandbox({ data, apiKey, ...options });
  return {
    data,
    client: () => client,
    async restart(changes: SandboxOptions = { apiKey }): Promise<SandboxClient> {
      await client.sandbox.stop();
      const sandbox = await startSandbox({ operationLatencyMs: latencyMs, data, ...changes });
      onTestFinished(() => sandbox.stop());
      client = Object.assign(Object.create(Object.getPrototypeOf(client)), { sandbox });
      return client;
    },
  };
}

describe("stopped and started again on the same directory", () => {
  test("→ the same endpoints, operations and branches; work in flight ends when it would have ended", async () => {
    const { client, restart } = await restartable();
    const { body } = await client().api("POST", `${paid}/endpoints`, create);
    await client().advance(latencyMs - 1);
    const before = (await client().api("GET", `${paid}/endpoints/${body.endpoint.id}`)).body;
    const again = await restart();
    expect((await again.api("GET", `${paid}/endpoints/${body.endpoint.id}`)).body).toEqual(before);
    const operations = async () => (await again.api("GET", `${paid}/operations`)).body.operations;
    expect(titles(await operations())).toEqual(["start_compute running"]);
    expect((await again.api("POST", `${paid}/endpoints`, create)).status).toBe(423);
    await again.advance(1);
    expect(await operations()).toMatchObject([{ id: body.operations[0].id, status: "finished" }]);
    expect((await again.api("GET", `${paid}/endpoints/${body.endpoint.id}`)).body.endpoint.current_state).toBe(
      "active",
    );
  });

  test("→ its fixture, its profile and its clock's mode, whatever the defaults are", async () => {
    const { client, restart } = await restartable({ profile: "public" });
    await client().api("POST", `${paid}/endpoints`, create);
    const clock = (await client().control("GET", "/clock")).body;
    const fixture = { projects: [] };
    const again = await restart({ apiKey, fixture });
    expect((await again.control("GET", "/clock")).body).toEqual(clock);
    expect((await again.api("GET", `${paid}/endpoints`)).body.endpoints[0]).toHaveProperty("provisioner");
  });

  test("after three days off → no check that was missed is made up for; the next one comes an interval after the start", async () => {
    const settings = { apiKey, availabilityCheckIntervalMs: 60_000 };
    const { client, data, restart } = await restartable(settings);
    const checks = async () => {
      const { body } = await client().api("GET", `${paid}/operations?limit=1000`);
      return body.operations.filter(({ action }: { action: string }) => action === "check_availability").length;
    };
    await client().activeEndpoint(branches.orders, { suspend_timeout_seconds: -1 });
    await client().advance(60_000);
    expect(await checks()).toBe(1);
    await client().sandbox.stop();
    stoppedEarlier(data, 3 * 86_400_000);
    await restart({ ...settings, clock: "stepped" });
    expect(await checks()).toBe(1);
    await client().advance(60_000);
    expect(await checks()).toBe(2);
  });

  test("another profile asked for → refused", async () => {
    const { restart } = await restartable();
    await expect(restart({ apiKey, profile: "public" })).rejects.toMatchObject({ reason: "Mismatch" });
  });
});

describe("keys", () => {
  const list = (client: SandboxClient, key: string) => client.api("GET", "/projects", { key });

  test("none given at the next start → the one of before is good, also after a reset; made keys survive too", async () => {
    const { client, restart } = await restartable();
    const { key } = (await client().control("POST", "/keys", { name: "foreign" })).body;
    const again = await restart({});
    expect(again.sandbox.apiKey).toBe("");
    for (const each of [apiKey, key]) expect((await list(again, each)).status).toBe(200);
    await again.control("POST", "/reset");
    expect((await list(again, apiKey)).status).toBe(200);
    expect((await list(again, key)).status).toBe(401);
  });

  test("another one given → it replaces the one of before; a revoked key stays revoked", async () => {
    const { client, restart } = await restartable();
    const { key, id } = (await client().control("POST", "/keys", { name: "foreign" })).body;
    await client().control("DELETE", `/keys/${id}`);
    const again = await restart({ apiKey: "another-fake-key" });
    expect((await list(again, "another-fake-key")).status).toBe(200);
    for (const each of [apiKey, key]) expect((await list(again, each)).status).toBe(401);
    expect((await again.control("GET", "/keys")).body.keys).toHaveLength(1);
  });

  test("on disk → no key in any file", async () => {
    const { client, data } = await restartable();
    const { key } = (await client().control("POST", "/keys", { name: "foreign" })).body;
    const files = readdirSync(data).map((name) => readFileSync(join(data, name)));
    expect(files.length).toBeGreaterThan(0);
    for (const bytes of files) for (const each of [apiKey, key]) expect(bytes.includes(each)).toBe(false);
  });
});

describe("endpoint-operator sandbox --data", () => {
  const run = (args: readonly string[]) => runCommand(["--port", "0", ...args]);

  test("directory in use → 2, says so; key as before → says so", async () => {
    const directory = newDirectory();
    const first = run(["--data", directory]);
    await vi.waitFor(() => expect(first.written.out).toContain("API key sbx_"), { timeout: 60_000 });
    const second = run(["--data", directory]);
    expect(await second.code).toBe(2);
    expect(second.written.err).toContain(`--data: ${directory}/sandbox.db is used by another process`);
    first.stop();
    expect(await first.code).toBe(0);
    const third = run(["--data", directory]);
    await vi.waitFor(() => expect(third.written.out).toContain("API key as before"), { timeout: 60_000 });
  });

  test("directory that can no longer be written → the request gets 500, the program ends with 1 and says why; what was answered is there", async () => {
    const data = newDirectory();
    const args = ["--data", data, "--api-key", apiKey, "--clock", "stepped"];
    const urlOf = ({ written }: { written: { out: string } }) =>
      vi.waitFor(() => /http\S+v2/.exec(written.out)?.[0] ?? expect.fail(), { timeout: 60_000 });
    const first = run(args);
    await urlOf(first);
    first.stop();
    expect(await first.code).toBe(0);
    refuseNewOperations(data);
    const second = run(args);
    const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
    const project = `${await urlOf(second)}${paid}`;
    const post = (path: string, body: unknown) =>
      fetch(`${project}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    const renamed = { branch: { name: "kept" } };
    const url = `${project}/branches/${branches.orders}`;
    expect((await fetch(url, { method: "PATCH", headers, body: JSON.stringify(renamed) })).status).toBe(200);
    const answer = await post("/endpoints", create.body);
    expect(answer.status).toBe(500);
    expect(await answer.json()).toEqual({ request_id: expect.any(String), code: "", message: "internal error" });
    expect(await second.code).toBe(1);
    expect(second.written.err).toContain(`sandbox: stops, because ${data}/sandbox.db cannot be written: no room`);
    const third = run(args);
    const read = await fetch(`${await urlOf(third)}${paid}/branches/${branches.orders}`, { headers });
    expect(await read.json()).toMatchObject({ branch: { name: "kept" } });
    const left = await fetch(`${new URL(read.url).origin}/api/v2${paid}/endpoints`, { headers });
    expect(await left.json(), "nothing of the failed request").toMatchObject({
      endpoints: [{ id: "ep-quiet-dawn-123456" }],
    });
  });

  test("port in use → 2, and the directory is free again", async () => {
    const first = run([]);
    const port = await vi.waitFor(() => /:(\d+)\/api/.exec(first.written.out)?.[1] ?? expect.fail(), {
      timeout: 60_000,
    });
    const directory = newDirectory();
    const second = run(["--data", directory, "--port", port]);
    expect(await second.code).toBe(2);
    expect(second.written.err).toContain(`--port: 127.0.0.1:${port} is in use; end the program that listens there`);
    const third = run(["--data", directory]);
    await vi.waitFor(() => expect(third.written.out).toContain("listening on"), { timeout: 60_000 });
  });
});
