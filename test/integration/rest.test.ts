/** Tests that calls at rest grow with projects. */
import { expect, test } from "vitest";
import { branches, project, startWorld } from "../support/world.ts";

test("at rest → calls to the control plane grow with projects, not with resources", async () => {
  const world = await startWorld({ environment: { PROJECT_POLL_SECONDS: "1" } });
  await world.apply("orders", { branchId: branches.orders, type: "ReadWrite", suspend: { mode: "Never" } });
  const replicas = ["replica-1", "replica-2"];
  for (const name of replicas) await world.apply(name, { branchId: branches.orders, type: "ReadOnly" });
  for (const name of ["orders", ...replicas]) await world.untilReady(name);
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
