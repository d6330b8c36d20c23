/** Tests a control plane that refuses, or answers nonsense. */
import { describe, expect, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import { branches, project, startWorld } from "../support/world.ts";

const orders = { branchId: branches.orders, type: "ReadWrite" } as const;
const endpointsPath = `/api/v2/projects/${project}/endpoints`;

describe.each(["seed", "public"] as const)("profile %s", (profile) => {
  describe("a control plane that refuses", () => {
    test("403 → that project is Stalled Forbidden, another one is not touched by it", async () => {
      const world = await startWorld({ sandbox: { profile } });
      await world.sandbox.fault(
        { method: "*", path: `/api/v2/projects/${project}/**` },
        { kind: "status", status: 403, message: "the key may not do that" },
      );
      await world.apply("orders", orders);
      await world.apply("other", { projectId: "tiny-owl-654321", branchId: "br-calm-hill-654321", type: "ReadWrite" });
      const stalled = await world.untilStalled("orders", "Forbidden");
      expect(conditionOf(stalled.status.conditions, "Stalled")?.message).toContain("the key may not do that");
      await world.untilReady("other");
    });

    test("400 → Stalled Rejected with the control plane's words; an edit gets a new try at once", async () => {
      const world = await startWorld({ sandbox: { profile } });
      await world.sandbox.fault(
        { method: "POST", path: endpointsPath, times: 1 },
        { kind: "status", status: 400, message: "endpoint.settings is not allowed here" },
      );
      await world.apply("orders", { ...orders, settings: { pgSettings: { work_mem: "1MB" } } });
      const stalled = await world.untilStalled("orders", "Rejected");
      expect(conditionOf(stalled.status.conditions, "Stalled")?.message).toContain(
        "endpoint.settings is not allowed here",
      );
      expect(stalled.status.createIntent, "open and clean: the next try reuses it").toBeDefined();
      await world.apply("orders", orders);
      await world.untilReady("orders");
      expect(await world.sandbox.endpoints(project)).toHaveLength(1);
    });
  });

  describe("a control plane that answers nonsense", () => {
    test("an unknown state and action → shown as they are, Ready all the same", async () => {
      const world = await startWorld({ sandbox: { profile } });
      await world.apply("orders", orders);
      const { status } = await world.untilReady("orders");
      const [endpoint] = await world.sandbox.endpoints(project);
      const body = JSON.stringify({ endpoints: [{ ...endpoint, current_state: "hibernating" }] });
      await world.sandbox.fault({ method: "GET", path: endpointsPath }, { kind: "garbage", body });
      const seen = await world.until("orders", "the new state is shown", (each) => each.status.state === "hibernating");
      expect(conditionOf(seen.status.conditions, "Ready")?.status).toBe("True");
      expect(seen.status.ownership).toEqual(status.ownership);
    });
  });
});

describe("a replica's create whose answer is lost", () => {
  test("names not echoed → CreateAmbiguous; adopt or abandon by annotation ends it", async () => {
    const world = await startWorld({ sandbox: { profile: "seed" } });
    for (const name of ["adopted", "abandoned"]) {
      await world.sandbox.fault({ method: "POST", path: endpointsPath, times: 1 }, { kind: "dropAfter" });
      await world.apply(name, { branchId: branches.main, type: "ReadOnly" });
      await world.untilStalled(name, "CreateAmbiguous");
    }
    const abandoned = await world.get("abandoned");
    const [candidate] = (await world.sandbox.endpoints(project)).map(({ id }) => id);
    await world.annotate("adopted", "resolveCreate", `adopt=${candidate}`);
    await world.annotate("abandoned", "resolveCreate", `abandon=${abandoned?.status.createIntent?.attempt}`);
    expect((await world.untilReady("adopted")).status.ownership?.endpointId).toBe(candidate);
    await world.untilReady("abandoned");
    const endpoints = await world.sandbox.endpoints(project);
    expect(endpoints, "one each, and the one that was abandoned").toHaveLength(3);
  });
});
