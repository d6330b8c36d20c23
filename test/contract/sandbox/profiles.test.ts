/** Tests the differences between the sandbox's profiles. */
import { describe, expect, test } from "vitest";
import { branches, freshSandbox, latencyMs, paid } from "./sandbox-client.ts";

const creation = (fields: Record<string, unknown>) => ({
  body: { endpoint: { branch_id: branches.orders, type: "read_write", ...fields } },
});
const isPublic = { profile: "public" } as const;

describe("profile seed", () => {
  test("an odd name → an unknown field like any other", async () => {
    const client = await freshSandbox();
    const { status, body } = await client.api("POST", `${paid}/endpoints`, creation({ name: 5 }));
    expect(status).toBe(201);
    expect(body.endpoint).not.toHaveProperty("name");
    await client.advance(latencyMs);
    const patch = { body: { endpoint: { name: "other" } } };
    expect((await client.api("PATCH", `${paid}/endpoints/${body.endpoint.id}`, patch)).body.operations).toEqual([]);
  });
});

describe("profile public", () => {
  test("more fields of an endpoint → shown, a suspend delay of 0 as 0", async () => {
    const client = await freshSandbox(isPublic);
    await client.activeEndpoint(branches.orders);
    const [endpoint] = (await client.api("GET", `${paid}/endpoints`)).body.endpoints;
    expect(endpoint).toMatchObject({
      suspend_timeout_seconds: 0,
      creation_source: "console",
      started_at: endpoint.last_active,
    });
  });

  test("delete of a missing endpoint → 204 without a body; of a missing project → 404", async () => {
    const client = await freshSandbox(isPublic);
    const { status, body } = await client.api("DELETE", `${paid}/endpoints/ep-none`);
    expect({ status, body }).toEqual({ status: 204, body: undefined });
    expect((await client.api("DELETE", "/projects/none/endpoints/ep-none")).status).toBe(404);
  });

  test("ended operation → total_duration_ms; the last page carries no cursor", async () => {
    const client = await freshSandbox(isPublic);
    await client.activeEndpoint(branches.orders);
    const { body } = await client.api("GET", `${paid}/operations?limit=1`);
    expect(body.operations[0]).toMatchObject({ status: "finished", total_duration_ms: latencyMs });
    expect(body).not.toHaveProperty("pagination");
  });

  test("moving endpoint → pending_state in lists too", async () => {
    const client = await freshSandbox(isPublic);
    await client.api("POST", `${paid}/endpoints`, creation({}));
    expect((await client.api("GET", `${paid}/endpoints`)).body.endpoints[0].pending_state).toBe("active");
  });
});
