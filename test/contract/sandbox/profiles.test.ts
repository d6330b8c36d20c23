/** Tests the differences between the sandbox's profiles. */
import { describe, expect, test } from "vitest";
import { branches, freshSandbox, latencyMs, paid } from "./sandbox-client.ts";

const creation = (fields: Record<string, unknown>) => ({
  body: { endpoint: { branch_id: branches.orders, type: "read_write", ...fields } },
});
const isPublic = { profile: "public" } as const;

describe("profile seed", () => {
  test("name and suspend delay → taken, not echoed; an odd name is an unknown field like any other", async () => {
    const client = await freshSandbox();
    const { status, body } = await client.api(
      "POST",
      `${paid}/endpoints`,
      creation({ name: 5, suspend_timeout_seconds: 1 }),
    );
    expect(status).toBe(201);
    for (const extra of ["name", "suspend_timeout_seconds", "provisioner", "creation_source", "started_at"]) {
      expect(body.endpoint).not.toHaveProperty(extra);
    }
    expect(body.operations[0]).not.toHaveProperty("total_duration_ms");
    await client.advance(latencyMs);
    const patch = { body: { endpoint: { name: "other" } } };
    expect((await client.api("PATCH", `${paid}/endpoints/${body.endpoint.id}`, patch)).body.operations).toEqual([]);
  });
});

describe("profile public", () => {
  test("name and suspend delay → echoed, 0 as 0", async () => {
    const client = await freshSandbox(isPublic);
    const { body } = await client.api("POST", `${paid}/endpoints`, creation({ name: "orders-k8s-abc" }));
    expect(body.endpoint).toMatchObject({
      name: "orders-k8s-abc",
      suspend_timeout_seconds: 0,
      creation_source: "console",
    });
    await client.advance(latencyMs);
    const { body: list } = await client.api("GET", `${paid}/endpoints`);
    expect(list.endpoints[0]).toMatchObject({ name: "orders-k8s-abc", started_at: list.endpoints[0].last_active });
    const patched = await client.api("PATCH", `${paid}/endpoints/${body.endpoint.id}`, {
      body: { endpoint: { suspend_timeout_seconds: 60 } },
    });
    expect(patched.body.endpoint.suspend_timeout_seconds).toBe(60);
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
