/** Tests the sandbox's routes for roles and databases. */
import { describe, expect, test } from "vitest";
import { branches, free, freshSandbox, latencyMs, paid, titles } from "./sandbox-client.ts";

const branch = `${paid}/branches/${branches.orders}`;
const role = (name: string, fields = {}) => ({ body: { role: { name, ...fields } } });
const database = (name: string, owner_name = "maindb_owner") => ({ body: { database: { name, owner_name } } });

describe("roles", () => {
  test("create, reset, delete → apply_config running each; the password shows where it is made and revealed", async () => {
    const client = await freshSandbox();
    const id = await client.idleEndpoint(branches.orders);
    const made = await client.api("POST", `${branch}/roles`, role("app"));
    expect(made.status).toBe(201);
    expect(titles(made.body.operations)).toEqual(["apply_config running"]);
    expect(made.body.operations[0]).toMatchObject({ branch_id: branches.orders, endpoint_id: id });
    const { password } = made.body.role;
    expect(password).toMatch(/^\S{16,}$/);
    expect((await client.api("GET", `${branch}/roles/app/reveal_password`)).body).toEqual({ password });
    expect((await client.api("GET", `${branch}/roles/app`)).body.role).not.toHaveProperty("password");
    await client.advance(latencyMs);
    const reset = await client.api("POST", `${branch}/roles/app/reset_password`);
    expect(titles(reset.body.operations)).toEqual(["apply_config running"]);
    expect(reset.body.role.password).not.toBe(password);
    await client.advance(latencyMs);
    const gone = await client.api("DELETE", `${branch}/roles/app`);
    expect(gone.body).toMatchObject({ role: { name: "app" }, operations: [{ action: "apply_config" }] });
    expect((await client.api("GET", `${branch}/roles/app`)).status).toBe(404);
    const { roles } = (await client.api("GET", `${branch}/roles`)).body;
    expect(roles.map(({ name }: { name: string }) => name)).toEqual(["maindb_owner"]);
    expect(JSON.stringify(roles)).not.toContain("password");
  });

  test("a branch without an endpoint → apply_config without endpoint_id", async () => {
    const client = await freshSandbox();
    const { body } = await client.api("POST", `${branch}/roles`, role("app", { no_login: true }));
    expect(body.operations[0]).not.toHaveProperty("endpoint_id");
    expect(body.role).not.toHaveProperty("password");
    expect((await client.api("GET", `${branch}/roles/app/reveal_password`)).status).toBe(422);
    await client.advance(latencyMs);
    expect((await client.api("POST", `${branch}/roles/app/reset_password`)).status).toBe(422);
  });

  test("name taken → 409; owner of a database → 422; missing → 404; work running → 423", async () => {
    const client = await freshSandbox();
    expect((await client.api("POST", `${branch}/roles`, role("maindb_owner"))).status).toBe(409);
    expect((await client.api("DELETE", `${branch}/roles/maindb_owner`)).status).toBe(422);
    expect((await client.api("DELETE", `${branch}/roles/none`)).status).toBe(404);
    expect((await client.api("POST", `${branch}/roles/none/reset_password`)).status).toBe(404);
    expect((await client.api("GET", `${free}/branches/${branches.orders}/roles`)).status).toBe(404);
    expect((await client.api("POST", `${branch}/roles`, role("one"))).status).toBe(201);
    expect((await client.api("POST", `${branch}/roles`, role("two"))).status).toBe(423);
  });

  test.each(["x".repeat(64), "é".repeat(32), "a\u0000b"])("name %j → 400", async (name) => {
    const client = await freshSandbox();
    expect((await client.api("POST", `${branch}/roles`, { body: { role: { name } } })).status).toBe(400);
    const { status } = await client.api("POST", `${branch}/databases`, {
      body: { database: { name, owner_name: "maindb_owner" } },
    });
    expect(status).toBe(400);
  });

  test.each(["cloud_admin", "pg_reader", "public"])(
    "the reserved name %s → 400, for a new project too; the branch has no such role",
    async (name) => {
      const client = await freshSandbox();
      const refused = await client.api("POST", `${branch}/roles`, role(name));
      expect(refused.status).toBe(400);
      expect(refused.body.message).toContain(`the role name "${name}" is reserved`);
      const project = await client.api("POST", "/projects", { body: { project: { branch: { role_name: name } } } });
      expect(project.status).toBe(400);
      expect((await client.api("GET", `${branch}/roles/${name}`)).status).toBe(404);
    },
  );
});

describe("databases", () => {
  test("create, rename, give away, delete → apply_config running each; the id stays", async () => {
    const client = await freshSandbox();
    const made = await client.api("POST", `${branch}/databases`, database("shop"));
    expect(made.status).toBe(201);
    expect(titles(made.body.operations)).toEqual(["apply_config running"]);
    await client.advance(latencyMs);
    await client.api("POST", `${branch}/roles`, role("app"));
    await client.advance(latencyMs);
    const patch = (fields: Record<string, unknown>, name = "shop") =>
      client.api("PATCH", `${branch}/databases/${name}`, { body: { database: fields } });
    const renamed = await patch({ name: "store a/b" });
    expect(titles(renamed.body.operations)).toEqual(["apply_config running"]);
    await client.advance(latencyMs);
    const given = await patch({ owner_name: "app" }, "store%20a%2Fb");
    expect(given.body.database).toMatchObject({ id: made.body.database.id, name: "store a/b", owner_name: "app" });
    await client.advance(latencyMs);
    expect((await patch({ owner_name: "app" }, "store%20a%2Fb")).body.operations).toEqual([]);
    const gone = await client.api("DELETE", `${branch}/databases/store%20a%2Fb`);
    expect(titles(gone.body.operations)).toEqual(["apply_config running"]);
    const { databases } = (await client.api("GET", `${branch}/databases`)).body;
    expect(databases.map(({ name }: { name: string }) => name)).toEqual(["maindb"]);
  });

  test("name taken → 409; unknown owner, unknown database → 404; no owner → 400; work running → 423", async () => {
    const client = await freshSandbox();
    expect((await client.api("POST", `${branch}/databases`, database("maindb"))).status).toBe(409);
    expect((await client.api("POST", `${branch}/databases`, database("x", "none"))).status).toBe(404);
    expect((await client.api("POST", `${branch}/databases`, { body: { database: { name: "x" } } })).status).toBe(400);
    expect((await client.api("GET", `${branch}/databases/none`)).status).toBe(404);
    expect((await client.api("DELETE", `${branch}/databases/none`)).status).toBe(404);
    expect((await client.api("POST", `${branch}/databases`, database("one"))).status).toBe(201);
    expect((await client.api("DELETE", `${branch}/databases/one`)).status).toBe(423);
    await client.advance(latencyMs);
    const taken = await client.api("PATCH", `${branch}/databases/one`, { body: { database: { name: "maindb" } } });
    expect(taken.status).toBe(409);
  });
});

test.each(["postgres", "template1"])(
  "the reserved database name %s → 400 at create, rename and in a new project",
  async (name) => {
    const client = await freshSandbox();
    const refused = await client.api("POST", `${branch}/databases`, database(name));
    expect(refused.status).toBe(400);
    expect(refused.body.message).toContain(`the database name "${name}" is reserved`);
    const renamed = await client.api("PATCH", `${branch}/databases/maindb`, { body: { database: { name } } });
    expect(renamed.status).toBe(400);
    const project = await client.api("POST", "/projects", { body: { project: { branch: { database_name: name } } } });
    expect(project.status).toBe(400);
  },
);

describe("connection_uri", () => {
  const query = "database_name=maindb&role_name=maindb_owner";

  test("branch with an endpoint → a string with its host; pooled → that of the pooler", async () => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders);
    const { password } = (await client.api("GET", `${branch}/roles/maindb_owner/reveal_password`)).body;
    const uri = async (more: string) =>
      (await client.api("GET", `${paid}/connection_uri?${query}&branch_id=${branches.orders}${more}`)).body.uri;
    const host = "us-east-2.aws.sandbox.localhost";
    expect(await uri("")).toBe(`postgresql://maindb_owner:${password}@${id}.${host}/maindb?sslmode=require`);
    expect(new URL(await uri("&pooled=true")).hostname).toBe(`${id}-pooler.${host}`);
    expect(await uri(`&endpoint_id=${id}`)).toBe(await uri(""));
  });

  test("no endpoint, unknown database or role, endpoint of another branch → 404; nothing named → 400", async () => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders);
    const status = async (text: string) => (await client.api("GET", `${paid}/connection_uri?${text}`)).status;
    expect(await status(query)).toBe(404);
    expect(await status(`${query}&endpoint_id=${id}&branch_id=${branches.main}`)).toBe(404);
    expect(await status(`database_name=none&role_name=maindb_owner&endpoint_id=${id}`)).toBe(404);
    expect(await status(`database_name=maindb&role_name=none&endpoint_id=${id}`)).toBe(404);
    expect(await status("")).toBe(400);
    expect(await status(`${query}&pooled=maybe`)).toBe(400);
  });
});
