/** Tests that removing the operator as it was installed keeps everything that it manages. */
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { sharedApiServer } from "../support/api-server.ts";
import { startOwnApiServer } from "../support/own-api-server.ts";
import { branches, project, startWorldAt } from "../support/world.ts";

const pathOf = (folder: string) => fileURLToPath(new URL(`../../${folder}`, import.meta.url));

test("kubectl delete -k deploy/base → CRDs, resources and endpoints stay; the next installation changes nothing", async () => {
  const { assets } = sharedApiServer();
  // The controller manager ends the deletion of the operator's namespace.
  const { apiServer, kubectl } = await startOwnApiServer({ assets });
  const install = () => kubectl.run(["apply", "--server-side", "-k", pathOf("deploy/base")]);
  await install();
  await kubectl.run(["create", "namespace", "shop"]);
  const world = await startWorldAt({ kubectl, kubeconfigFile: apiServer.kubeconfigFile, namespace: "shop" });
  await world.apply("orders", { branchId: branches.orders, type: "ReadWrite" });
  const before = await world.untilReady("orders");
  const endpoints = await world.sandbox.endpoints(project);

  await kubectl.run(["delete", "-k", pathOf("deploy/base"), "--timeout=60s"]);
  await world.stopOperator();
  const kept = await kubectl.run(["get", "crd", "--output=name"]);
  expect(kept.trim().split("\n")).toHaveLength(5);

  const changesBefore = (await world.sandbox.requests()).filter(({ method }) => method !== "GET").length;
  await install();
  await world.startOperator();
  const after = await world.reconcile("orders");
  expect(after.metadata).toMatchObject({ uid: before.metadata.uid, generation: before.metadata.generation });
  expect(after.metadata.deletionTimestamp).toBeUndefined();
  expect(await world.sandbox.endpoints(project)).toEqual(endpoints);
  const changes = (await world.sandbox.requests()).filter(({ method }) => method !== "GET");
  expect(changes).toHaveLength(changesBefore);
});
