/** Tests the sandbox's control API. */
import { describe, expect, test, vi } from "vitest";
import { branches, freshSandbox, latencyMs, paid, titles } from "./sandbox-client.ts";

const creation = (branchId: string) => ({ body: { endpoint: { branch_id: branchId, type: "read_write" } } });

describe("clock", () => {
  test("stepped to scaled → operations end by themselves", async () => {
    const client = await freshSandbox({ operationLatencyMs: 60_000 });
    const { body } = await client.api("POST", `${paid}/endpoints`, creation(branches.orders));
    expect((await client.control("PUT", "/clock", { mode: "scaled", scale: 10_000 })).body).toMatchObject({
      mode: "scaled",
      scale: 10_000,
    });
    const read = async () => (await client.api("GET", `${paid}/operations/${body.operations[0].id}`)).body.operation;
    await vi.waitFor(async () => expect((await read()).status).toBe("finished"), { timeout: 60_000, interval: 5 });
    const { created_at: from, updated_at: until } = await read();
    expect(Date.parse(until) - Date.parse(from)).toBe(60_000);
  });

  test("back in time, or more than ten years ahead → 400", async () => {
    const client = await freshSandbox();
    expect((await client.control("PUT", "/clock", { now: "2001-01-01T00:00:00Z" })).status).toBe(400);
    expect((await client.control("PUT", "/clock", { now: "2999-01-01T00:00:00Z" })).status).toBe(400);
    const later = new Date(Date.now() + 365 * 86_400_000).toISOString();
    expect((await client.control("PUT", "/clock", { now: later })).body.now).toBe(later);
  });
});

describe("fail-next", () => {
  test("for one endpoint → only its next operations of that action, as often as asked", async () => {
    const client = await freshSandbox({ profile: "public" });
    const one = await client.activeEndpoint(branches.orders);
    const other = await client.activeEndpoint(branches.staging);
    await client.control("POST", "/operations/fail-next", {
      action: "apply_config",
      endpointId: one,
      times: 2,
      error: "disk on fire",
    });
    const patch = async (id: string, delay: number) => {
      const { body } = await client.api("PATCH", `${paid}/endpoints/${id}`, {
        body: { endpoint: { suspend_timeout_seconds: delay } },
      });
      await client.advance(latencyMs);
      return (await client.api("GET", `${paid}/operations/${body.operations[0].id}`)).body.operation;
    };
    expect(await patch(other, 100)).toMatchObject({ status: "finished", failures_count: 0 });
    expect(await patch(one, 100)).toMatchObject({ status: "failed", failures_count: 1, error: "disk on fire" });
    expect(await patch(one, 200)).toMatchObject({ status: "failed" });
    expect(await patch(one, 300)).toMatchObject({ status: "finished" });
  });

  test("the suspend of a restart fails → the start still runs, the compute stays active", async () => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders);
    await client.control("POST", "/operations/fail-next", { action: "suspend_compute" });
    await client.api("POST", `${paid}/endpoints/${id}/restart`);
    await client.advance(2 * latencyMs);
    const { body } = await client.api("GET", `${paid}/operations?limit=2`);
    expect(titles(body.operations)).toEqual(["start_compute finished", "suspend_compute failed"]);
    expect((await client.api("GET", `${paid}/endpoints/${id}`)).body.endpoint.current_state).toBe("active");
  });
});

test("as many faults as there may be → 422 with the code of the limit; room again → taken", async () => {
  const client = await freshSandbox();
  const post = () => client.control("POST", "/faults", { match: { path: "/none" }, effect: { kind: "dropBefore" } });
  for (let sent = 0; sent < 1000; sent += 50) {
    const answers = await Promise.all(Array.from({ length: 50 }, post));
    expect(answers.filter(({ status }) => status >= 300)).toEqual([]);
  }
  const refused = await post();
  expect({ status: refused.status, ...refused.body }).toEqual({
    status: 422,
    request_id: expect.any(String),
    code: "FAULTS_LIMIT_EXCEEDED",
    message: "at most 1000 faults are allowed",
  });
  expect((await client.control("DELETE", "/faults")).status).toBe(200);
  expect((await post()).status).toBe(201);
});

describe("lists/lag", () => {
  test("lag → lists show the past, single reads the present", async () => {
    const client = await freshSandbox();
    const old = await client.idleEndpoint(branches.staging);
    await client.control("PUT", "/lists/lag", { milliseconds: 2000 });
    const { body } = await client.api("POST", `${paid}/endpoints`, creation(branches.orders));
    const { id } = body.endpoint;
    const listed = async () => (await client.api("GET", `${paid}/endpoints`)).body.endpoints;
    const operations = async () => titles((await client.api("GET", `${paid}/operations`)).body.operations);
    const ids = async () => (await listed()).map((endpoint: { id: string }) => endpoint.id);
    expect(await ids()).toEqual([old]);
    expect(await operations()).toEqual(["suspend_compute finished", "start_compute finished"]);
    expect((await client.api("GET", `${paid}/endpoints/${id}`)).status).toBe(200);
    expect((await client.api("GET", `${paid}/operations/${body.operations[0].id}`)).status).toBe(200);
    await client.advance(2000);
    expect((await listed())[1]).toMatchObject({ id, current_state: "init" });
    expect((await operations())[0]).toBe("start_compute running");
    await client.advance(latencyMs);
    expect((await listed())[1]).toMatchObject({ id, current_state: "active" });
    expect((await operations())[0]).toBe("start_compute finished");
    await client.api("DELETE", `${paid}/endpoints/${old}`);
    expect(await ids()).toEqual([old, id]);
    await client.control("PUT", "/lists/lag", { milliseconds: 0 });
    expect(await ids()).toEqual([id]);
  });
});

describe("requests", () => {
  test("log → sequence, time, method, path, route, key name, status; since → only later ones; counts", async () => {
    const client = await freshSandbox();
    const { body: foreign } = await client.control("POST", "/keys", { name: "foreign" });
    await client.api("GET", `${paid}/endpoints?x=1`);
    await client.api("GET", "/nope", { key: foreign.key });
    await client.api("GET", "/projects", { key: "wrong" });
    await client.fault("GET", "/projects", { kind: "dropAfter" });
    await client.api("GET", "/projects").catch(() => undefined);
    const { body } = await client.control("GET", "/requests");
    const { now: time } = (await client.control("GET", "/clock")).body;
    expect(body.requests).toMatchObject([
      {
        sequence: 1,
        time,
        method: "GET",
        path: `/api/v2${paid}/endpoints`,
        route: "/api/v2/projects/:project_id/endpoints",
        key: "default",
        status: 200,
      },
      { sequence: 2, time, method: "GET", path: "/api/v2/nope", key: "foreign", status: 404 },
      { sequence: 3, time, method: "GET", path: "/api/v2/projects", route: "/api/v2/projects", status: 401 },
      {
        sequence: 4,
        time,
        method: "GET",
        path: "/api/v2/projects",
        route: "/api/v2/projects",
        key: "default",
        fault: "dropAfter",
      },
    ]);
    expect((await client.control("GET", "/requests?since=3")).body.requests).toEqual([body.requests[3]]);
    expect((await client.control("GET", "/requests/counts")).body.counts).toEqual([
      { method: "GET", route: "/api/v2/projects/:project_id/endpoints", count: 1 },
      { method: "GET", route: "unknown", count: 1 },
      { method: "GET", route: "/api/v2/projects", count: 2 },
    ]);
  });
});

describe("keys and reset", () => {
  test("reset → the fixture, no operations, faults, lag, failures or made keys; the start key still works", async () => {
    const client = await freshSandbox();
    const { body: made } = await client.control("POST", "/keys", { name: "ci" });
    await client.api("POST", `${paid}/endpoints`, creation(branches.orders));
    await client.fault("GET", "/**", { kind: "status", status: 500 });
    await client.control("POST", "/operations/fail-next", { action: "start_compute", times: 9 });
    await client.control("PUT", "/lists/lag", { milliseconds: 60_000 });
    expect((await client.control("POST", "/reset")).body).toEqual({});
    expect((await client.api("GET", `${paid}/endpoints`)).body).toEqual({ endpoints: [] });
    expect((await client.api("GET", `${paid}/operations`)).body).toEqual({ operations: [] });
    expect((await client.api("GET", "/projects", { key: made.key })).status).toBe(401);
    const id = await client.activeEndpoint(branches.orders);
    expect((await client.api("GET", `${paid}/endpoints`)).body.endpoints).toMatchObject([
      { id, current_state: "active" },
    ]);
  });
});

describe("access", () => {
  test("bound to every address → the API answers, the control API and the page only when a flag allows it", async () => {
    const closed = await freshSandbox({ host: "0.0.0.0" });
    expect((await closed.control("GET", "/clock")).status).toBe(403);
    expect((await closed.control("POST", "/reset")).status).toBe(403);
    expect((await closed.api("GET", "/projects")).status).toBe(200);
    const open = await freshSandbox({ host: "0.0.0.0", allowRemoteControl: true });
    expect((await open.control("GET", "/clock")).status).toBe(200);
    const page = ({ sandbox }: typeof open) => fetch(`http://127.0.0.1:${sandbox.port}/`);
    expect([(await page(closed)).status, (await page(open)).status]).toEqual([403, 200]);
  });

  test.each(["/sandbox/v1/clock", "/"])("%s by another host name that leads to loopback → 403", async (path) => {
    const client = await freshSandbox();
    const { request } = await import("node:http");
    const status = await new Promise((resolve, reject) => {
      const options = { host: "127.0.0.1", port: client.sandbox.port, path };
      request({ ...options, headers: { host: "evil.example:80" } }, (answer) => resolve(answer.resume().statusCode))
        .on("error", reject)
        .end();
    });
    expect(status).toBe(403);
  });

  test("a page of another origin → 403, and nothing happens; a page of this machine, and no page → 200", async () => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders);
    const reset = (headers: Record<string, string>) =>
      fetch(`${client.sandbox.controlUrl}/reset`, { method: "POST", headers });
    for (const origin of ["https://evil.example", "http://localhost.evil.example", "null", "?"]) {
      expect((await reset({ origin })).status).toBe(403);
    }
    expect((await client.api("GET", `${paid}/endpoints/${id}`)).status).toBe(200);
    for (const origin of ["http://localhost:3000", "http://127.0.0.1", "http://[::1]:80"]) {
      expect((await reset({ origin })).status).toBe(200);
    }
    expect((await reset({})).status).toBe(200);
  });

  test("never under the API; unknown control route → 404 in the error shape", async () => {
    const client = await freshSandbox();
    expect((await client.api("GET", "/clock")).status).toBe(404);
    expect((await client.api("GET", "/sandbox/v1/clock")).status).toBe(404);
    const { status, body } = await client.control("GET", "/nope");
    expect({ status, message: body.message }).toEqual({ status: 404, message: "this route does not exist" });
  });
});
