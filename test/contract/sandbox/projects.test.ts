/** Tests the sandbox's routes for projects. */
import { describe, expect, test } from "vitest";
import { branches, free, freshSandbox, latencyMs, paid, type SandboxClient, titles } from "./sandbox-client.ts";

/** Returns the operations of a project, oldest first. */
async function history(client: SandboxClient, project = paid): Promise<string[]> {
  const { body } = await client.api("GET", `${project}/operations`);
  return titles(body.operations).reverse();
}

describe("create", () => {
  test("nothing asked for → create_timeline running, start_compute waiting for it; then all is ready", async () => {
    const client = await freshSandbox();
    const { status, body } = await client.api("POST", "/projects", { body: { project: {} } });
    expect(status).toBe(201);
    expect(titles(body.operations)).toEqual(["create_timeline running", "start_compute scheduling"]);
    const [timeline, start] = body.operations;
    expect(timeline).not.toHaveProperty("endpoint_id");
    expect(timeline.branch_id).toBe(body.branch.id);
    expect(start.endpoint_id).toBe(body.endpoints[0].id);
    expect(body.project.id).toMatch(/^[a-z]+-[a-z]+-\d{8}$/);
    expect(body.branch).toMatchObject({ name: "main", primary: true, current_state: "init", pending_state: "ready" });
    expect(body.endpoints).toMatchObject([{ type: "read_write", current_state: "init", pending_state: "active" }]);
    const [{ name: role, password }] = body.roles;
    const [{ name: database, owner_name }] = body.databases;
    expect(owner_name).toBe(role);
    expect(body.connection_uris[0].connection_uri).toBe(
      `postgresql://${role}:${password}@${body.endpoints[0].host}/${database}?sslmode=require`,
    );
    await client.advance(2 * latencyMs);
    const project = `/projects/${body.project.id}`;
    expect(await history(client, project)).toEqual(["create_timeline finished", "start_compute finished"]);
    const branch = (await client.api("GET", `${project}/branches/${body.branch.id}`)).body.branch;
    expect(branch).toMatchObject({ current_state: "ready" });
    expect(branch).not.toHaveProperty("pending_state");
    expect((await client.api("GET", `${project}/endpoints`)).body.endpoints[0].current_state).toBe("active");
  });

  test("create_timeline fails → the branch stays in init", async () => {
    const client = await freshSandbox();
    await client.control("POST", "/operations/fail-next", { action: "create_timeline" });
    const { body } = await client.api("POST", "/projects", { body: { project: {} } });
    await client.advance(2 * latencyMs);
    const project = `/projects/${body.project.id}`;
    expect(await history(client, project)).toEqual(["create_timeline failed", "start_compute finished"]);
    const { branches: list } = (await client.api("GET", `${project}/branches`)).body;
    expect(list[0].current_state).toBe("init");
  });

  test.each([
    ["unknown region", { project: { region_id: "mars-north-1" } }, 404],
    ["unknown version", { project: { pg_version: 9 } }, 400],
    ["a size that is none", { project: { autoscaling_limit_max_cu: 0.3 } }, 400],
    ["a size above the largest", { project: { autoscaling_limit_max_cu: 99 } }, 422],
  ])("%s → refused, and no project is left", async (_what, body, status) => {
    const client = await freshSandbox();
    expect((await client.api("POST", "/projects", { body })).status).toBe(status);
    expect((await client.api("GET", "/projects")).body.projects).toHaveLength(2);
  });
});

describe("update", () => {
  test("another history retention → apply_storage_config running; the same one, or a name → nothing", async () => {
    const client = await freshSandbox();
    const patch = (project: Record<string, unknown>) => client.api("PATCH", paid, { body: { project } });
    const { body } = await patch({ history_retention_seconds: 3600 });
    expect(titles(body.operations)).toEqual(["apply_storage_config running"]);
    expect(body.operations[0]).toMatchObject({ branch_id: branches.main, failures_count: 0 });
    expect(body.project.history_retention_seconds).toBe(3600);
    expect((await patch({ history_retention_seconds: 7200 })).status).toBe(423);
    await client.advance(latencyMs);
    expect((await patch({ history_retention_seconds: 3600 })).body.operations).toEqual([]);
    expect((await patch({ name: "renamed" })).body).toMatchObject({ project: { name: "renamed" }, operations: [] });
    expect(await history(client)).toEqual(["apply_storage_config finished"]);
  });
});

describe("delete", () => {
  test("idle → delete_tenant running; gone at once, its operations still readable", async () => {
    const client = await freshSandbox();
    const id = await client.idleEndpoint(branches.orders);
    const { status, body } = await client.api("DELETE", paid);
    expect(status).toBe(200);
    expect(titles(body.operations)).toEqual(["delete_tenant running"]);
    for (const path of [paid, `${paid}/endpoints`, `${paid}/endpoints/${id}`, `${paid}/branches`]) {
      expect((await client.api("GET", path)).status).toBe(404);
    }
    expect((await client.api("PATCH", paid, { body: { project: { name: "x" } } })).status).toBe(404);
    expect((await client.api("GET", "/projects")).body.projects).toHaveLength(1);
    await client.advance(latencyMs);
    expect((await history(client)).at(-1)).toBe("delete_tenant finished");
    const one = await client.api("GET", `${paid}/operations/${body.operations[0].id}`);
    expect(one.body.operation).toMatchObject({ status: "finished", branch_id: branches.main });
  });

  test("active → its computes are suspended first", async () => {
    const client = await freshSandbox();
    await client.activeEndpoint(branches.orders);
    await client.activeEndpoint(branches.staging);
    const { body } = await client.api("DELETE", paid);
    const actions = ["suspend_compute running", "suspend_compute scheduling", "delete_tenant scheduling"];
    expect(titles(body.operations)).toEqual(actions);
    expect((await client.api("GET", free)).status).toBe(200);
  });

  test("profile public → the answer names no operations, the log does", async () => {
    const client = await freshSandbox({ profile: "public" });
    expect((await client.api("DELETE", paid)).body).not.toHaveProperty("operations");
    expect(await history(client)).toEqual(["delete_tenant running"]);
  });
});

describe("list", () => {
  test("pages while projects come and go → none lost, none twice", async () => {
    const client = await freshSandbox();
    const made: string[] = [];
    for (let count = 0; count < 4; count += 1) {
      made.push((await client.api("POST", "/projects", { body: { project: {} } })).body.project.id);
    }
    await client.advance(2 * latencyMs);
    const seen: string[] = [];
    let cursor = "";
    for (let page = 0; page < 5; page += 1) {
      const { body } = await client.api("GET", `/projects?limit=2${cursor}`);
      if (body.projects.length === 0) break;
      seen.push(...body.projects.map(({ id }: { id: string }) => id));
      cursor = `&cursor=${body.pagination.cursor}`;
      if (page === 1) await client.api("DELETE", `/projects/${seen.at(-1)}`);
    }
    expect(seen).toEqual(["green-fox-123456", "tiny-owl-654321", ...made]);
  });

  test("search → by name or id", async () => {
    const client = await freshSandbox();
    const { body } = await client.api("GET", "/projects?search=owl");
    expect(body.projects.map(({ id }: { id: string }) => id)).toEqual(["tiny-owl-654321"]);
  });
});
