/** Tests that the operator works with the answers to its own writes while the watch sends nothing. */
import { expect, onTestFinished, test } from "vitest";
import { serviceAccountAccess, sharedApiServer } from "../support/api-server.ts";
import { streamFaults } from "../support/fault-proxy/known-faults.ts";
import { startProxiedApiServer } from "../support/fault-proxy/proxied-api-server.ts";
import { branches, startWorld } from "../support/world.ts";

test("the watch sends nothing any more → reconciles go by the answers to the own writes: no conflict, nothing twice", async () => {
  const { url, caFile } = sharedApiServer();
  const { token } = await serviceAccountAccess("endpoint-operator-system", "endpoint-operator");
  const { proxy, kubeconfigFile } = await startProxiedApiServer({ url, caFile, token });
  onTestFinished(() => proxy.stop());
  const world = await startWorld({ operatorKubeconfig: kubeconfigFile });
  await world.stopOperator();
  await world.apply("orders", { branchId: branches.orders, type: "ReadWrite" });
  const silence = proxy.inject({ match: { verb: "watch" }, fault: streamFaults["half-open"] });
  await world.startOperator();
  await world.untilReady("orders");
  expect(silence.bites).toBeGreaterThan(0);

  const writes = await world.operatorWrites();
  const toResource = writes.filter(({ objectRef }) => objectRef?.resource === "computeendpoints");
  expect(toResource.map(({ responseStatus }) => responseStatus?.code)).toEqual(toResource.map(() => 200));
  expect(toResource.length).toBeLessThanOrEqual(4);
  expect((await world.sandbox.requests()).filter(({ method }) => method === "POST")).toHaveLength(1);
});
