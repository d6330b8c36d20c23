/** Tests stored resources that do not fit the schema. */

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { conditionOf } from "../../src/resource/conditions.ts";
import { startApiServer } from "../../tools/api-server/api-server.ts";
import { untilEstablished } from "../../tools/api-server/established.ts";
import { sharedApiServer } from "../support/api-server.ts";
import { createKubectl } from "../support/kubectl.ts";
import { branches, project, startWorldAt } from "../support/world.ts";

const crdFile = fileURLToPath(new URL("../../crds/endpoint-operator.dev_computeendpoints.yaml", import.meta.url));

/** Starts an API server whose CRD allows anything in spec and status, as the CRD of an older version may. */
async function laxApiServer() {
  const { assets } = sharedApiServer();
  const apiServer = await startApiServer({
    assets: { etcd: assets.etcd, "kube-apiserver": assets["kube-apiserver"] },
  });
  onTestFinished(() => apiServer.stop());
  const crd = parse(await readFile(crdFile, "utf8")) as {
    spec: { versions: { schema: { openAPIV3Schema: { properties: Record<string, unknown> } } }[] };
  };
  const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  for (const { schema } of crd.spec.versions) {
    schema.openAPIV3Schema.properties.spec = anything;
    schema.openAPIV3Schema.properties.status = anything;
  }
  const kubectl = createKubectl({ binary: assets.kubectl, kubeconfigFile: apiServer.kubeconfigFile });
  await kubectl.run(["apply", "--server-side", "-f", "-"], { stdin: JSON.stringify(crd) });
  await untilEstablished(kubectl);
  return { kubectl, kubeconfigFile: apiServer.kubeconfigFile };
}

test("stored resources that no longer fit → reported on each, others go on, deletion still ends", async () => {
  const { kubectl, kubeconfigFile } = await laxApiServer();
  await kubectl.run(["create", "namespace", "broken"]);
  const world = await startWorldAt({ kubectl, kubeconfigFile, namespace: "broken" });
  await world.apply("no-branch", { type: "ReadWrite" });
  await world.apply("odd-size", {
    branchId: branches.main,
    type: "ReadWrite",
    compute: { minUnits: "many", maxUnits: 3 },
  });
  await world.apply("good", { branchId: branches.orders, type: "ReadWrite" });
  await world.untilReady("good");

  const stalled = await world.untilStalled("no-branch", "InvalidSpec");
  expect(conditionOf(stalled.status.conditions, "Stalled")?.message).toContain("spec.branchId");
  const odd = await world.untilStalled("odd-size", "InvalidSpec");
  expect(conditionOf(odd.status.conditions, "Stalled")?.message).toContain("spec.compute.minUnits");
  expect(await world.sandbox.endpoints(project)).toHaveLength(1);

  await world.delete("no-branch");
  await world.untilGone("no-branch");
});

test("a good resource becomes broken → its endpoint is left alone, and deleted with it", async () => {
  const { kubectl, kubeconfigFile } = await laxApiServer();
  await kubectl.run(["create", "namespace", "broken"]);
  const world = await startWorldAt({ kubectl, kubeconfigFile, namespace: "broken" });
  await world.apply("orders", { branchId: branches.orders, type: "ReadWrite" });
  await world.untilReady("orders");
  await world.apply("orders", { projectId: 7, branchId: branches.orders, type: "ReadWrite" });
  await world.untilStalled("orders", "InvalidSpec");
  expect(await world.sandbox.endpoints(project)).toHaveLength(1);
  await world.delete("orders");
  await world.untilGone("orders");
  expect(await world.sandbox.endpoints(project)).toEqual([]);
});
