/** Tests the sandbox's routes that create, change and delete endpoints. */
import { describe, expect, test } from "vitest";
import { branches, free, freshSandbox, latencyMs, paid, type SandboxClient, titles } from "./sandbox-client.ts";

const creation = (branchId: string, fields: Record<string, unknown> = {}) => ({
  body: { endpoint: { branch_id: branchId, type: "read_write", ...fields } },
});

async function endpointOf(client: SandboxClient, id: string) {
  return (await client.api("GET", `${paid}/endpoints/${id}`)).body.endpoint;
}

describe("create", () => {
  test("branch without a read-write endpoint → init moving to active, start_compute running, then active", async () => {
    const client = await freshSandbox();
    const { status, body } = await client.api("POST", `${paid}/endpoints`, creation(branches.orders));
    expect(status).toBe(201);
    const { id } = body.endpoint;
    expect(id).toMatch(/^ep-[a-z]+-[a-z]+-\d{8}$/);
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(body.endpoint).toEqual({
      id,
      host: `${id}.us-east-2.aws.sandbox.localhost`,
      proxy_host: "us-east-2.aws.sandbox.localhost",
      project_id: "green-fox-123456",
      branch_id: branches.orders,
      region_id: "aws-us-east-2",
      type: "read_write",
      autoscaling_limit_min_cu: 0.25,
      autoscaling_limit_max_cu: 0.25,
      current_state: "init",
      pending_state: "active",
      settings: { pg_settings: {} },
      pooler_enabled: false,
      pooler_mode: "transaction",
      disabled: false,
      passwordless_access: true,
      created_at: time,
      updated_at: time,
    });
    expect(body.operations).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
        project_id: "green-fox-123456",
        branch_id: branches.orders,
        endpoint_id: id,
        action: "start_compute",
        status: "running",
        failures_count: 0,
        created_at: body.endpoint.created_at,
        updated_at: body.endpoint.created_at,
      },
    ]);
    await client.advance(latencyMs - 1);
    expect(await endpointOf(client, id)).toMatchObject({ current_state: "init", pending_state: "active" });
    await client.advance(1);
    const active = await endpointOf(client, id);
    expect(active).toMatchObject({ current_state: "active", last_active: active.updated_at });
    expect(active).not.toHaveProperty("pending_state");
  });

  test("every field given → every field kept", async () => {
    const client = await freshSandbox();
    const given = {
      autoscaling_limit_min_cu: 0.5,
      autoscaling_limit_max_cu: 8,
      settings: { pg_settings: { work_mem: "64MB" } },
      pooler_enabled: true,
      pooler_mode: "transaction",
      passwordless_access: false,
    };
    const { body } = await client.api("POST", `${paid}/endpoints`, creation(branches.orders, given));
    expect(body.endpoint).toMatchObject(given);
  });

  test("three read-only ones beside a read-write one → all four listed, in the order of creation", async () => {
    const client = await freshSandbox();
    const ids = [await client.activeEndpoint(branches.orders)];
    for (let count = 0; count < 3; count += 1) {
      ids.push(await client.activeEndpoint(branches.orders, { type: "read_only" }));
    }
    const { body } = await client.api("GET", `${paid}/endpoints`);
    expect(body.endpoints.map((endpoint: { id: string }) => endpoint.id)).toEqual(ids);
  });

  test("disabled → no start, ends idle", async () => {
    const client = await freshSandbox();
    const { body } = await client.api("POST", `${paid}/endpoints`, creation(branches.orders, { disabled: true }));
    expect(body.endpoint).toMatchObject({ current_state: "init", pending_state: "idle" });
    expect(titles(body.operations)).toEqual(["apply_config running"]);
    await client.advance(latencyMs);
    expect(await endpointOf(client, body.endpoint.id)).toMatchObject({ current_state: "idle", disabled: true });
  });

  test("the start fails → idle, the operation failed once", async () => {
    const client = await freshSandbox();
    await client.control("POST", "/operations/fail-next", { action: "start_compute", times: 1 });
    const { body } = await client.api("POST", `${paid}/endpoints`, creation(branches.orders));
    await client.advance(latencyMs);
    const after = await endpointOf(client, body.endpoint.id);
    expect(after).toMatchObject({ current_state: "idle" });
    expect(after).not.toHaveProperty("last_active");
    const { body: read } = await client.api("GET", `${paid}/operations/${body.operations[0].id}`);
    expect(read.operation).toMatchObject({ status: "failed", failures_count: 1 });
    const started = await client.api("POST", `${paid}/endpoints/${body.endpoint.id}/start`);
    expect(titles(started.body.operations)).toEqual(["start_compute running"]);
  });
});

describe("lists and reads", () => {
  test("endpoint that is moving → pending_state in the single read, never in the list", async () => {
    const client = await freshSandbox();
    const { body } = await client.api("POST", `${paid}/endpoints`, creation(branches.orders));
    const listed = (await client.api("GET", `${paid}/endpoints`)).body.endpoints[0];
    const { pending_state: pendingState, ...rest } = await endpointOf(client, body.endpoint.id);
    expect(pendingState).toBe("active");
    expect(listed).toEqual(rest);
  });

  test("an endpoint of another project → 404, not listed", async () => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders);
    expect((await client.api("GET", `${free}/endpoints/${id}`)).status).toBe(404);
    expect((await client.api("DELETE", `${free}/endpoints/${id}`)).status).toBe(404);
    expect((await client.api("GET", `${free}/endpoints`)).body).toEqual({ endpoints: [] });
  });
});

describe("update", () => {
  test("idle, new branch → idle, apply_config running and suspend_compute scheduling", async () => {
    const client = await freshSandbox();
    const id = await client.idleEndpoint(branches.orders);
    const { status, body } = await client.api("PATCH", `${paid}/endpoints/${id}`, {
      body: { endpoint: { branch_id: branches.staging } },
    });
    expect(status).toBe(200);
    expect(body.endpoint).toMatchObject({ branch_id: branches.staging, current_state: "idle", pending_state: "idle" });
    expect(titles(body.operations)).toEqual(["apply_config running", "suspend_compute scheduling"]);
    expect(body.operations[0].created_at).toBe(body.operations[1].created_at);
    await client.advance(latencyMs);
    const read = async () => (await client.api("GET", `${paid}/operations?limit=2`)).body.operations.reverse();
    expect(titles(await read())).toEqual(["apply_config finished", "suspend_compute running"]);
    await client.advance(latencyMs);
    expect(titles(await read())).toEqual(["apply_config finished", "suspend_compute finished"]);
    expect(await endpointOf(client, id)).toMatchObject({ current_state: "idle", branch_id: branches.staging });
  });

  test("active, new branch → the same two operations, the suspend running at once and ending first", async () => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders);
    const { body } = await client.api("PATCH", `${paid}/endpoints/${id}`, {
      body: { endpoint: { branch_id: branches.staging } },
    });
    expect(body.endpoint).toMatchObject({ current_state: "active", pending_state: "idle" });
    expect(titles(body.operations)).toEqual(["apply_config running", "suspend_compute running"]);
    await client.advance(latencyMs);
    const { body: page } = await client.api("GET", `${paid}/operations?limit=2`);
    expect(titles(page.operations)).toEqual(["suspend_compute finished", "apply_config running"]);
    await client.advance(latencyMs);
    expect(await endpointOf(client, id)).toMatchObject({ current_state: "idle", branch_id: branches.staging });
  });

  test("active, other size → apply_config, suspend_compute, start_compute, active again with the new size", async () => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders);
    const { body } = await client.api("PATCH", `${paid}/endpoints/${id}`, {
      body: { endpoint: { autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 2 } },
    });
    expect(body.endpoint).toMatchObject({ autoscaling_limit_max_cu: 2, pending_state: "active" });
    expect(titles(body.operations)).toEqual([
      "apply_config running",
      "suspend_compute scheduling",
      "start_compute scheduling",
    ]);
    await client.advance(2 * latencyMs);
    expect(await endpointOf(client, id)).toMatchObject({ current_state: "idle", pending_state: "active" });
    await client.advance(latencyMs);
    const after = await endpointOf(client, id);
    expect(after).toMatchObject({ current_state: "active", autoscaling_limit_min_cu: 1 });
    expect(after).not.toHaveProperty("pending_state");
  });

  test("idle, other size → apply_config only, stays idle", async () => {
    const client = await freshSandbox();
    const id = await client.idleEndpoint(branches.orders);
    const { body } = await client.api("PATCH", `${paid}/endpoints/${id}`, {
      body: { endpoint: { autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 1 } },
    });
    expect(titles(body.operations)).toEqual(["apply_config running"]);
    await client.advance(latencyMs);
    expect(await endpointOf(client, id)).toMatchObject({ current_state: "idle", autoscaling_limit_max_cu: 1 });
  });

  test.each([
    ["suspend delay", { suspend_timeout_seconds: 60 }],
    ["settings", { settings: { pg_settings: { work_mem: "8MB" } } }],
    ["pooler", { pooler_enabled: true }],
  ])("active, other %s → apply_config, never a restart", async (_what, fields) => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders);
    const { body } = await client.api("PATCH", `${paid}/endpoints/${id}`, { body: { endpoint: fields } });
    expect(titles(body.operations)).toEqual(["apply_config running"]);
    expect(body.endpoint).toMatchObject({ current_state: "active", pending_state: "active" });
    await client.advance(latencyMs);
    expect(await endpointOf(client, id)).toMatchObject({ current_state: "active" });
  });

  test("everything equal, the branch too → nothing happens", async () => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders, { settings: { pg_settings: { a: "1", b: "2" } } });
    const before = await endpointOf(client, id);
    await client.advance(1000);
    const { status, body } = await client.api("PATCH", `${paid}/endpoints/${id}`, {
      body: {
        endpoint: {
          branch_id: branches.orders,
          autoscaling_limit_min_cu: 0.25,
          settings: { pg_settings: { b: "2", a: "1" } },
          suspend_timeout_seconds: 0,
          colour: "unknown fields are ignored",
        },
      },
    });
    expect({ status, operations: body.operations }).toEqual({ status: 200, operations: [] });
    expect(await endpointOf(client, id)).toEqual(before);
  });

  test("settings → replaced whole", async () => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders, { settings: { pg_settings: { a: "1", b: "2" } } });
    await client.api("PATCH", `${paid}/endpoints/${id}`, {
      body: { endpoint: { settings: { pg_settings: { b: "3" } } } },
    });
    expect((await endpointOf(client, id)).settings).toEqual({ pg_settings: { b: "3" } });
  });

  test("disabled → suspended, and start is refused until it is enabled again", async () => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders);
    const { body } = await client.api("PATCH", `${paid}/endpoints/${id}`, { body: { endpoint: { disabled: true } } });
    expect(titles(body.operations)).toEqual(["apply_config running", "suspend_compute scheduling"]);
    await client.advance(2 * latencyMs);
    expect(await endpointOf(client, id)).toMatchObject({ current_state: "idle", disabled: true });
    expect((await client.api("POST", `${paid}/endpoints/${id}/start`)).status).toBe(422);
    await client.api("PATCH", `${paid}/endpoints/${id}`, { body: { endpoint: { disabled: false } } });
    await client.advance(latencyMs);
    expect((await client.api("POST", `${paid}/endpoints/${id}/start`)).status).toBe(200);
  });
});

describe("delete", () => {
  test("idle → no operations, the last state shown without pending_state, gone at once", async () => {
    const client = await freshSandbox();
    const id = await client.idleEndpoint(branches.orders);
    const before = await endpointOf(client, id);
    const { status, body } = await client.api("DELETE", `${paid}/endpoints/${id}`);
    expect({ status, body }).toEqual({ status: 200, body: { endpoint: before, operations: [] } });
    expect((await client.api("GET", `${paid}/endpoints/${id}`)).status).toBe(404);
    expect((await client.api("GET", `${paid}/endpoints`)).body.endpoints).toEqual([]);
  });

  test("active → suspend_compute, gone at once, the branch is free when it has ended", async () => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders);
    const { body } = await client.api("DELETE", `${paid}/endpoints/${id}`);
    expect(body.endpoint).toMatchObject({ current_state: "active" });
    expect(body.endpoint).not.toHaveProperty("pending_state");
    expect(titles(body.operations)).toEqual(["suspend_compute running"]);
    expect((await client.api("GET", `${paid}/endpoints/${id}`)).status).toBe(404);
    expect((await client.api("POST", `${paid}/endpoints`, creation(branches.orders))).status).toBe(423);
    await client.advance(latencyMs);
    expect((await client.api("POST", `${paid}/endpoints`, creation(branches.orders))).status).toBe(201);
    const { body: read } = await client.api("GET", `${paid}/operations/${body.operations[0].id}`);
    expect(read.operation).toMatchObject({ status: "finished", endpoint_id: id });
  });

  test("missing → 404", async () => {
    const client = await freshSandbox();
    expect((await client.api("DELETE", `${paid}/endpoints/ep-no-such-12345678`)).status).toBe(404);
  });
});
