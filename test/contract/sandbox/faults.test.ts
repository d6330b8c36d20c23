import { describe, expect, test, vi } from "vitest";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { branches, freshSandbox, paid, type SandboxClient } from "./sandbox-client.ts";

const endpoints = "/projects/*/endpoints";
const creation = { body: { endpoint: { branch_id: branches.orders, type: "read_write" } } };

const create = (client: SandboxClient) => client.api("POST", `${paid}/endpoints`, creation);

async function count(client: SandboxClient): Promise<number> {
  return (await client.api("GET", `${paid}/endpoints`)).body.endpoints.length;
}

async function heldBy(client: SandboxClient, id: string): Promise<number> {
  const { body } = await client.control("GET", "/faults");
  return body.faults.find((fault: { id: string }) => fault.id === id).held;
}

describe("effects", () => {
  test("status → that answer in the error shape, with Retry-After; not applied", async () => {
    const client = await freshSandbox();
    await client.fault("POST", endpoints, {
      kind: "status",
      status: 503,
      code: "OVERLOAD",
      message: "later",
      retryAfterSeconds: 7,
    });
    const { status, headers, body } = await create(client);
    expect(status).toBe(503);
    expect(headers.get("retry-after")).toBe("7");
    expect(body).toEqual({ request_id: expect.any(String), code: "OVERLOAD", message: "later" });
    expect(await count(client)).toBe(0);
    expect((await create(client)).status).toBe(201);
  });

  test("delay → the answer comes later by that much", async () => {
    const client = await freshSandbox();
    await client.fault("POST", endpoints, { kind: "delay", milliseconds: 80 });
    const before = performance.now();
    expect((await create(client)).status).toBe(201);
    expect(performance.now() - before).toBeGreaterThanOrEqual(79);
  });

  test.each([
    ["dropBefore", 0],
    ["dropAfter", 1],
  ])("%s → connection cut, applied %d times", async (kind, applied) => {
    const client = await freshSandbox();
    await client.fault("POST", endpoints, { kind });
    await expect(create(client)).rejects.toThrow("fetch failed");
    expect(await count(client)).toBe(applied);
  });

  test("applyLate → connection cut now, applied once later", async () => {
    const client = await freshSandbox();
    await client.fault("POST", endpoints, { kind: "applyLate", milliseconds: 60 });
    const before = performance.now();
    await expect(create(client)).rejects.toThrow("fetch failed");
    await vi.waitFor(async () => expect(await count(client)).toBe(1), { timeout: 60_000, interval: 10 });
    expect(performance.now() - before).toBeGreaterThanOrEqual(59);
    const { body } = await client.control("GET", "/requests/counts");
    const posts = body.counts.find((entry: { method: string }) => entry.method === "POST");
    expect(posts.count).toBe(1);
  });

  /** A create that a fault has set aside until it is released. */
  async function setAside(client: SandboxClient): Promise<string> {
    const id = await client.fault("POST", endpoints, { kind: "applyLate" });
    await expect(create(client)).rejects.toThrow("fetch failed");
    await vi.waitFor(async () => expect(await heldBy(client, id)).toBe(1), { timeout: 60_000, interval: 5 });
    expect(await count(client)).toBe(0);
    return id;
  }

  test.each([
    ["released", "POST", "/release"],
    ["removed", "DELETE", ""],
  ])("applyLate without a time → cut now, applied once when it is %s", async (_, method, tail) => {
    const client = await freshSandbox();
    const id = await setAside(client);
    expect((await client.control(method, `/faults/${id}${tail}`)).status).toBe(200);
    await vi.waitFor(async () => expect(await count(client)).toBe(1), { timeout: 60_000, interval: 5 });
    // The fault holds nothing any more, so a second release applies nothing.
    await client.control("POST", `/faults/${id}/release`);
    expect(await count(client)).toBe(1);
  });

  test.each(["reset", "snapshot"])("applyLate without a time, then a %s → never applied", async (call) => {
    const client = await freshSandbox();
    const { body: snapshot } = await client.control("GET", "/snapshot");
    await setAside(client);
    const answer = call === "reset" ? client.control("POST", "/reset") : client.control("PUT", "/snapshot", snapshot);
    expect((await answer).status).toBe(200);
    const { body } = await client.control("GET", "/faults");
    expect(body.faults.map(({ held }: { held: number }) => held)).toEqual(call === "reset" ? [] : [0]);
    await client.control("DELETE", "/faults");
    // This create would come after the first one.
    expect((await create(client)).status).toBe(201);
    expect(await count(client)).toBe(1);
  });

  test("applyLate without a time, the sandbox stops → it does stop, and never applies it", async () => {
    const folder = temporaryFolder("sandbox-faults");
    const options = { data: folder, apiKey: "not-a-real-key" };
    const client = await freshSandbox(options);
    await setAside(client);
    await client.sandbox.stop();
    expect(await count(await freshSandbox(options))).toBe(0);
  });

  test("hold → applied, the answer comes when it is released", async () => {
    const client = await freshSandbox();
    const id = await client.fault("POST", endpoints, { kind: "hold" });
    let isAnswered = false;
    const answer = create(client).finally(() => {
      isAnswered = true;
    });
    await vi.waitFor(async () => expect(await heldBy(client, id)).toBe(1), { timeout: 60_000, interval: 5 });
    expect(await count(client)).toBe(1);
    expect(isAnswered).toBe(false);
    expect((await client.control("POST", `/faults/${id}/release`)).body).toEqual({ released: 1 });
    expect((await answer).status).toBe(201);
  });

  test("hold, the sandbox stops → it does stop", async () => {
    const client = await freshSandbox();
    const id = await client.fault("POST", endpoints, { kind: "hold" });
    const answer = create(client).catch(() => "cut");
    await vi.waitFor(async () => expect(await heldBy(client, id)).toBe(1), { timeout: 60_000, interval: 5 });
    await client.sandbox.stop();
    await answer;
  });

  test("garbage → applied, that body instead of the answer", async () => {
    const client = await freshSandbox();
    await client.fault("POST", endpoints, {
      kind: "garbage",
      body: "<html>oops",
      status: 502,
      contentType: "text/html",
    });
    const { status, headers, body } = await create(client);
    expect({ status, type: headers.get("content-type"), body }).toEqual({
      status: 502,
      type: "text/html",
      body: "<html>oops",
    });
    expect(await count(client)).toBe(1);
    await client.fault("GET", endpoints, { kind: "garbage", body: '{"endpoints":[{"id":' });
    const truncated = await client.api("GET", `${paid}/endpoints`);
    expect({ status: truncated.status, body: truncated.body }).toEqual({ status: 200, body: '{"endpoints":[{"id":' });
  });
});

describe("matching", () => {
  const failing = { kind: "status", status: 500 };

  test("skip and times → only the requests between", async () => {
    const client = await freshSandbox();
    const match = { method: "GET", path: endpoints, skip: 1, times: 2 };
    const { body } = await client.control("POST", "/faults", { match, effect: failing });
    const statuses = [];
    for (let sent = 0; sent < 5; sent += 1) statuses.push((await client.api("GET", `${paid}/endpoints`)).status);
    expect(statuses).toEqual([200, 500, 500, 200, 200]);
    const { body: list } = await client.control("GET", "/faults");
    expect(list.faults).toEqual([{ id: body.id, match, effect: failing, seen: 5, hits: 2, held: 0 }]);
  });

  test("method, one segment, query → only what fits", async () => {
    const client = await freshSandbox();
    const match = { method: "get", path: "/projects/*/operations", query: { limit: "3" } };
    await client.control("POST", "/faults", { match, effect: failing });
    expect((await client.api("GET", `${paid}/operations?limit=3`)).status).toBe(500);
    expect((await client.api("GET", `${paid}/operations?limit=4`)).status).toBe(200);
    expect((await client.api("GET", `${paid}/operations`)).status).toBe(200);
    expect((await client.api("GET", `${paid}/operations/x?limit=3`)).status).toBe(404);
    expect((await client.api("GET", `${paid}/endpoints?limit=3`)).status).toBe(200);
  });

  test("** and a full path → anything below; removed → nothing any more", async () => {
    const client = await freshSandbox();
    const { body } = await client.control("POST", "/faults", { match: { path: "/api/v2/**" }, effect: failing });
    expect((await client.api("GET", `${paid}/endpoints`)).status).toBe(500);
    expect((await client.api("GET", "/projects")).status).toBe(500);
    expect((await client.control("GET", "/clock")).status).toBe(200);
    expect((await client.control("DELETE", `/faults/${body.id}`)).body).toEqual({ removed: 1 });
    expect((await client.api("GET", "/projects")).status).toBe(200);
    expect((await client.control("DELETE", `/faults/${body.id}`)).status).toBe(404);
  });

  test("two that fit → the older one, then the other", async () => {
    const client = await freshSandbox();
    await client.fault("GET", "/projects", { kind: "status", status: 500 });
    await client.fault("GET", "/projects", { kind: "status", status: 503 });
    expect((await client.api("GET", "/projects")).status).toBe(500);
    expect((await client.api("GET", "/projects")).status).toBe(503);
    expect((await client.control("DELETE", "/faults")).body).toEqual({ removed: 2 });
  });
});
