/** Tests that snapshots export and restore the whole state of a sandbox. */
import { describe, expect, test } from "vitest";
import { branches, freshSandbox, latencyMs, paid, type SandboxClient, titles } from "./sandbox-client.ts";

// biome-ignore lint/suspicious/noExplicitAny: tests break snapshots in ways that no type allows
type Snapshot = any;

async function take(client: SandboxClient): Promise<Snapshot> {
  const { status, body } = await client.control("GET", "/snapshot");
  expect(status).toBe(200);
  return body;
}

async function visible(client: SandboxClient): Promise<unknown[]> {
  const paths = ["/projects", `${paid}/branches`, `${paid}/endpoints`, `${paid}/operations`];
  return Promise.all(paths.map(async (path) => (await client.api("GET", path)).body));
}

describe("snapshot", () => {
  test("put back → everything as it was, and what was under way goes on", async () => {
    const client = await freshSandbox();
    await client.idleEndpoint(branches.staging);
    const { body } = await client.api("POST", `${paid}/branches`, { body: { endpoints: [{ type: "read_write" }] } });
    const before = await visible(client);
    const snapshot = await take(client);
    await client.advance(60_000);
    await client.api("DELETE", paid);
    expect((await client.control("PUT", "/snapshot", snapshot)).body).toEqual({});
    // Time has not gone back, so everything that was due by now has ended.
    const endpoint = await client.api("GET", `${paid}/endpoints/${body.endpoints[0].id}`);
    expect(endpoint.body.endpoint.current_state).toBe("active");
    expect((await visible(client)).slice(0, 1)).toEqual(before.slice(0, 1));
    const other = await freshSandbox();
    await other.control("PUT", "/clock", { now: (await client.control("GET", "/clock")).body.now });
    expect((await other.control("PUT", "/snapshot", snapshot)).status).toBe(200);
    expect(await visible(other)).toEqual(await visible(client));
  });

  test("put into another sandbox → its keys are there; the own key still works", async () => {
    const client = await freshSandbox();
    await client.activeEndpoint(branches.orders);
    await client.control("POST", "/keys", { name: "ci", scope: { access: "read" } });
    const snapshot = await take(client);
    const other = await freshSandbox({ apiKey: "not-a-real-key" });
    expect((await other.control("PUT", "/snapshot", snapshot)).status).toBe(200);
    const { keys } = (await other.control("GET", "/keys")).body;
    expect(keys.map(({ name }: { name: string }) => name)).toEqual(["default", "ci", "default"]);
    expect((await other.api("POST", `${paid}/branches`)).status).toBe(201);
  });

  test("of a sandbox that is three days ahead → time follows it, and no check is made up for on the way", async () => {
    const checked = { availabilityCheckIntervalMs: 60_000 };
    const [ahead, behind] = [await freshSandbox(checked), await freshSandbox(checked)];
    await ahead.activeEndpoint(branches.orders, { suspend_timeout_seconds: -1 });
    const snapshot = await take(ahead);
    snapshot.content.projects[0].updatedMs += 3 * 86_400_000;
    expect((await behind.control("PUT", "/snapshot", snapshot)).body).toEqual({});
    const { body } = await behind.api("GET", `${paid}/operations?limit=1000`);
    expect(titles(body.operations)).toEqual(["start_compute finished"]);
  });

  test.each<[string, (snapshot: Snapshot) => void]>([
    ["another profile", (snapshot) => (snapshot.profile = "public")],
    ["a time far ahead", ({ content }) => (content.endpoints[0].updatedMs = Date.UTC(2100, 0))],
    ["an operation without end", ({ content }) => (content.operations[0].endsAtMs = Date.UTC(9999, 0))],
    ["an activity far ahead", ({ content }) => (content.endpoints[0].lastActiveMs = Date.UTC(9999, 0))],
    ["a counter that is full", ({ content }) => (content.counters.sequence = Number.MAX_SAFE_INTEGER)],
  ])("%s → 400, and nothing changes", async (_what, breakIt) => {
    const client = await freshSandbox();
    await client.activeEndpoint(branches.orders);
    await client.advance(latencyMs);
    const snapshot = await take(client);
    const broken = structuredClone(snapshot);
    breakIt(broken);
    const { status, body } = await client.control("PUT", "/snapshot", broken);
    expect({ status, message: body.message }).toEqual({ status: 400, message: expect.any(String) });
    expect(await take(client)).toEqual(snapshot);
  });
});
