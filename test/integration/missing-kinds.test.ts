/** Tests an operator whose CRDs are missing at the start. */
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { untilEstablished } from "../../tools/api-server/established.ts";
import { startBareApiServer } from "../support/own-api-server.ts";
import { branches, startWorldAt } from "../support/world.ts";

const crdOf = (plural: string) =>
  fileURLToPath(new URL(`../../crds/endpoint-operator.dev_${plural}.yaml`, import.meta.url));
const orders = { branchId: branches.orders, type: "ReadWrite" };

test("no CRD at the start → the operator ends with the remedy; only some → those kinds work, and one line names each missing one", async () => {
  const { apiServer, kubectl } = await startBareApiServer();
  const place = { kubectl, kubeconfigFile: apiServer.kubeconfigFile, namespace: "shop" };
  await kubectl.run(["create", "namespace", "shop"]);
  await expect(startWorldAt(place)).rejects.toThrow("kubectl apply -k crds");

  await kubectl.run(["apply", "--server-side", "-f", crdOf("computeendpoints"), "-f", crdOf("controlplanes")]);
  await untilEstablished(kubectl);
  const world = await startWorldAt(place);
  await world.apply("orders", orders);
  await world.untilReady("orders");
  const controlPlaneRef = { kind: "ClusterControlPlane", name: "shared" };
  await world.apply("other", { ...orders, branchId: branches.main, controlPlaneRef });
  await world.untilStalled("other", "ControlPlaneNotReady");
  const lines = world.logs.filter(({ message }) => message.includes("does not serve this kind"));
  // The kinds are looked up at the same time, so the lines come in any order.
  expect(lines.map(({ fields }) => fields.kind).sort()).toEqual([
    "ClusterControlPlane",
    "DatabaseAccess",
    "DatabaseBranch",
  ]);
});
