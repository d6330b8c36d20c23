/** Tests the whole operator behind the fault proxy. */
import { expect, onTestFinished, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import { serviceAccountAccess, sharedApiServer } from "../support/api-server.ts";
import { type FaultProxy, startFaultProxy } from "../support/fault-proxy/fault-proxy.ts";
import { branches, project, startWorld, type World } from "../support/world.ts";

async function startBehindProxy(): Promise<{ readonly proxy: FaultProxy; readonly world: World }> {
  const { url, caFile } = sharedApiServer();
  const { token } = await serviceAccountAccess("endpoint-operator-system", "endpoint-operator");
  const proxy = await startFaultProxy({ url, caFile, token });
  onTestFinished(() => proxy.stop());
  return { proxy, world: await startWorld({ operatorKubeconfig: proxy.kubeconfigFile }) };
}

test.each([
  ["paused", 0, (world: World) => world.annotate("orders", "paused", "true")],
  ["deleted", 0, (world: World) => world.delete("orders")],
  ["edited", 1, (world: World) => world.apply("orders", replica(2))],
] as const)("%s while the write of the intent is answered slowly → %i POSTs", async (what, posts, act) => {
  const { proxy, world } = await startBehindProxy();
  const isStatus = (method: string, path: string) =>
    method === "PATCH" && /\/computeendpoints\/[^/]+\/status/.test(path);
  const lift = proxy.hold(isStatus);
  await world.apply("orders", replica(1));
  await world.until("orders", "the intent is stored", ({ status }) => status.createIntent !== undefined);
  await act(world);
  // The watch is in order: when it has shown this resource, it has shown what the person did before.
  await world.apply("marker", { ...replica(1), projectId: "none-here-000000" });
  await world.until("marker", "its finalizer", ({ metadata }) => (metadata.finalizers ?? []).length > 0);
  lift();
  if (what === "deleted") await world.untilGone("orders");
  if (what === "edited") await world.untilReady("orders");
  if (what === "paused")
    await world.until("orders", "Paused", ({ status }) => conditionOf(status.conditions, "Ready")?.reason === "Paused");
  const sent = (await world.sandbox.requests()).filter(
    ({ method, path }) => method !== "GET" && path.includes(project),
  );
  expect(sent.map(({ method }) => method)).toEqual(Array.from({ length: posts }, () => "POST"));
});

function replica(units: number): object {
  return { branchId: branches.main, type: "ReadOnly", compute: { minUnits: units, maxUnits: units } };
}
