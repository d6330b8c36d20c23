/** Tests the whole operator behind the fault proxy. */
import { expect, onTestFinished, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import { serviceAccountAccess, sharedApiServer } from "../support/api-server.ts";
import type { FaultProxy } from "../support/fault-proxy/fault-proxy.ts";
import { refuse, requestFaults } from "../support/fault-proxy/known-faults.ts";
import { startProxiedApiServer } from "../support/fault-proxy/proxied-api-server.ts";
import type { RequestMatch } from "../support/fault-proxy/proxied-request.ts";
import { waitUntil } from "../support/wait-until.ts";
import { branches, project, startWorld, type World } from "../support/world.ts";

async function startBehindProxy(): Promise<{ readonly proxy: FaultProxy; readonly world: World }> {
  const { url, caFile } = sharedApiServer();
  const { token } = await serviceAccountAccess("endpoint-operator-system", "endpoint-operator");
  const { proxy, kubeconfigFile } = await startProxiedApiServer({ url, caFile, token });
  onTestFinished(() => proxy.stop());
  return { proxy, world: await startWorld({ operatorKubeconfig: kubeconfigFile }) };
}

test.each([
  ["paused", 0, (world: World) => world.annotate("orders", "paused", "true")],
  ["deleted", 0, (world: World) => world.delete("orders")],
  ["edited", 1, (world: World) => world.apply("orders", replica(2))],
] as const)("%s while the write of the intent is answered slowly → %i POSTs", async (what, posts, act) => {
  const { proxy, world } = await startBehindProxy();
  const match = { verb: "patch", resource: "computeendpoints", subresource: "status" } as const;
  const slow = proxy.inject({ match, fault: { kind: "HoldAnswer" }, times: 1 });
  await world.apply("orders", replica(1));
  await world.until("orders", "the intent is stored", ({ status }) => status.createIntent !== undefined);
  await act(world);
  // The watch is in order: when it has shown this resource, it has shown what the person did before.
  await world.apply("marker", { ...replica(1), projectId: "none-here-000000" });
  await world.until("marker", "its finalizer", ({ metadata }) => (metadata.finalizers ?? []).length > 0);
  slow.lift();
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

const statusWrites: RequestMatch = { verb: "patch", resource: "computeendpoints", subresource: "status" };

test("every write of a status is refused → fewer and fewer attempts, nothing is created; lifted → created once", async () => {
  const { proxy, world } = await startBehindProxy();
  const refused = proxy.inject({ match: statusWrites, fault: refuse(500, "InternalError") });
  await world.apply("orders", { branchId: branches.orders, type: "ReadWrite" });
  const attempts = 11;
  const isRefused = () => (refused.bites >= attempts ? true : undefined);
  await waitUntil(isRefused, { what: `${attempts} refused writes`, lastSeen: () => refused.bites });
  const timesMs = proxy.requests.filter(({ subresource }) => subresource === "status").map(({ atMs }) => atMs);
  // The first pause is 5 ms, and each later one is twice as long, or at least half of that. Up to three attempts may come
  // from events at any time, of the apply, of the finalizer and of a list that ends late. The pauses before the other
  // seven attempts add up to at least 317 ms.
  expect((timesMs[attempts - 1] ?? 0) - (timesMs[0] ?? 0)).toBeGreaterThan((5 * (2 ** 7 - 1)) / 2 - 1);
  expect((await world.sandbox.requests()).filter(({ method }) => method === "POST")).toEqual([]);
  proxy.quiet();
  await world.untilReady("orders");
  expect(await world.sandbox.endpoints(project)).toHaveLength(1);
});

test("the answer to every write is lost → Ready all the same, created once, deleted in the end", async () => {
  const { proxy, world } = await startBehindProxy();
  const lost = proxy.inject({ match: { verb: "patch" }, fault: requestFaults["the answer is lost"] });
  await world.apply("orders", { branchId: branches.orders, type: "ReadWrite" });
  await world.untilReady("orders");
  const creates = (await world.sandbox.requests()).filter(({ method }) => method === "POST");
  expect(creates).toHaveLength(1);
  await world.delete("orders");
  await world.untilGone("orders");
  expect(await world.sandbox.endpoints(project)).toEqual([]);
  expect(lost.bites).toBeGreaterThan(3);
});
