/** Tests the sandbox's routes for endpoints: what each request starts, and what the compute becomes. */
import { describe, expect, test } from "vitest";
import {
  branches,
  free,
  freeBranch,
  freshSandbox,
  latencyMs,
  paid,
  type SandboxClient,
  titles,
} from "./sandbox-client.ts";

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
    const stamps = { created_at: time, updated_at: time };
    const ids = { project_id: "green-fox-123456", branch_id: branches.orders };
    const host = "us-east-2.aws.sandbox.localhost";
    expect(body.endpoint).toEqual({
      id,
      ...ids,
      host: `${id}.${host}`,
      proxy_host: host,
      region_id: "aws-us-east-2",
      type: "read_write",
      autoscaling_limit_min_cu: 0.25,
      autoscaling_limit_max_cu: 0.25,
      settings: { pg_settings: {} },
      current_state: "init",
      pending_state: "active",
      disabled: false,
      passwordless_access: true,
      pooler_enabled: false,
      pooler_mode: "transaction",
      ...stamps,
    });
    const operationId = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(body.operations).toEqual([
      {
        id: operationId,
        ...ids,
        endpoint_id: id,
        action: "start_compute",
        status: "running",
        failures_count: 0,
        created_at: body.endpoint.created_at,
        updated_at: body.endpoint.created_at,
      },
    ]);
    const listed = (await client.api("GET", `${paid}/endpoints`)).body.endpoints[0];
    const { pending_state: pendingState, ...rest } = await endpointOf(client, id);
    expect({ pendingState, listed }).toEqual({ pendingState: "active", listed: rest });
    await client.advance(latencyMs - 1);
    expect(await endpointOf(client, id)).toMatchObject({ current_state: "init", pending_state: "active" });
    await client.advance(1);
    const active = await endpointOf(client, id);
    expect(active).toMatchObject({ current_state: "active", last_active: active.updated_at });
    expect(active).not.toHaveProperty("pending_state");
  });

  test("three read-only ones beside a read-write one → all four listed in order; another project has none", async () => {
    const client = await freshSandbox();
    const ids = [await client.activeEndpoint(branches.orders)];
    for (let count = 0; count < 3; count += 1) {
      ids.push(await client.activeEndpoint(branches.orders, { type: "read_only" }));
    }
    const { body } = await client.api("GET", `${paid}/endpoints`);
    expect(body.endpoints.map((endpoint: { id: string }) => endpoint.id)).toEqual(ids);
    expect((await client.api("GET", `${free}/endpoints/${ids[0]}`)).status).toBe(404);
    expect((await client.api("DELETE", `${free}/endpoints/${ids[0]}`)).status).toBe(404);
    expect((await client.api("GET", `${free}/endpoints`)).body).toEqual({ endpoints: [] });
  });

  test("disabled → no start, ends idle", async () => {
    const client = await freshSandbox();
    const { body } = await client.api("POST", `${paid}/endpoints`, creation(branches.orders, { disabled: true }));
    expect(body.endpoint).toMatchObject({ current_state: "init", pending_state: "idle" });
    expect(titles(body.operations)).toEqual(["apply_config running"]);
    await client.advance(latencyMs);
    expect(await endpointOf(client, body.endpoint.id)).toMatchObject({ current_state: "idle", disabled: true });
  });

  test("the start fails → idle, the operation failed once, the project is free again", async () => {
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

/** A request to an endpoint: what it answers and starts, and the endpoint each time that an operation has ended. */
interface Course {
  readonly from: "active" | "idle";
  /** A path below the endpoint, or the fields of a PATCH. */
  readonly request: string | object;
  readonly answer: object;
  readonly operations: readonly string[];
  readonly after?: readonly object[];
}

const [idle, active] = [{ current_state: "idle" }, { current_state: "active" }];
const [toIdle, toActive] = [{ pending_state: "idle" }, { pending_state: "active" }];
const size = { autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 2 };
const moved = { branch_id: branches.staging };
const applied = {
  from: "active",
  answer: { ...active, ...toActive },
  operations: ["apply_config running"],
  after: [active],
} as const;

const courses: readonly Course[] = [
  {
    from: "idle",
    request: "start",
    answer: { ...idle, ...toActive },
    operations: ["start_compute running"],
    after: [active],
  },
  { from: "active", request: "start", answer: active, operations: [] },
  {
    from: "active",
    request: "suspend",
    answer: { ...active, ...toIdle },
    operations: ["suspend_compute running"],
    after: [idle],
  },
  { from: "idle", request: "suspend", answer: idle, operations: [] },
  {
    from: "active",
    request: "restart",
    answer: toActive,
    operations: ["suspend_compute running", "start_compute scheduling"],
    after: [{ ...idle, ...toActive }, active],
  },
  {
    from: "idle",
    request: moved,
    answer: { ...moved, ...idle, ...toIdle },
    operations: ["apply_config running", "suspend_compute scheduling"],
    after: [idle, { ...idle, ...moved }],
  },
  {
    // The suspend ends first.
    from: "active",
    request: moved,
    answer: { ...moved, ...active, ...toIdle },
    operations: ["apply_config running", "suspend_compute running"],
    after: [idle, { ...idle, ...moved }],
  },
  {
    from: "active",
    request: size,
    answer: { ...size, ...toActive },
    operations: ["apply_config running", "suspend_compute scheduling", "start_compute scheduling"],
    after: [active, { ...idle, ...toActive }, { ...active, ...size }],
  },
  { from: "idle", request: size, answer: size, operations: ["apply_config running"], after: [{ ...idle, ...size }] },
  { ...applied, request: { suspend_timeout_seconds: 60 } },
  {
    from: "active",
    request: { disabled: true },
    answer: { disabled: true },
    operations: ["apply_config running", "suspend_compute scheduling"],
    after: [active, { ...idle, disabled: true }],
  },
];

describe("what a request starts", () => {
  test.each(courses)("$from, $request → $operations", async ({ from, request, answer, operations, after = [] }) => {
    const client = await freshSandbox();
    const id = await client[from === "active" ? "activeEndpoint" : "idleEndpoint"](branches.orders);
    const path = `${paid}/endpoints/${id}`;
    const { status, body } =
      typeof request === "string"
        ? await client.api("POST", `${path}/${request}`)
        : await client.api("PATCH", path, { body: { endpoint: request } });
    expect({ status, operations: titles(body.operations) }).toEqual({ status: 200, operations });
    expect(body.endpoint).toMatchObject(answer);
    for (const [index, wanted] of after.entries()) {
      await client.advance(latencyMs);
      const endpoint = await endpointOf(client, id);
      expect(endpoint).toMatchObject(wanted);
      if (index === after.length - 1) expect(endpoint).not.toHaveProperty("pending_state");
    }
  });

  test("everything equal, the branch too → nothing happens; settings → replaced whole", async () => {
    const client = await freshSandbox();
    const settings = { pg_settings: { a: "1", b: "2" } };
    const id = await client.activeEndpoint(branches.orders, { settings });
    const before = await endpointOf(client, id);
    await client.advance(1000);
    const equal = { branch_id: branches.orders, autoscaling_limit_min_cu: 0.25, settings, suspend_timeout_seconds: 0 };
    const patch = (fields: object) => client.api("PATCH", `${paid}/endpoints/${id}`, { body: { endpoint: fields } });
    expect((await patch({ ...equal, colour: "unknown fields are ignored" })).body.operations).toEqual([]);
    expect(await endpointOf(client, id)).toEqual(before);
    await patch({ settings: { pg_settings: { b: "3" } } });
    expect((await endpointOf(client, id)).settings).toEqual({ pg_settings: { b: "3" } });
  });

  test("a disabled one → start is refused until it is enabled again; an idle one → restart is refused", async () => {
    const client = await freshSandbox();
    const id = await client.idleEndpoint(branches.orders);
    const disable = async (disabled: boolean) => {
      await client.api("PATCH", `${paid}/endpoints/${id}`, { body: { endpoint: { disabled } } });
      await client.advance(latencyMs);
    };
    await disable(true);
    expect((await client.api("POST", `${paid}/endpoints/${id}/start`)).status).toBe(422);
    await disable(false);
    expect((await client.api("POST", `${paid}/endpoints/${id}/restart`)).status).toBe(422);
    expect((await client.api("POST", `${paid}/endpoints/${id}/start`)).status).toBe(200);
  });

  test.each([
    ["application/x-www-form-urlencoded", undefined],
    ["application/json", '{"endpoint":{"disabled":true}}'],
  ])("power call and delete, content type %s, body %s → as without", async (type, body) => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders);
    const sending = { headers: { "content-type": type }, ...(body && { body }) };
    for (const verb of ["restart", "suspend", "start"]) {
      const { status, body: answer } = await client.api("POST", `${paid}/endpoints/${id}/${verb}`, sending);
      expect({ status, disabled: answer.endpoint.disabled }).toEqual({ status: 200, disabled: false });
      await client.advance(2 * latencyMs);
    }
    expect((await client.api("DELETE", `${paid}/endpoints/${id}`, sending)).status).toBe(200);
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
    expect((await client.api("POST", `${paid}/endpoints`, creation(branches.orders))).status).toBe(423);
    await client.advance(latencyMs);
    expect((await client.api("POST", `${paid}/endpoints`, creation(branches.orders))).status).toBe(201);
    const { body: read } = await client.api("GET", `${paid}/operations/${body.operations[0].id}`);
    expect(read.operation).toMatchObject({ status: "finished", endpoint_id: id });
  });

  test("malformed JSON → 400, and nothing is deleted", async () => {
    const client = await freshSandbox();
    const sending = { body: "{", headers: { "content-type": "application/json" } };
    const { status, body } = await client.api("DELETE", `${paid}/branches/${branches.orders}`, sending);
    expect({ status, message: body.message }).toEqual({ status: 400, message: "body: is not well-formed JSON" });
    expect((await client.api("GET", `${paid}/branches/${branches.orders}`)).status).toBe(200);
  });
});

describe("auto-suspend", () => {
  test("no activity for 300 s → a suspend_compute of the control plane; a start is activity", async () => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders);
    await client.advance(200_000);
    await client.api("POST", `${paid}/endpoints/${id}/start`);
    await client.advance(299_999);
    expect(await endpointOf(client, id)).toMatchObject({ current_state: "active" });
    await client.advance(1);
    expect(await endpointOf(client, id)).toMatchObject({ current_state: "active", pending_state: "idle" });
    await client.advance(latencyMs);
    expect(await endpointOf(client, id)).toMatchObject({ current_state: "idle" });
    const { body } = await client.api("GET", `${paid}/operations?limit=1`);
    expect(body.operations[0]).toMatchObject({ action: "suspend_compute", status: "finished", endpoint_id: id });
  });

  test("delay set to 1 s → suspended as soon as the configuration is applied", async () => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders);
    await client.advance(10_000);
    await client.api("PATCH", `${paid}/endpoints/${id}`, { body: { endpoint: { suspend_timeout_seconds: 1 } } });
    await client.advance(2 * latencyMs);
    expect(await endpointOf(client, id)).toMatchObject({ current_state: "idle" });
  });

  test("never → still active after a month", async () => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders, { suspend_timeout_seconds: -1 });
    await client.advance(30 * 86_400_000);
    expect(await endpointOf(client, id)).toMatchObject({ current_state: "active" });
  });
});

describe("limits", () => {
  const sizes = (min: number, max = min) => ({ autoscaling_limit_min_cu: min, autoscaling_limit_max_cu: max });
  const [least, most] = ["endpoint.autoscaling_limit_min_cu", "endpoint.autoscaling_limit_max_cu"];
  const delay = "endpoint.suspend_timeout_seconds";

  type Limit = readonly [
    profile: "seed" | "public",
    plan: "free" | "paid",
    fields: object,
    status: number,
    why: string,
  ];

  test.each<Limit>([
    ["seed", "free", {}, 201, ""],
    ["seed", "free", { type: "read_only" }, 422, "read replicas need a paid plan"],
    ["seed", "free", sizes(1), 422, most],
    ...[0.25, 8].map((units): Limit => ["seed", "paid", sizes(units), 201, ""]),
    ["seed", "paid", sizes(0.3, 1), 400, least],
    ["seed", "paid", sizes(2, 1), 400, least],
    ["seed", "paid", sizes(1, 9), 422, most],
    ["seed", "paid", { suspend_timeout_seconds: 604_801 }, 400, delay],
    ["public", "free", sizes(0.25, 2), 201, ""],
    ["public", "free", { type: "read_only", ...sizes(0.25, 3) }, 422, most],
    ["public", "paid", { name: "x".repeat(65) }, 400, "endpoint.name"],
    ["public", "paid", { suspend_timeout_seconds: 59 }, 400, delay],
    ["public", "paid", sizes(8, 16), 201, ""],
    ["public", "paid", sizes(7, 16), 422, most],
    ["public", "paid", sizes(56), 201, ""],
    ["public", "paid", sizes(18, 20), 400, most],
    ["public", "paid", sizes(19), 400, least],
    ["public", "paid", sizes(57), 422, least],
  ])("profile %s, plan %s, %j → %d %s", async (profile, plan, fields, status, message) => {
    const client = await freshSandbox({ profile });
    const [path, branch] = plan === "free" ? [free, freeBranch] : [paid, branches.orders];
    const answer = await client.api("POST", `${path}/endpoints`, creation(branch, { ...fields }));
    expect({ status: answer.status, message: answer.body.message ?? "" }).toEqual({
      status,
      message: expect.stringContaining(message),
    });
    if (status === 422) expect(answer.body.code).toMatch(/_LIMIT_EXCEEDED$/);
    const { endpoints } = (await client.api("GET", `${path}/endpoints`)).body;
    expect(endpoints).toHaveLength(status === 201 ? 1 : 0);
  });

  test("free plan of profile public → three read replicas", async () => {
    const client = await freshSandbox({ profile: "public" });
    const statuses: number[] = [];
    for (let count = 0; count < 4; count += 1) {
      const { status } = await client.api("POST", `${free}/endpoints`, creation(freeBranch, { type: "read_only" }));
      statuses.push(status);
      await client.advance(latencyMs);
    }
    expect(statuses).toEqual([201, 201, 201, 422]);
  });
});
