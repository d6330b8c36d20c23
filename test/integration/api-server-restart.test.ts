/** Tests the operator while the API server restarts, and while etcd is compacted. */
import { expect, onTestFinished, test } from "vitest";
import type { ApiServer } from "../../tools/api-server/api-server.ts";
import type { InjectedFault } from "../support/fault-proxy/injected-fault.ts";
import { streamFaults } from "../support/fault-proxy/known-faults.ts";
import { openWatchScene, type WatchScene } from "../support/fault-proxy/watch-scene.ts";
import { compactEtcd, startOwnApiServer } from "../support/own-api-server.ts";
import { waitUntil } from "../support/wait-until.ts";
import { branches, project, startWorldAt } from "../support/world.ts";

test("the API server is restarted under a running operator → edits of right after are made, each once", async () => {
  const { apiServer, kubectl } = await startOwnApiServer();
  await kubectl.run(["create", "namespace", "restarted"]);
  const world = await startWorldAt({ kubectl, kubeconfigFile: apiServer.kubeconfigFile, namespace: "restarted" });
  await world.apply("edited", { branchId: branches.main, type: "ReadWrite" });
  await world.apply("deleted", { branchId: branches.orders, type: "ReadWrite" });
  await world.untilReady("edited");
  await world.untilReady("deleted");
  await apiServer.restart();
  await world.apply("edited", { branchId: branches.main, type: "ReadWrite", compute: { minUnits: 2, maxUnits: 2 } });
  await world.delete("deleted");
  await world.apply("created", { branchId: branches.staging, type: "ReadWrite" });
  const edited = await world.untilReady("edited");
  await world.untilGone("deleted");
  const created = await world.untilReady("created");
  const endpoints = await world.sandbox.endpoints(project);
  expect(endpoints.map(({ id }) => id).toSorted()).toEqual(
    [edited, created].map(({ status }) => status.ownership?.endpointId).toSorted(),
  );
  const creates = (await world.sandbox.requests()).filter(({ method }) => method === "POST");
  expect(creates).toHaveLength(3);
  expect(
    world.logs.filter(({ level, message }) => level === "error" && !message.startsWith("reconcile failed")),
  ).toEqual([]);
});

/** Starts an API server without its watch cache. It then knows only the past that etcd has. */
async function openWithoutWatchCache(): Promise<{ readonly apiServer: ApiServer; readonly scene: WatchScene }> {
  const { apiServer } = await startOwnApiServer({ apiServerArgs: ["--watch-cache=false"] });
  const { url, caFile, token, kubeconfigFile } = apiServer;
  const server = { url, caFile, token, adminKubeconfigFile: kubeconfigFile };
  // A page may be held here for a long time.
  const haste = 1;
  return { apiServer, scene: await openWatchScene({ server, onTestFinished, haste }) };
}

test("etcd is compacted while a watch is broken off, and between two pages of a list → caught up by a list", async () => {
  const { apiServer, scene } = await openWithoutWatchCache();
  const { proxy, editor, watch } = scene;
  const untilBitten = (injected: InjectedFault) =>
    waitUntil(() => (injected.bites > 0 ? true : undefined), { what: "the fault has bitten" });
  for (const name of ["a", "b", "c", "d", "e"]) await editor.create(name);

  // Each page holds two.
  const first = proxy.inject({ match: { verb: "list" }, fault: { kind: "Hold" }, times: 1 });
  watch.start();
  await untilBitten(first);
  const second = proxy.inject({ match: { verb: "list" }, fault: { kind: "Hold" }, times: 1 });
  first.lift();
  await untilBitten(second);
  await editor.recreate("e");
  await compactEtcd(apiServer);
  second.lift();
  await scene.untilCaughtUp();
  const isContinued = proxy.requests.filter(({ verb }) => verb === "list").map(({ url }) => url.includes("continue="));
  expect(isContinued, "the second page was refused, and the list begun again").toEqual([
    false,
    true,
    false,
    true,
    true,
  ]);
  expect(watch.stats()).toMatchObject({ lists: 1 });

  const half = { match: { verb: "watch" }, fault: streamFaults["half-open"], times: 1 } as const;
  proxy.inject(half);
  await editor.recreate("a");
  await scene.untilCaughtUp();
  expect(watch.stats(), "history is there: resumed").toMatchObject({ lists: 1 });
  proxy.inject(half);
  await editor.recreate("a");
  await editor.delete("b");
  await compactEtcd(apiServer);
  await scene.untilCaughtUp();
  expect(watch.stats(), "history is gone: listed").toMatchObject({ lists: 2 });
});
