/** Tests a control plane that refuses, or answers nonsense. */
import { describe, expect, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import { branches, project, startWorld } from "../support/world.ts";

const orders = { branchId: branches.orders, type: "ReadWrite" } as const;
const endpointsPath = `/api/v2/projects/${project}/endpoints`;

describe.each(["seed", "public"] as const)("profile %s", (profile) => {
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

test("the answer to a replica's create is lost, names not echoed → CreateAmbiguous; adopt or abandon by annotation ends it", async () => {
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
