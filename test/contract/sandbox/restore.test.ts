/** Tests the sandbox's routes for restores and snapshots of branches. */
import { describe, expect, test } from "vitest";
import { branches, free, freshSandbox, latencyMs, paid, type SandboxClient } from "./sandbox-client.ts";

const path = (branchId: string) => `${paid}/branches/${branchId}`;
const now = async (client: SandboxClient): Promise<string> => (await client.control("GET", "/clock")).body.now;

async function roleNames(client: SandboxClient, branchId: string): Promise<readonly string[]> {
  const { body } = await client.api("GET", `${path(branchId)}/roles`);
  return body.roles.map(({ name }: { name: string }) => name);
}

async function addRole(client: SandboxClient, branchId: string, name: string): Promise<void> {
  const { status } = await client.api("POST", `${path(branchId)}/roles`, { body: { role: { name } } });
  expect(status).toBe(201);
  await client.advance(latencyMs);
}

const restore = (client: SandboxClient, branchId: string, body: object) =>
  client.api("POST", `${path(branchId)}/restore`, { body });

describe("branch restore", () => {
  test("from its parent → the parent's roles; the branch stays itself", async () => {
    const client = await freshSandbox();
    await addRole(client, branches.main, "fresh");
    await addRole(client, branches.orders, "stale");
    const { status, body } = await restore(client, branches.orders, { source_branch_id: branches.main });
    expect(status).toBe(200);
    expect(body.branch).toMatchObject({ id: branches.orders, name: "orders", current_state: "resetting" });
    expect(body.operations).toMatchObject([{ action: "create_branch", status: "running" }]);
    expect(await roleNames(client, branches.orders)).toEqual(["maindb_owner", "fresh"]);
    await client.advance(latencyMs);
    const { branch } = (await client.api("GET", path(branches.orders))).body;
    expect(branch).toMatchObject({ current_state: "ready", last_reset_at: expect.any(String) });
  });

  test("to an earlier time of itself → what it held then; the present state stays under the name given", async () => {
    const client = await freshSandbox();
    await addRole(client, branches.orders, "first");
    await client.advance(1000);
    const then = await now(client);
    await client.advance(1000);
    await addRole(client, branches.orders, "second");
    const child = await client.api("POST", `${paid}/branches`, { body: { branch: { parent_id: branches.orders } } });
    await client.advance(latencyMs);
    const asked = { source_branch_id: branches.orders, source_timestamp: then };
    expect((await restore(client, branches.orders, asked)).status).toBe(400);
    const { status } = await restore(client, branches.orders, { ...asked, preserve_under_name: "before" });
    expect(status).toBe(200);
    expect(await roleNames(client, branches.orders)).toEqual(["maindb_owner", "first"]);
    const list = (await client.api("GET", `${paid}/branches?search=before`)).body.branches;
    expect(list).toMatchObject([{ name: "before" }]);
    expect(await roleNames(client, list[0].id)).toEqual(["maindb_owner", "first", "second"]);
    const moved = (await client.api("GET", path(child.body.branch.id))).body.branch;
    expect(moved.parent_id).toBe(list[0].id);
  });

  test.each([
    ["itself and no time", { source_branch_id: branches.orders }, 400],
    ["a branch that is not there", { source_branch_id: "br-none" }, 404],
    ["a time to come", { source_branch_id: branches.main, source_timestamp: "8000-01-01T00:00:00Z" }, 400],
    ["a time before the branch", { source_branch_id: branches.main, source_timestamp: "2001-01-01T00:00:00Z" }, 422],
    ["a name that is taken", { source_branch_id: branches.main, preserve_under_name: "staging" }, 409],
  ])("from %s → refused, nothing changed", async (_what, body, status) => {
    const client = await freshSandbox();
    const before = (await client.control("GET", "/snapshot")).body;
    expect((await restore(client, branches.orders, body)).status).toBe(status);
    expect((await client.control("GET", "/snapshot")).body).toEqual(before);
  });
});

describe("snapshots of a branch", () => {
  test("taken, renamed, restored to a new branch, deleted", async () => {
    const client = await freshSandbox();
    await addRole(client, branches.orders, "kept");
    const taken = await client.api("POST", `${path(branches.orders)}/snapshot?name=first`);
    expect(taken.body).toMatchObject({
      snapshot: { name: "first", source_branch_id: branches.orders },
      operations: [],
    });
    await addRole(client, branches.orders, "later");
    const at = `${paid}/snapshots/${taken.body.snapshot.id}`;
    expect((await client.api("PATCH", at, { body: { snapshot: { name: "again" } } })).body.snapshot.name).toBe("again");
    const restored = await client.api("POST", `${at}/restore`, { body: { name: "from-snapshot" } });
    expect(restored.body).toMatchObject({
      branch: { name: "from-snapshot", restored_from: taken.body.snapshot.id },
      operations: [{ action: "create_branch" }],
    });
    expect(await roleNames(client, restored.body.branch.id)).toEqual(["maindb_owner", "kept"]);
    expect((await client.api("DELETE", at)).status).toBe(202);
    expect((await client.api("GET", `${paid}/snapshots`)).body).toEqual({ snapshots: [] });
    expect((await client.api("DELETE", at)).status).toBe(404);
  });

  test("expires_at → gone at that time", async () => {
    const client = await freshSandbox();
    const expires = new Date(Date.parse(await now(client)) + 60_000).toISOString();
    const { body } = await client.api("POST", `${path(branches.orders)}/snapshot?expires_at=${expires}`);
    expect(body.snapshot.expires_at).toBe(expires);
    await client.advance(60_000);
    expect((await client.api("GET", `${paid}/snapshots`)).body).toEqual({ snapshots: [] });
  });
});

describe("a deleted project", () => {
  test("recover within seven days → branches, endpoints, roles as before, no compute runs", async () => {
    const client = await freshSandbox();
    const endpoint = { branch_id: branches.orders, type: "read_write" };
    const { body } = await client.api("POST", `${paid}/endpoints`, { body: { endpoint } });
    await client.advance(latencyMs);
    await addRole(client, branches.orders, "kept");
    await client.api("DELETE", paid);
    expect((await client.api("POST", `${paid}/recover`)).status).toBe(423);
    await client.advance(3 * latencyMs);
    const recoverable = (await client.api("GET", "/projects?recoverable=true")).body.projects;
    expect(recoverable).toMatchObject([{ deleted_at: expect.any(String), recoverable_until: expect.any(String) }]);
    const recovered = await client.api("POST", `${paid}/recover`);
    expect(recovered.status).toBe(200);
    expect(recovered.body.branches.map(({ id }: { id: string }) => id)).toEqual(Object.values(branches));
    expect((await client.api("GET", `${paid}/endpoints/${body.endpoint.id}`)).body.endpoint.current_state).toBe("idle");
    expect(await roleNames(client, branches.orders)).toEqual(["maindb_owner", "kept"]);
    expect((await client.api("POST", `${paid}/recover`)).status).toBe(422);
  });

  test("after seven days, or never there → 404", async () => {
    const client = await freshSandbox();
    await client.api("DELETE", free);
    await client.advance(7 * 86_400_000);
    expect((await client.api("POST", `${free}/recover`)).status).toBe(404);
    expect((await client.api("GET", "/projects?recoverable=true")).body.projects).toEqual([]);
    expect((await client.api("POST", "/projects/none/recover")).status).toBe(404);
  });
});

describe("consumption", () => {
  test("computes that ran → their seconds in the project, the branch and the history", async () => {
    const client = await freshSandbox();
    await client.control("PUT", "/clock", { now: "2030-03-10T00:00:00.000Z" });
    const endpoint = {
      branch_id: branches.orders,
      type: "read_write",
      autoscaling_limit_min_cu: 2,
      autoscaling_limit_max_cu: 2,
    };
    const { body } = await client.api("POST", `${paid}/endpoints`, { body: { endpoint } });
    await client.advance(latencyMs + 100_000);
    const running = (await client.api("GET", paid)).body.project;
    expect(running).toMatchObject({ active_time_seconds: 100, compute_time_seconds: 200, cpu_used_sec: 200 });
    await client.api("POST", `${paid}/endpoints/${body.endpoint.id}/suspend`);
    await client.advance(latencyMs + 500_000);
    const { branch } = (await client.api("GET", path(branches.orders))).body;
    // The suspend took half a second, in which the compute still ran.
    expect(branch).toMatchObject({ active_time_seconds: 100, compute_time_seconds: 201 });
    expect((await client.api("GET", path(branches.main))).body.branch.active_time_seconds).toBe(0);
    const query = "from=2030-03-09T00:00:00Z&to=2030-03-11T00:00:00Z&granularity=daily";
    const history = await client.api("GET", `/consumption_history/projects?${query}&project_ids=green-fox-123456`);
    expect(history.body.projects).toMatchObject([
      {
        periods: [
          { consumption: [{ active_time_seconds: 0 }, { active_time_seconds: 100, compute_time_seconds: 201 }] },
        ],
      },
    ]);
    await client.control("PUT", "/clock", { now: "2030-04-01T00:00:00.000Z" });
    expect((await client.api("GET", paid)).body.project.active_time_seconds).toBe(0);
  });

  test.each([
    "from=x&to=2030-03-11T00:00:00Z&granularity=daily",
    "from=2030-03-11T00:00:00Z&to=2030-03-01T00:00:00Z&granularity=daily",
    "from=2000-01-01T00:00:00Z&to=2030-03-01T00:00:00Z&granularity=daily",
  ])("history with %s → 400", async (query) => {
    const client = await freshSandbox();
    expect((await client.api("GET", `/consumption_history/projects?${query}`)).status).toBe(400);
  });
});
