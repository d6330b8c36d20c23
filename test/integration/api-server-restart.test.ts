/** Tests the operator while the API server restarts. */
import { expect, test } from "vitest";
import { startOwnApiServer } from "../support/own-api-server.ts";
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
