/** Tests the sandbox's error answers, and that a refused request changes nothing. */
import { describe, expect, test } from "vitest";
import { branches, freshSandbox, latencyMs, paid, type SandboxClient } from "./sandbox-client.ts";

const readWrite = (branchId: string) => ({ body: { endpoint: { branch_id: branchId, type: "read_write" } } });
const shape = { request_id: expect.any(String), code: expect.any(String), message: expect.any(String) };

/** Returns the state that the tests compare, to see that a refused request has changed nothing. */
async function stateOf(client: SandboxClient): Promise<unknown> {
  const endpoints = await client.api("GET", `${paid}/endpoints`);
  const operations = await client.api("GET", `${paid}/operations`);
  return [endpoints.body, operations.body];
}

describe("shape", () => {
  test("X-Request-ID given → echoed in body and header; not given or not fit → made up", async () => {
    const client = await freshSandbox();
    const given = await client.api("GET", "/projects/none", { headers: { "x-request-id": "abc-1" } });
    expect(given.body).toEqual({ request_id: "abc-1", code: "", message: "project not found" });
    expect(given.headers.get("x-request-id")).toBe("abc-1");
    const made = await client.api("GET", "/projects/none");
    expect(made.body.request_id).toMatch(/^[0-9a-f-]{36}$/);
    const unfit = await client.api("GET", "/projects/none", { headers: { "x-request-id": "a".repeat(200) } });
    expect(unfit.body.request_id).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe("401", () => {
  test("missing, wrong, revoked key, other scheme → the same body for each", async () => {
    const client = await freshSandbox();
    const { body: made } = await client.control("POST", "/keys", { name: "short-lived" });
    expect((await client.api("GET", "/projects", { key: made.key })).status).toBe(200);
    await client.control("DELETE", `/keys/${made.id}`);
    const answers = [
      await client.api("GET", "/projects", { key: undefined }),
      await client.api("GET", "/projects", { key: "wrong" }),
      await client.api("GET", "/projects", { key: made.key }),
      await client.api("GET", "/projects", {
        key: undefined,
        headers: { authorization: `Basic ${client.sandbox.apiKey}` },
      }),
      await client.api("GET", "/projects", { key: undefined, headers: { authorization: "Bearer" } }),
      await client.api("GET", "/nope", { key: undefined }),
      await client.api("POST", `${paid}/endpoints`, { key: undefined, body: "{" }),
    ];
    for (const { status, body } of answers) {
      expect({ status, code: body.code, message: body.message }).toEqual({
        status: 401,
        code: "",
        message: "supplied credentials do not pass authentication",
      });
    }
  });
});

describe("400", () => {
  const good = { branch_id: branches.orders, type: "read_write" };
  test.each([
    ["unknown type", { endpoint: { ...good, type: "ReadWrite" } }, "endpoint.type"],
    ["a setting as number", { endpoint: { ...good, settings: { pg_settings: { a: 1 } } } }, "settings.pg_settings.a"],
    ["truncated", '{"endpoint":', "body"],
    ["deep in an unknown field", `{"x":${'{"x":'.repeat(40)}1${"}".repeat(40)}}`, "body"],
  ])("%s → names the field", async (_what, body, field) => {
    const client = await freshSandbox();
    const answer = await client.api("POST", `${paid}/endpoints`, { body });
    expect({ status: answer.status, body: answer.body }).toEqual({ status: 400, body: shape });
    expect(answer.body.message).toContain(field);
  });

  test("no body at all → 400; invalid UTF-8 → 400", async () => {
    const client = await freshSandbox();
    const none = await client.api("POST", `${paid}/endpoints`);
    expect({ status: none.status, body: none.body }).toEqual({ status: 400, body: shape });
    const raw = await fetch(`${client.sandbox.url}${paid}/endpoints`, {
      method: "POST",
      headers: { authorization: `Bearer ${client.sandbox.apiKey}`, "content-type": "application/json" },
      body: new Uint8Array([0x22, 0xff, 0xfe, 0x22]),
    });
    expect(raw.status).toBe(400);
  });
});

describe("other refusals", () => {
  test("body of another type → 415; too large → 413; nothing changes", async () => {
    const client = await freshSandbox();
    const before = await stateOf(client);
    const { body } = readWrite(branches.orders);
    const text = await client.api("POST", `${paid}/endpoints`, { body, headers: { "content-type": "text/plain" } });
    expect({ status: text.status, body: text.body }).toEqual({ status: 415, body: shape });
    const large = { ...body, padding: "x".repeat(300_000) };
    const tooLarge = await client.api("POST", `${paid}/endpoints`, { body: large });
    expect({ status: tooLarge.status, body: tooLarge.body }).toEqual({ status: 413, body: shape });
    expect(await stateOf(client)).toEqual(before);
    const charset = { "content-type": "application/json; charset=utf-8" };
    expect((await client.api("POST", `${paid}/endpoints`, { body, headers: charset })).status).toBe(201);
  });

  test("unknown project, branch, endpoint, operation → 404 with the control plane's words", async () => {
    const client = await freshSandbox();
    const messages = await Promise.all([
      client.api("GET", "/projects/none/endpoints"),
      client.api("POST", "/projects/none/endpoints", readWrite(branches.orders)),
      client.api("GET", "/projects/none/operations"),
      client.api("POST", `${paid}/endpoints`, readWrite("br-none")),
      client.api("GET", `${paid}/endpoints/ep-none`),
      client.api("PATCH", `${paid}/endpoints/ep-none`, { body: { endpoint: {} } }),
      client.api("POST", `${paid}/endpoints/ep-none/start`),
      client.api("GET", `${paid}/operations/none`),
    ]);
    expect(messages.map(({ status, body }) => `${status} ${body.message}`)).toEqual([
      "404 project not found",
      "404 project not found",
      "404 project not found",
      "404 branch not found",
      "404 endpoint not found",
      "404 endpoint not found",
      "404 endpoint not found",
      "404 operation not found",
    ]);
  });

  test("second read-write endpoint, move to a branch that has one → 409; to a branch that is missing → 404", async () => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders);
    const second = await client.api("POST", `${paid}/endpoints`, readWrite(branches.orders));
    expect({ status: second.status, message: second.body.message }).toEqual({
      status: 409,
      message: "read_write endpoint already exists",
    });
    await client.activeEndpoint(branches.staging);
    await client.activeEndpoint(branches.preview, { type: "read_only" });
    const move = (branchId: string) =>
      client.api("PATCH", `${paid}/endpoints/${id}`, { body: { endpoint: { branch_id: branchId } } });
    expect((await move(branches.staging)).status).toBe(409);
    expect((await move(branches.preview)).status).toBe(409);
    expect((await move("br-none")).status).toBe(404);
    expect((await client.api("GET", `${paid}/endpoints/${id}`)).body.endpoint.branch_id).toBe(branches.orders);
  });

  test("several things wrong at once → the first of lock, missing, taken, size", async () => {
    const client = await freshSandbox();
    const id = await client.idleEndpoint(branches.orders);
    await client.idleEndpoint(branches.staging);
    const statuses = async (branchId: string) => {
      const fields = { branch_id: branchId, autoscaling_limit_min_cu: 2, autoscaling_limit_max_cu: 1 };
      const answers = [
        await client.api("PATCH", `${paid}/endpoints/${id}`, { body: { endpoint: fields } }),
        await client.api("POST", `${paid}/endpoints`, { body: { endpoint: { ...fields, type: "read_write" } } }),
      ];
      return answers.map(({ status }) => status);
    };
    expect(await statuses("br-none")).toEqual([404, 404]);
    expect(await statuses(branches.staging)).toEqual([409, 409]);
    expect(await statuses(branches.preview)).toEqual([400, 400]);
    await client.api("POST", `${paid}/endpoints/${id}/start`);
    expect(await statuses("br-none")).toEqual([423, 423]);
    const child = { body: { branch: { parent_id: "br-none" } } };
    expect((await client.api("POST", `${paid}/branches`, child)).status).toBe(423);
    await client.advance(latencyMs);
    expect((await client.api("POST", `${paid}/branches`, child)).status).toBe(404);
  });

  test("while an operation runs → every write of the project 423, reads and other projects free", async () => {
    const client = await freshSandbox();
    const idle = await client.idleEndpoint(branches.staging);
    const { body } = await client.api("POST", `${paid}/endpoints`, readWrite(branches.orders));
    const before = await stateOf(client);
    const endpoint = `${paid}/endpoints/${idle}`;
    const writes = [
      ["POST", `${paid}/endpoints`, readWrite(branches.preview)],
      ["PATCH", endpoint, { body: { endpoint: { pooler_enabled: true } } }],
      ["PATCH", endpoint, { body: { endpoint: {} } }],
      ["DELETE", endpoint, {}],
      ["POST", `${endpoint}/start`, {}],
      ["POST", `${endpoint}/suspend`, {}],
      ["POST", `${endpoint}/restart`, {}],
      ["DELETE", `${paid}/endpoints/${body.endpoint.id}`, {}],
      ["POST", `${paid}/branches`, {}],
      ["PATCH", `${paid}/branches/${branches.orders}`, { body: { branch: { name: "x" } } }],
      ["POST", `${paid}/branches/${branches.orders}/set_as_default`, {}],
      ["DELETE", `${paid}/branches/${branches.orders}`, {}],
    ] as const;
    for (const [method, path, sending] of writes) {
      const { status, body: refusal } = await client.api(method, path, sending);
      expect({ status, message: refusal.message }).toEqual({
        status: 423,
        message: "project already has running conflicting operations, scheduling of new ones is prohibited",
      });
    }
    expect(await stateOf(client)).toEqual(before);
    const other = readWrite("br-calm-hill-654321");
    expect((await client.api("POST", "/projects/tiny-owl-654321/endpoints", other)).status).toBe(201);
    await client.advance(latencyMs);
    expect((await client.api("DELETE", endpoint)).status).toBe(200);
  });

  test("more requests than allowed → 429 with Retry-After, not applied, free again after it", async () => {
    const client = await freshSandbox({ rateLimit: { perMinute: 6, perSecond: 4 } });
    const burst = await Promise.all(Array.from({ length: 5 }, () => client.api("GET", "/projects")));
    expect(burst.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 429]);
    const refused = await client.api("POST", `${paid}/endpoints`, readWrite(branches.orders));
    expect({ status: refused.status, after: refused.headers.get("retry-after") }).toEqual({ status: 429, after: "1" });
    await client.advance(400);
    // The seconds are rounded up, so a request after this time is accepted.
    expect((await client.api("GET", "/projects")).headers.get("retry-after")).toBe("1");
    await client.advance(600);
    expect((await client.api("GET", `${paid}/endpoints`)).body.endpoints).toEqual([]);
    expect((await client.api("GET", "/projects")).status).toBe(200);
    const minute = await client.api("GET", "/projects");
    expect({ status: minute.status, after: minute.headers.get("retry-after") }).toEqual({ status: 429, after: "59" });
    await client.advance(59_000);
    expect((await client.api("GET", "/projects")).status).toBe(200);
  });
});
