/** Tests that the sandbox never accepts a field without an effect. */
import { describe, expect, test } from "vitest";
import { branches, freshSandbox, latencyMs, paid, type SandboxClient } from "./sandbox-client.ts";

test("org_id, recoverable → filter the list of projects", async () => {
  const client = await freshSandbox();
  const { body } = await client.api("POST", "/projects", { body: { project: { org_id: "org-a" } } });
  const ids = async (query: string) =>
    (await client.api("GET", `/projects?${query}`)).body.projects.map(({ id }: { id: string }) => id);
  expect(await ids("org_id=org-a")).toEqual([body.project.id]);
  expect(await ids("org_id=org-b")).toEqual([]);
  expect(await ids("recoverable=true")).toEqual([]);
});

test("default_endpoint_settings → later endpoints of the project have them, unless a request says otherwise", async () => {
  const client = await freshSandbox({ profile: "public" });
  const defaults = { autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 2, suspend_timeout_seconds: 120 };
  const { body } = await client.api("POST", "/projects", {
    body: { project: { default_endpoint_settings: defaults } },
  });
  expect(body.endpoints[0]).toMatchObject(defaults);
  await client.advance(2 * latencyMs);
  const path = `/projects/${body.project.id}`;
  const branch = await client.api("POST", `${path}/branches`, { body: { endpoints: [{ type: "read_write" }] } });
  expect(branch.body.endpoints[0]).toMatchObject(defaults);
  await client.advance(2 * latencyMs);
  const endpoint = { branch_id: body.branch.id, type: "read_only", autoscaling_limit_max_cu: 0.5 };
  const made = await client.api("POST", `${path}/endpoints`, { body: { endpoint } });
  expect(made.body.endpoint).toMatchObject({
    autoscaling_limit_min_cu: 0.5,
    autoscaling_limit_max_cu: 0.5,
    suspend_timeout_seconds: 120,
  });
});

test("store_passwords false → passwords cannot be revealed, nor are they in a connection string", async () => {
  const client = await freshSandbox();
  const { body } = await client.api("POST", "/projects", { body: { project: { store_passwords: false } } });
  const [{ name, password }] = body.roles;
  expect(password).toBeTypeOf("string");
  const path = `/projects/${body.project.id}`;
  const revealed = await client.api("GET", `${path}/branches/${body.branch.id}/roles/${name}/reveal_password`);
  expect(revealed.status).toBe(412);
  const query = `database_name=${body.databases[0].name}&role_name=${name}`;
  expect((await client.api("GET", `${path}/connection_uri?${query}`)).body.uri).not.toContain(password);
});

test("logical replication → active computes are suspended; it cannot be disabled again", async () => {
  const client = await freshSandbox();
  const endpoint = { branch_id: branches.orders, type: "read_write" };
  await client.api("POST", `${paid}/endpoints`, { body: { endpoint } });
  await client.advance(latencyMs);
  const set = (value: boolean) =>
    client.api("PATCH", paid, { body: { project: { settings: { enable_logical_replication: value } } } });
  expect((await set(true)).body.operations).toMatchObject([{ action: "suspend_compute" }]);
  await client.advance(latencyMs);
  expect((await set(false)).status).toBe(422);
});

const inAnHour = async (client: SandboxClient): Promise<string> =>
  new Date(Date.parse((await client.control("GET", "/clock")).body.now) + 3_600_000).toISOString();

describe("branch", () => {
  test("expires_at → kept; the branch is deleted at that time of the sandbox's clock", async () => {
    const client = await freshSandbox();
    const expires = await inAnHour(client);
    const made = await client.api("POST", `${paid}/branches`, {
      body: { branch: { name: "brief", expires_at: expires } },
    });
    expect(made.body.branch).toMatchObject({ expires_at: expires, ttl_interval_seconds: 3600 });
    const path = `${paid}/branches/${made.body.branch.id}`;
    await client.advance(3_599_999);
    expect((await client.api("GET", path)).status).toBe(200);
    await client.advance(1);
    expect((await client.api("GET", path)).status).toBe(404);
  });

  test("expires_at set to null → the branch stays; one in the past or on a default branch is refused", async () => {
    const client = await freshSandbox();
    const path = `${paid}/branches/${branches.orders}`;
    const set = (expires: string | null, at = path) =>
      client.api("PATCH", at, { body: { branch: { expires_at: expires } } });
    const expires = await inAnHour(client);
    expect((await set(expires)).body.branch.expires_at).toBe(expires);
    expect((await set(null)).body.branch.expires_at).toBeUndefined();
    await client.advance(7_200_000);
    expect((await client.api("GET", path)).status).toBe(200);
    expect((await set("2001-01-01T00:00:00Z")).status).toBe(400);
    expect((await set("soon")).status).toBe(400);
    expect((await set(await inAnHour(client), `${paid}/branches/${branches.main}`)).status).toBe(422);
  });

  test("a branch that expires while its project is locked or while it has a child → deleted later", async () => {
    const client = await freshSandbox();
    const expires = await inAnHour(client);
    const parent = await client.api("POST", `${paid}/branches`, { body: { branch: { expires_at: expires } } });
    await client.advance(latencyMs);
    const { id } = parent.body.branch;
    const child = await client.api("POST", `${paid}/branches`, { body: { branch: { parent_id: id } } });
    await client.advance(3_700_000);
    expect((await client.api("GET", `${paid}/branches/${id}`)).status).toBe(200);
    await client.api("DELETE", `${paid}/branches/${child.body.branch.id}`);
    await client.advance(61_000);
    expect((await client.api("GET", `${paid}/branches/${id}`)).status).toBe(404);
  });

  test("init_source schema-only → a root branch", async () => {
    const client = await freshSandbox();
    const made = await client.api("POST", `${paid}/branches`, { body: { branch: { init_source: "schema-only" } } });
    expect(made.body.branch).toMatchObject({ init_source: "schema-only" });
    expect(made.body.branch.parent_id).toBeUndefined();
  });

  test("parent_timestamp → the roles of then; in the future 400, before the history 422", async () => {
    const client = await freshSandbox();
    const rolesPath = `${paid}/branches/${branches.main}/roles`;
    await client.advance(60_000);
    const then = (await client.control("GET", "/clock")).body.now;
    await client.advance(60_000);
    await client.api("POST", rolesPath, { body: { role: { name: "late" } } });
    await client.advance(latencyMs);
    const make = (at: string) => client.api("POST", `${paid}/branches`, { body: { branch: { parent_timestamp: at } } });
    const made = await make(then);
    expect(made.body.branch.parent_timestamp).toBe(then);
    expect(made.body.roles.map(({ name }: { name: string }) => name)).toEqual(["maindb_owner"]);
    await client.advance(latencyMs);
    expect((await make(await inAnHour(client))).status).toBe(400);
    expect((await make("2001-01-01T00:00:00Z")).status).toBe(422);
  });

  test("sort_by, sort_order → the whole list in that order over pages of any size", async () => {
    const client = await freshSandbox();
    const names = async (query: string): Promise<readonly string[]> => {
      const found: string[] = [];
      for (let cursor = ""; ; ) {
        const { body } = await client.api("GET", `${paid}/branches?limit=2&${query}${cursor}`);
        found.push(...body.branches.map(({ name }: { name: string }) => name));
        if (body.pagination?.next === undefined) return found;
        expect(body.pagination).toMatchObject({ sort_by: expect.any(String), sort_order: expect.any(String) });
        cursor = `&cursor=${body.pagination.next}`;
      }
    };
    expect(await names("sort_by=name&sort_order=asc")).toEqual(["main", "orders", "preview", "staging"]);
    expect(await names("sort_by=name")).toEqual(["staging", "preview", "orders", "main"]);
    await client.advance(1000);
    await client.api("PATCH", `${paid}/branches/${branches.orders}`, { body: { branch: { name: "orders-2" } } });
    expect((await names("sort_order=desc"))[0]).toBe("orders-2");
    expect((await client.api("GET", `${paid}/branches?sort_by=colour`)).status).toBe(400);
    expect((await client.api("GET", `${paid}/branches?cursor=nonsense`)).status).toBe(400);
    expect((await client.api("GET", `${paid}/branches/count?search=re`)).body).toEqual({ count: 2 - 1 });
  });
});

describe("endpoint", () => {
  const create = (fields: object) => ({
    body: { endpoint: { branch_id: branches.orders, type: "read_write", ...fields } },
  });

  test.each([
    ["region_id", "aws-eu-west-2"],
    ["pooler_mode", "session"],
    ["settings.pg_settings.Max_Connections", { pg_settings: { Max_Connections: "1000" } }],
  ])("%s of %j → 400 naming it", async (field, value) => {
    const client = await freshSandbox();
    const { status, body } = await client.api(
      "POST",
      `${paid}/endpoints`,
      create({ [field.split(".")[0] ?? ""]: value }),
    );
    expect({ status, message: body.message }).toEqual({ status: 400, message: expect.stringContaining(field) });
  });
});

test("pg_version without programs → 422 that names the versions; none → the newest", async () => {
  const client = await freshSandbox();
  const create = (project: object) => client.api("POST", "/projects", { body: { project } });
  expect(await create({ pg_version: 19 })).toMatchObject({ status: 422, body: { message: /14, 15, 16, 17, 18$/ } });
  expect((await create({})).body.project.pg_version).toBe(18);
});

test("a field that asks for nothing → as if it were not there", async () => {
  const client = await freshSandbox();
  const settings = { quota: { active_time_seconds: 0 }, allowed_ips: { ips: [] }, hipaa: false };
  expect((await client.api("PATCH", paid, { body: { project: { settings } } })).status).toBe(200);
});
