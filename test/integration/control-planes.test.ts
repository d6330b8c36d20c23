import { expect, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import { startPlaneWorld } from "../support/plane-world.ts";
import { branches, project } from "../support/world.ts";

const writable = { branchId: branches.orders, type: "ReadWrite" };

test("two accounts with the same ids → each resource has its endpoint at the control plane that it names", async () => {
  const planes = await startPlaneWorld();
  const { world, second, access } = planes;
  await planes.apply("clustercontrolplane/second");
  const controlPlaneRef = { kind: "ClusterControlPlane", name: "second" };
  await world.apply("there", { ...writable, controlPlaneRef });
  await world.apply("here", writable);
  const there = await world.untilReady("there");
  const here = await world.untilReady("here");
  expect(there.status.ownership).toMatchObject({
    controlPlane: "ClusterControlPlane/second",
    serviceUrl: planes.url,
    origin: "Created",
  });
  expect(here.status.ownership?.controlPlane).toBeUndefined();
  expect((await second.endpoints(project)).map(({ id }) => id)).toEqual([there.status.ownership?.endpointId]);
  expect((await world.sandbox.endpoints(project)).map(({ id }) => id)).toEqual([here.status.ownership?.endpointId]);
  const ready = await planes.until("clustercontrolplane/second", "used by one", ({ status }) => status.resources === 1);
  expect(conditionOf(ready.status.conditions, "CredentialsValid")?.status).toBe("True");

  await access.apply("app", { endpointRef: { name: "there" } });
  await access.untilReady("app");
  expect((await second.requests()).some(({ path }) => path.includes("/roles"))).toBe(true);
  expect((await world.sandbox.requests()).some(({ path }) => path.includes("/roles"))).toBe(false);

  await world.kubectl.run(["-n", world.namespace, "delete", "dba/app", "cpe/there", "cpe/here", "--timeout=30s"]);
  expect(await second.endpoints(project)).toEqual([]);
  await world.kubectl.run(["delete", "clustercontrolplane/second", "--timeout=30s"]);
});
