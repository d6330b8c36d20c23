/** Tests details of the sandbox that clients can notice. */
import { describe, expect, test } from "vitest";
import { branches, freshSandbox, latencyMs, paid } from "./sandbox-client.ts";

test("a connection while a suspend runs → a start is queued behind it, and the compute is active again", async () => {
  const client = await freshSandbox();
  const id = await client.activeEndpoint(branches.orders);
  await client.api("POST", `${paid}/endpoints/${id}/suspend`);
  const connected = await client.control("POST", `/endpoints/${id}/connect`);
  expect(connected.body).toMatchObject({
    endpoint: { current_state: "active", pending_state: "active" },
    operations: [{ action: "start_compute", status: "scheduling" }],
  });
  expect((await client.control("POST", `/endpoints/${id}/connect`)).body.operations).toEqual([]);
  await client.advance(latencyMs);
  const read = async () => (await client.api("GET", `${paid}/endpoints/${id}`)).body.endpoint;
  expect(await read()).toMatchObject({ current_state: "idle", pending_state: "active" });
  await client.advance(latencyMs);
  expect((await read()).current_state).toBe("active");
});

describe("cursor of operations", () => {
  test("at most nine fractional digits; any timestamp is one", async () => {
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
});
