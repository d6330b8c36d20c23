/** Tests that settled resources cause no writes. */
import { describe, expect, test } from "vitest";
import { branches, project, startWorld, type World } from "../support/world.ts";

const names = ["orders", "replica-1", "replica-2"];

async function settle(world: World): Promise<void> {
  await world.apply("orders", {
    branchId: branches.orders,
    type: "ReadWrite",
    compute: { minUnits: 0.25, maxUnits: 1 },
    suspend: { mode: "Never" },
  });
  for (const name of names.slice(1)) {
    await world.apply(name, { branchId: branches.orders, type: "ReadOnly" });
  }
  for (const name of names) await world.untilReady(name);
}

describe.each(["seed", "public"] as const)("profile %s", (profile) => {
  test("settled resources → no Kubernetes write, however often they are looked at; none after a restart", async () => {
    const world = await startWorld({ sandbox: { profile } });
    await settle(world);
    for (const name of names) await world.reconcile(name);
    const before = await resourceWrites(world);

    // An annotation asks for a reconcile, and status repeats its value. Each reconcile causes this one status write and
    // no other.
    for (const name of names) await world.reconcile(name);
    expect(await resourceWrites(world)).toBe(before + names.length);

    await world.restartOperator();
    for (const name of names) await world.reconcile(name);
    expect(await resourceWrites(world), "only the echoes").toBe(before + 2 * names.length);
    const changes = (await world.sandbox.requests()).filter(({ method }) => method !== "GET");
    expect(changes.map(({ method }) => method)).toEqual(["POST", "POST", "POST"]);
    for (const name of names) {
      await world.untilEvents(name, ["EndpointCreated", "EndpointReady"]);
    }
  });
});

test("at rest → calls to the control plane grow with projects, not with resources", async () => {
  const world = await startWorld({ environment: { PROJECT_POLL_SECONDS: "1" } });
  await settle(world);
  const since = (await world.sandbox.requests()).at(-1)?.sequence ?? 0;
  await world.sandbox.untilRequests(6, since);
  const paths = (await world.sandbox.requests(since)).map(({ method, path }) => `${method} ${path.split("?")[0]}`);
  expect([...new Set(paths)].sort()).toEqual([
    `GET /api/v2/projects/${project}/endpoints`,
    `GET /api/v2/projects/${project}/operations`,
  ]);
  const lists = paths.filter((path) => path.endsWith("/endpoints")).length;
  expect(paths.length, "one read of each for all three resources").toBeLessThanOrEqual(2 * lists + 1);
});

async function resourceWrites(world: World): Promise<number> {
  const writes = await world.operatorWrites();
  return writes.filter(({ objectRef }) => objectRef?.resource === "computeendpoints").length;
}
