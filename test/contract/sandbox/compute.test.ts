/** Tests the sandbox's routes that imitate a client of a database. */
import { describe, expect, test } from "vitest";
import { branches, freshSandbox, latencyMs, paid, titles } from "./sandbox-client.ts";

describe("connect", () => {
  test("idle → woken by a start_compute, also while other work of the project runs", async () => {
    const client = await freshSandbox();
    const id = await client.idleEndpoint(branches.orders);
    await client.api("POST", `${paid}/branches`);
    const { status, body } = await client.control("POST", `/endpoints/${id}/connect`);
    expect(status).toBe(200);
    expect(titles(body.operations)).toEqual(["start_compute running"]);
    expect(body.endpoint).toMatchObject({ current_state: "idle", pending_state: "active" });
    const again = await client.control("POST", `/endpoints/${id}/connect`);
    expect(again.body.operations).toEqual([]);
    await client.advance(latencyMs);
    const { endpoint } = (await client.api("GET", `${paid}/endpoints/${id}`)).body;
    expect(endpoint).toMatchObject({ current_state: "active", last_active: endpoint.updated_at });
  });

  test.each([
    { configMs: latencyMs, startMs: latencyMs, what: "together" },
    { configMs: latencyMs, startMs: latencyMs / 2, what: "one after the other" },
  ])("idle, its configuration being applied, both ending $what → woken, and suspended again in time", async (given) => {
    const client = await freshSandbox();
    const id = await client.idleEndpoint(branches.orders);
    await client.api("PATCH", `${paid}/endpoints/${id}`, { body: { endpoint: { pooler_enabled: true } } });
    await client.advance(given.configMs - given.startMs);
    const { body } = await client.control("POST", `/endpoints/${id}/connect`);
    expect(titles(body.operations)).toEqual(["start_compute running"]);
    await client.advance(latencyMs);
    const read = async () => (await client.api("GET", `${paid}/endpoints/${id}`)).body.endpoint;
    expect(await read()).toMatchObject({ current_state: "active", pooler_enabled: true });
    await client.advance(300_000 + latencyMs);
    expect(await read()).toMatchObject({ current_state: "idle" });
  });

  test("a connection while a suspend runs → a start is queued behind it, and the compute is active again", async () => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders);
    await client.api("POST", `${paid}/endpoints/${id}/suspend`);
    const connected = await client.control("POST", `/endpoints/${id}/connect`);
    expect(connected.body).toMatchObject({
      endpoint: { current_state: "active", pending_state: "active" },
      operations: [{ action: "start_compute", status: "scheduling" }],
    });
    expect((await client.control("POST", `/endpoints/${id}/connect`)).body.operations).toEqual([]);
    await client.advance(latencyMs);
    const read = async () => (await client.api("GET", `${paid}/endpoints/${id}`)).body.endpoint;
    expect(await read()).toMatchObject({ current_state: "idle", pending_state: "active" });
    await client.advance(latencyMs);
    expect((await read()).current_state).toBe("active");
  });

  test("active → stays awake for another delay", async () => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders);
    await client.advance(299_000);
    expect((await client.control("POST", `/endpoints/${id}/connect`)).body.operations).toEqual([]);
    const state = async () => (await client.api("GET", `${paid}/endpoints/${id}`)).body.endpoint.current_state;
    await client.advance(299_000);
    expect(await state()).toBe("active");
    await client.advance(2000);
    expect(await state()).toBe("idle");
  });

  test("disabled → 422 and not woken; missing → 404", async () => {
    const client = await freshSandbox();
    const id = await client.idleEndpoint(branches.orders, { disabled: false });
    await client.api("PATCH", `${paid}/endpoints/${id}`, { body: { endpoint: { disabled: true } } });
    await client.advance(latencyMs);
    expect((await client.control("POST", `/endpoints/${id}/connect`)).status).toBe(422);
    expect((await client.control("POST", "/endpoints/none/connect")).status).toBe(404);
    expect((await client.control("GET", "/endpoints/none/compute")).status).toBe(404);
  });
});

describe("compute", () => {
  test.each([
    [
      0.25,
      2,
      { maxConnections: 112, minimum: { fileCacheGb: 0.8, ramGb: 1 }, maximum: { fileCacheGb: 6.4, ramGb: 8 } },
    ],
    [3, 8, { maxConnections: 1351, minimum: { fileCacheGb: 9.6 }, maximum: { fileCacheGb: 25.6, ramGb: 32 } }],
  ])("%d to %d units → connections of the minimum, 128 MB of buffers, 10,000 pooled", async (min, max, wanted) => {
    const client = await freshSandbox();
    const sizes = { autoscaling_limit_min_cu: min, autoscaling_limit_max_cu: max };
    const id = await client.activeEndpoint(branches.orders, sizes);
    const { body } = await client.control("GET", `/endpoints/${id}/compute`);
    expect(body).toMatchObject({ ...wanted, sharedBuffersMb: 128, pooledConnections: 10_000 });
  });

  test("statistics → of the time since the last start, with the ratio in percent; gone when it stops", async () => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders);
    const statistics = async () => (await client.control("GET", `/endpoints/${id}/compute`)).body.statistics;
    expect(await statistics()).toMatchObject({ file_cache_hits: 0, file_cache_hit_ratio: null });
    const use = (hits: number, misses: number) =>
      client.control("POST", `/endpoints/${id}/connect`, { fileCache: { hits, misses, writes: 3, used: 50 } });
    await use(90, 5);
    await use(108, 2);
    expect(await statistics()).toEqual({
      file_cache_misses: 7,
      file_cache_hits: 198,
      file_cache_used: 50,
      file_cache_writes: 6,
      file_cache_hit_ratio: (198 / 205) * 100,
    });
    await client.api("POST", `${paid}/endpoints/${id}/restart`);
    await client.advance(latencyMs);
    expect(await statistics()).toBeUndefined();
    await client.advance(latencyMs);
    expect(await statistics()).toMatchObject({ file_cache_hits: 0, file_cache_misses: 0 });
  });
});
