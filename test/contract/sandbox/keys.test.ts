/** Tests what API keys of each scope may do. */
import { describe, expect, test } from "vitest";
import { branches, free, freshSandbox, paid, type SandboxClient } from "./sandbox-client.ts";

async function keyWith(client: SandboxClient, scope: Record<string, unknown>): Promise<string> {
  const { status, body } = await client.control("POST", "/keys", { name: "scoped", scope });
  expect(status).toBe(201);
  return body.key;
}

const writes = [
  ["POST", `${paid}/endpoints`],
  ["PATCH", `${paid}/endpoints/ep-x`],
  ["DELETE", `${paid}/endpoints/ep-x`],
  ["POST", `${paid}/endpoints/ep-x/start`],
  ["POST", `${paid}/branches`],
  ["DELETE", `${paid}/branches/${branches.orders}`],
  ["PATCH", paid],
  ["DELETE", paid],
  ["POST", "/projects"],
  ["POST", "/api_keys"],
  ["DELETE", "/api_keys/1"],
] as const;

const secrets = [
  `${paid}/branches/${branches.main}/roles/maindb_owner/reveal_password`,
  `${paid}/connection_uri?database_name=maindb&role_name=maindb_owner`,
];

describe("a key that may only read", () => {
  test("reads → 200; every write and every secret → 403, and nothing changes", async () => {
    const client = await freshSandbox();
    const key = await keyWith(client, { access: "read" });
    for (const path of ["/projects", paid, `${paid}/endpoints`, `${paid}/operations`, "/regions", "/api_keys"]) {
      expect((await client.api("GET", path, { key })).status).toBe(200);
    }
    const before = (await client.control("GET", "/snapshot")).body.content;
    for (const [method, path] of writes) {
      const { status, body } = await client.api(method, path, { key, body: {} });
      expect({ status, message: body.message }).toEqual({ status: 403, message: "this key may only read" });
    }
    for (const path of secrets) expect((await client.api("GET", path, { key })).status).toBe(403);
    expect((await client.control("GET", "/snapshot")).body.content).toEqual(before);
  });
});

describe("a key for one project", () => {
  test("its project → all but deleting it; other projects, known or not, and the account → 403", async () => {
    const client = await freshSandbox();
    const key = await keyWith(client, { projectId: "green-fox-123456" });
    const endpoint = { endpoint: { branch_id: branches.orders, type: "read_write" } };
    expect((await client.api("POST", `${paid}/endpoints`, { key, body: endpoint })).status).toBe(201);
    expect((await client.api("GET", secrets[0] ?? "", { key })).status).toBe(200);
    const { projects } = (await client.api("GET", "/projects", { key })).body;
    expect(projects.map(({ id }: { id: string }) => id)).toEqual(["green-fox-123456"]);
    for (const [method, path] of [
      ["GET", free],
      ["GET", `${free}/operations`],
      ["POST", `${free}/endpoints`],
      ["GET", "/projects/none"],
      ["DELETE", paid],
      ["POST", "/projects"],
      ["GET", "/api_keys"],
      ["POST", "/api_keys"],
    ] as const) {
      const sent = method === "GET" ? { key } : { key, body: {} };
      expect({ path, status: (await client.api(method, path, sent)).status }).toEqual({ path, status: 403 });
    }
  });
});

describe("/api_keys", () => {
  test("create → the key works and is shown once; list names its use; revoke → 401 from then on", async () => {
    const client = await freshSandbox();
    const { status, body } = await client.api("POST", "/api_keys", { body: { key_name: "ci" } });
    expect(status).toBe(200);
    expect(body).toEqual({
      id: 2,
      key: expect.any(String),
      name: "ci",
      created_at: expect.any(String),
      created_by: "user-sandbox",
    });
    const listed = async () => (await client.api("GET", "/api_keys")).body[1];
    expect(await listed()).toMatchObject({ id: 2, name: "ci", last_used_at: null, last_used_from_addr: "" });
    expect((await client.api("GET", "/projects", { key: body.key })).status).toBe(200);
    expect(await listed()).toMatchObject({ last_used_at: expect.any(String), last_used_from_addr: "127.0.0.1" });
    expect(JSON.stringify(await listed())).not.toContain(body.key);
    const revoked = await client.api("DELETE", "/api_keys/2");
    expect(revoked.body).toMatchObject({ id: 2, name: "ci", revoked: true });
    expect((await client.api("GET", "/projects", { key: body.key })).status).toBe(401);
    expect((await client.api("DELETE", "/api_keys/2")).status).toBe(404);
    expect((await client.api("DELETE", "/api_keys/x")).status).toBe(400);
    expect((await client.api("POST", "/api_keys", { body: { key_name: 5 } })).status).toBe(400);
  });
});
