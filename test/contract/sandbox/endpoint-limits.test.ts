/** Tests the limits of plans and sizes for endpoints. */
import { describe, expect, test } from "vitest";
import { branches, free, freeBranch, freshSandbox, latencyMs, paid } from "./sandbox-client.ts";

const creation = (branchId: string, fields: Record<string, unknown> = {}) => ({
  body: { endpoint: { branch_id: branchId, type: "read_write", ...fields } },
});

describe("limits", () => {
  test.each([
    ["read replica", { type: "read_only" }],
    ["another size", { autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 1 }],
    ["a range", { autoscaling_limit_max_cu: 2 }],
  ])("free tier, %s → 422 with a limit's code", async (_what, fields) => {
    const client = await freshSandbox();
    const { status, body } = await client.api("POST", `${free}/endpoints`, creation(freeBranch, fields));
    expect({ status, code: body.code }).toEqual({ status: 422, code: expect.stringMatching(/_LIMIT_EXCEEDED$/) });
    expect((await client.api("GET", `${free}/endpoints`)).body.endpoints).toEqual([]);
  });

  test("free plan of profile public → sizes up to 2 and three read replicas, as the public plan has", async () => {
    const client = await freshSandbox({ profile: "public" });
    const create = async (fields: Record<string, unknown>) => {
      const { status } = await client.api("POST", `${free}/endpoints`, creation(freeBranch, fields));
      await client.advance(latencyMs);
      return status;
    };
    expect(await create({ autoscaling_limit_max_cu: 2 })).toBe(201);
    expect(await create({ type: "read_only", autoscaling_limit_max_cu: 3 })).toBe(422);
    const replica = { type: "read_only" };
    expect([await create(replica), await create(replica), await create(replica)]).toEqual([201, 201, 201]);
    expect(await create(replica)).toBe(422);
  });

  test("free tier, read-write of 0.25 → 201", async () => {
    const client = await freshSandbox();
    expect((await client.api("POST", `${free}/endpoints`, creation(freeBranch))).status).toBe(201);
  });

  test.each([0.25, 0.5, 1, 2, 3, 4, 5, 6, 7, 8])("size %d of the seed's table → 201", async (units) => {
    const client = await freshSandbox();
    const fields = { autoscaling_limit_min_cu: units, autoscaling_limit_max_cu: units };
    expect((await client.api("POST", `${paid}/endpoints`, creation(branches.orders, fields))).status).toBe(201);
  });

  test.each([
    [{ autoscaling_limit_min_cu: 0.3, autoscaling_limit_max_cu: 1 }, 400, "endpoint.autoscaling_limit_min_cu"],
    [{ autoscaling_limit_min_cu: 2, autoscaling_limit_max_cu: 1 }, 400, "endpoint.autoscaling_limit_min_cu"],
    [{ autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 9 }, 422, "endpoint.autoscaling_limit_max_cu"],
    [{ autoscaling_limit_min_cu: 0, autoscaling_limit_max_cu: 1 }, 400, "endpoint.autoscaling_limit_min_cu"],
    [{ suspend_timeout_seconds: -2 }, 400, "endpoint.suspend_timeout_seconds"],
    [{ suspend_timeout_seconds: 604_801 }, 400, "endpoint.suspend_timeout_seconds"],
    [{ suspend_timeout_seconds: 1.5 }, 400, "endpoint.suspend_timeout_seconds"],
  ])("%j → %d naming %s", async (fields, wanted, field) => {
    const client = await freshSandbox();
    const { status, body } = await client.api("POST", `${paid}/endpoints`, creation(branches.orders, fields));
    expect({ status, message: body.message }).toEqual({ status: wanted, message: expect.stringContaining(field) });
  });
});
