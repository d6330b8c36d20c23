/** Tests the sandbox's routes of the operation log. */
import { describe, expect, test } from "vitest";
import { branches, free, freshSandbox, latencyMs, paid, type SandboxClient } from "./sandbox-client.ts";

interface Listed {
  readonly id: string;
  readonly action: string;
  readonly created_at: string;
}

/** Reads pages until the list ends. `between` runs after each page. */
async function everyPage(client: SandboxClient, limit: number, between = async () => {}): Promise<Listed[][]> {
  const pages: Listed[][] = [];
  let cursor = "";
  for (;;) {
    // The cursor is put into the query unchanged, because some clients do not escape it.
    const { status, body } = await client.api("GET", `${paid}/operations?limit=${limit}${cursor}`);
    expect(status).toBe(200);
    if (body.operations.length > 0) pages.push(body.operations);
    if (body.pagination?.cursor === undefined || body.operations.length === 0) return pages;
    cursor = `&cursor=${body.pagination.cursor}`;
    await between();
  }
}

/** Makes an endpoint with some history. Some of its operations were created in the same millisecond. */
async function withHistory(client: SandboxClient): Promise<string> {
  const id = await client.activeEndpoint(branches.orders);
  for (let count = 0; count < 4; count += 1) {
    await client.api("POST", `${paid}/endpoints/${id}/restart`);
    await client.advance(2 * latencyMs);
  }
  return id;
}

describe("list", () => {
  test("several → newest first, of siblings the later one first", async () => {
    const client = await freshSandbox();
    await withHistory(client);
    const { body } = await client.api("GET", `${paid}/operations`);
    const times = body.operations.map((operation: Listed) => operation.created_at);
    expect(times).toEqual([...times].sort().reverse());
    const actions = body.operations.map((operation: Listed) => operation.action);
    expect(actions).toEqual([...Array(4).fill(["start_compute", "suspend_compute"]).flat(), "start_compute"]);
  });

  test.each([1, 9])("pages of %d while operations arrive → none lost, none twice", async (limit) => {
    const client = await freshSandbox();
    const id = await withHistory(client);
    const { body } = await client.api("GET", `${paid}/operations?limit=1000`);
    const wanted = body.operations.map((operation: Listed) => operation.id);
    expect(wanted).toHaveLength(9);
    const pages = await everyPage(client, limit, async () => {
      await client.api("POST", `${paid}/endpoints/${id}/restart`);
      await client.advance(2 * latencyMs);
    });
    expect(pages.flat().map((operation) => operation.id)).toEqual(wanted);
    expect(Math.max(...pages.map((page) => page.length))).toBeLessThanOrEqual(limit);
  });

  test("cursor → at most nine fractional digits; any timestamp is one", async () => {
    const client = await freshSandbox();
    const id = await client.activeEndpoint(branches.orders);
    await client.advance(1000);
    await client.api("POST", `${paid}/endpoints/${id}/restart`);
    const ids = async (cursor: string) => {
      const { status, body } = await client.api("GET", `${paid}/operations?cursor=${encodeURIComponent(cursor)}`);
      expect(status).toBe(200);
      return body.operations.map((operation: { id: string }) => operation.id);
    };
    const { body } = await client.api("GET", `${paid}/operations?limit=1`);
    expect(body.pagination.cursor).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/);
    const all = (await client.api("GET", `${paid}/operations`)).body.operations;
    expect(await ids(body.pagination.cursor)).toEqual(all.slice(1).map((operation: { id: string }) => operation.id));
    const [{ created_at: newest }] = all;
    expect(await ids(newest)).toHaveLength(1);
    expect(await ids(newest.replace("Z", "999999Z"))).toHaveLength(3);
    expect(await ids("2001-01-01T00:00:00Z")).toEqual([]);
    expect(await ids("2999-01-01T00:00:00.5+02:00")).toHaveLength(3);
  });

  test.each(["limit=1001", "limit=1&limit=2", "cursor=2026-13-01T00:00:00.000Z"])(
    "%s → 400 naming the parameter",
    async (query) => {
      const client = await freshSandbox();
      const { status, body } = await client.api("GET", `${paid}/operations?${query}`);
      const message = expect.stringContaining(query.replace(/=.*/, ""));
      expect({ status, message: body.message }).toEqual({ status: 400, message });
    },
  );
});

describe("get", () => {
  test("known → the same as in the list; of another project, or unknown → 404", async () => {
    const client = await freshSandbox();
    await client.activeEndpoint(branches.orders);
    const { body } = await client.api("GET", `${paid}/operations`);
    const [listed] = body.operations;
    expect((await client.api("GET", `${paid}/operations/${listed.id}`)).body).toEqual({ operation: listed });
    expect((await client.api("GET", `${free}/operations/${listed.id}`)).status).toBe(404);
    expect((await client.api("GET", `${paid}/operations/none`)).status).toBe(404);
  });
});

describe("availability checks", () => {
  const checked = { availabilityCheckIntervalMs: 60_000 };

  test("branch with an endpoint → checked each interval; branches without → never", async () => {
    const client = await freshSandbox(checked);
    const id = await client.activeEndpoint(branches.orders, { suspend_timeout_seconds: -1 });
    await client.advance(180_000);
    const { body } = await client.api("GET", `${paid}/operations`);
    const checks = body.operations.filter((operation: Listed) => operation.action === "check_availability");
    expect(checks.length).toBe(3);
    for (const check of checks) expect(check).toMatchObject({ endpoint_id: id, branch_id: branches.orders });
  });

  test("a check that runs → scheduling, then running, then finished; holds no lock", async () => {
    const client = await freshSandbox(checked);
    const id = await client.activeEndpoint(branches.orders, { suspend_timeout_seconds: -1 });
    const newest = async () => (await client.api("GET", `${paid}/operations?limit=1`)).body.operations[0];
    await client.advance(60_000 - latencyMs);
    expect(await newest()).toMatchObject({ action: "check_availability", status: "scheduling" });
    await client.advance(latencyMs);
    expect(await newest()).toMatchObject({ action: "check_availability", status: "running" });
    const patch = await client.api("PATCH", `${paid}/endpoints/${id}`, {
      body: { endpoint: { pooler_enabled: true } },
    });
    expect(patch.status).toBe(200);
    await client.advance(latencyMs);
    const { body } = await client.api("GET", `${paid}/operations?limit=2`);
    expect(body.operations[1]).toMatchObject({ action: "check_availability", status: "finished" });
  });
});
