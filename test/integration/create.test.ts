/** Tests how endpoints are created and adopted. */
import { describe, expect, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import { branches, project, startWorld } from "../support/world.ts";

/** The two profiles of the control plane: seed shows no names of endpoints, public shows them. */
const profiles = ["seed", "public"] as const;

describe.each(profiles)("profile %s", (profile) => {
  test("a new read-write resource → one endpoint, Ready, its start seen in flight and ended", async () => {
    // While the clock stands still, no operation ends.
    const world = await startWorld({ sandbox: { profile, operationLatencyMs: 1_500, clock: "stepped" } });
    const spec = { branchId: branches.orders, type: "ReadWrite", compute: { minUnits: 0.25, maxUnits: 2 } };
    await world.apply("orders", spec);

    const starting = await world.until("orders", "start_compute in flight", ({ status }) =>
      (status.operations ?? []).some(({ action, status: state }) => action === "start_compute" && state !== "finished"),
    );
    expect(conditionOf(starting.status.conditions, "Ready")?.status).toBe("False");
    expect(conditionOf(starting.status.conditions, "Reconciling")?.status).toBe("True");

    await world.sandbox.control("PUT", "/clock", { mode: "real" });
    const { status } = await world.untilReady("orders");
    const endpoints = await world.sandbox.endpoints(project);
    expect(endpoints.map(({ id }) => id)).toEqual([status.ownership?.endpointId]);
    expect(status.operations?.[0]).toMatchObject({ action: "start_compute", status: "finished", cause: "SpecChange" });
    expect(status.operations?.[0]?.durationMilliseconds).toBeGreaterThan(1_000);
    expect(status).toMatchObject({
      ownership: { origin: "Created", projectId: project },
      state: "active",
      compute: { minUnits: 0.25, maxUnits: 2, size: "0.25-2", maxConnections: 112 },
    });
    expect(status.host).toContain(`${status.ownership?.endpointId}.`);
    expect(status.poolerHost).toContain(`${status.ownership?.endpointId}-pooler.`);
    expect(status.createIntent).toBeUndefined();
    await world.untilEvents("orders", ["EndpointCreated", "EndpointReady"]);
  });

  test("a replica to adopt by its id → taken over; on the wrong branch → AdoptionMismatch; missing → says so", async () => {
    const world = await startWorld({ sandbox: { profile } });
    const foreignId = await world.sandbox.createForeign(project, branches.main, "read_only");
    const adoption = { policy: "AdoptOnly", endpointId: foreignId };
    await world.apply("mismatch", { branchId: branches.staging, type: "ReadOnly", adoption });
    await world.untilStalled("mismatch", "AdoptionMismatch");
    await world.apply("missing", {
      branchId: branches.main,
      type: "ReadOnly",
      adoption: { policy: "AdoptOnly", endpointId: "ep-not-there-000000" },
    });
    await world.untilStalled("missing", "AdoptionTargetMissing");
    await world.apply("replica", { branchId: branches.main, type: "ReadOnly", adoption });
    const { status } = await world.untilReady("replica");
    expect(status.ownership).toMatchObject({ endpointId: foreignId, origin: "Adopted" });
  });
});
