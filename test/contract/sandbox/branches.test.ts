/** Tests the sandbox's routes for branches. */
import { describe, expect, test } from "vitest";
import { branches, free, freeBranch, freshSandbox, latencyMs, paid, titles } from "./sandbox-client.ts";

const readWrite = { type: "read_write" };

describe("create", () => {
  test("with an endpoint → create_branch running without endpoint_id, start_compute scheduling; then ready", async () => {
    const client = await freshSandbox();
    const { status, body } = await client.api("POST", `${paid}/branches`, {
      body: { branch: { name: "feature" }, endpoints: [{ ...readWrite, autoscaling_limit_max_cu: 1 }] },
    });
    expect(status).toBe(201);
    expect(titles(body.operations)).toEqual(["create_branch running", "start_compute scheduling"]);
    const [create, start] = body.operations;
    expect(create).not.toHaveProperty("endpoint_id");
    expect(create.created_at).toBe(start.created_at);
    expect(start.endpoint_id).toBe(body.endpoints[0].id);
    expect(body.branch).toMatchObject({ name: "feature", parent_id: branches.main, current_state: "init" });
    expect(body.branch.id).toMatch(/^br-[a-z]+-[a-z]+-\d{8}$/);
    expect(body.endpoints).toMatchObject([{ autoscaling_limit_min_cu: 0.25, autoscaling_limit_max_cu: 1 }]);
    expect(body.connection_uris).toHaveLength(1);
    await client.advance(latencyMs);
    const branch = async () => (await client.api("GET", `${paid}/branches/${body.branch.id}`)).body.branch;
    expect(await branch()).toMatchObject({ current_state: "ready" });
    await client.advance(latencyMs);
    const { endpoints } = (await client.api("GET", `${paid}/branches/${body.branch.id}/endpoints`)).body;
    expect(endpoints).toMatchObject([{ id: body.endpoints[0].id, current_state: "active" }]);
  });

  test("no body → create_branch alone, no endpoint, named after its id, roles and databases of the parent", async () => {
    const client = await freshSandbox();
    const { status, body } = await client.api("POST", `${paid}/branches`);
    expect(status).toBe(201);
    expect(titles(body.operations)).toEqual(["create_branch running"]);
    expect(body).toMatchObject({ endpoints: [], connection_uris: [], branch: { name: body.branch.id } });
    expect(body.roles).toMatchObject([{ name: "maindb_owner" }]);
    expect(body.databases).toMatchObject([{ name: "maindb", owner_name: "maindb_owner" }]);
    const reveal = (branch: string) =>
      client.api("GET", `${paid}/branches/${branch}/roles/maindb_owner/reveal_password`);
    expect((await reveal(body.branch.id)).body).toEqual((await reveal(branches.main)).body);
  });

  test.each([
    ["unknown parent", { branch: { parent_id: "br-none" } }, 404],
    ["a parent of another project", { branch: { parent_id: freeBranch } }, 404],
    ["a name that is taken", { branch: { name: "orders" } }, 409],
    ["two read-write endpoints", { endpoints: [readWrite, readWrite] }, 409],
    ["too many endpoints", { endpoints: Array(21).fill({ type: "read_only" }) }, 400],
    ["a size above the largest", { endpoints: [{ ...readWrite, autoscaling_limit_max_cu: 99 }] }, 422],
  ])("%s → refused, and nothing is left", async (_what, body, status) => {
    const client = await freshSandbox();
    expect((await client.api("POST", `${paid}/branches`, { body })).status).toBe(status);
    expect((await client.api("GET", `${paid}/branches`)).body.branches).toHaveLength(4);
    expect((await client.api("GET", `${paid}/endpoints`)).body.endpoints).toEqual([]);
    expect((await client.api("GET", `${paid}/operations`)).body.operations).toEqual([]);
  });

  test("free tier → a replica and an eleventh branch are refused with 422", async () => {
    const client = await freshSandbox();
    const create = (body: unknown) => client.api("POST", `${free}/branches`, { body });
    const replica = await create({ endpoints: [{ type: "read_only" }] });
    expect({ status: replica.status, code: replica.body.code }).toEqual({
      status: 422,
      code: "READ_ONLY_ENDPOINTS_LIMIT_EXCEEDED",
    });
    for (let count = 2; count < 10; count += 1) {
      expect((await create({})).status).toBe(201);
      await client.advance(latencyMs);
    }
    const { status, body } = await create({});
    expect({ status, code: body.code }).toEqual({ status: 422, code: "BRANCHES_LIMIT_EXCEEDED" });
  });
});

describe("update", () => {
  test("rename, protect, make default → no operations; the same again → nothing changed", async () => {
    const client = await freshSandbox();
    const path = `${paid}/branches/${branches.orders}`;
    const rename = await client.api("PATCH", path, { body: { branch: { name: "sales" } } });
    expect(rename.body).toMatchObject({ branch: { name: "sales" }, operations: [] });
    const again = await client.api("PATCH", path, { body: { branch: { name: "sales" } } });
    expect(again.body.branch).toEqual(rename.body.branch);
    expect((await client.api("PATCH", path, { body: { branch: { name: "main" } } })).status).toBe(409);
    const made = await client.api("POST", `${path}/set_as_default`);
    expect(made.body).toMatchObject({ branch: { primary: true, default: true }, operations: [] });
    const { body } = await client.api("GET", `${paid}/branches`);
    const primary = body.branches.filter((branch: { primary: boolean }) => branch.primary);
    expect(primary.map(({ id }: { id: string }) => id)).toEqual([branches.orders]);
  });
});

describe("delete", () => {
  test("with an active endpoint → both gone at once, suspend_compute running", async () => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders);
    const { body } = await client.api("DELETE", `${paid}/branches/${branches.orders}`);
    expect(body.branch.id).toBe(branches.orders);
    expect(titles(body.operations)).toEqual(["suspend_compute running"]);
    expect(body.operations[0].endpoint_id).toBe(id);
    expect((await client.api("GET", `${paid}/endpoints/${id}`)).status).toBe(404);
    expect((await client.api("GET", `${paid}/branches/${branches.orders}/roles`)).status).toBe(404);
    await client.advance(latencyMs);
    const { operations } = (await client.api("GET", `${paid}/operations`)).body;
    expect(titles(operations)[0]).toBe("suspend_compute finished");
  });

  test("with an idle one, or none → operations []; no check of it afterwards", async () => {
    const client = await freshSandbox({ availabilityCheckIntervalMs: 60_000 });
    await client.idleEndpoint(branches.orders);
    const { body } = await client.api("DELETE", `${paid}/branches/${branches.orders}`);
    expect(body.operations).toEqual([]);
    await client.advance(200_000);
    const { operations } = (await client.api("GET", `${paid}/operations`)).body;
    expect(titles(operations)).toEqual(["suspend_compute finished", "start_compute finished"]);
  });

  test("primary, protected, with children → 422, and all is as it was", async () => {
    const client = await freshSandbox();
    const child = await client.api("POST", `${paid}/branches`, { body: { branch: { parent_id: branches.orders } } });
    await client.advance(latencyMs);
    await client.api("PATCH", `${paid}/branches/${branches.staging}`, { body: { branch: { protected: true } } });
    for (const id of [branches.main, branches.orders, branches.staging]) {
      expect((await client.api("DELETE", `${paid}/branches/${id}`)).status).toBe(422);
    }
    expect((await client.api("GET", `${paid}/branches`)).body.branches).toHaveLength(5);
    expect((await client.api("DELETE", `${paid}/branches/${child.body.branch.id}`)).status).toBe(200);
    expect((await client.api("DELETE", `${paid}/branches/${branches.orders}`)).status).toBe(200);
  });

  test("protected → its endpoint and its project → 422 too, until it is not protected", async () => {
    const client = await freshSandbox();
    const endpoint = await client.idleEndpoint(branches.staging);
    const protect = (isProtected: boolean) =>
      client.api("PATCH", `${paid}/branches/${branches.staging}`, { body: { branch: { protected: isProtected } } });
    await protect(true);
    expect((await client.api("DELETE", `${paid}/endpoints/${endpoint}`)).status).toBe(422);
    expect((await client.api("DELETE", paid)).status).toBe(422);
    expect((await client.api("GET", `${paid}/endpoints/${endpoint}`)).status).toBe(200);
    await protect(false);
    expect((await client.api("DELETE", `${paid}/endpoints/${endpoint}`)).status).toBe(200);
    await client.advance(latencyMs);
    expect((await client.api("DELETE", paid)).status).toBe(200);
  });
});

describe("list", () => {
  test("pages → next until the last one, which has none; search by name", async () => {
    const client = await freshSandbox();
    const first = (await client.api("GET", `${paid}/branches?limit=3`)).body;
    expect(first.branches).toHaveLength(3);
    const second = (await client.api("GET", `${paid}/branches?limit=3&cursor=${first.pagination.next}`)).body;
    expect(second.branches.map(({ id }: { id: string }) => id)).toEqual([branches.preview]);
    expect(second).not.toHaveProperty("pagination");
    const found = (await client.api("GET", `${paid}/branches?search=stag`)).body.branches;
    expect(found.map(({ name }: { name: string }) => name)).toEqual(["staging"]);
    expect((await client.api("GET", `${paid}/branches?cursor=x`)).status).toBe(400);
  });
});
