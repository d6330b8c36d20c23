/** Tests stored resources that do not fit the schema. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { conditionOf } from "../../src/resource/conditions.ts";
import { untilEstablished } from "../../tools/api-server/established.ts";
import { startBareApiServer } from "../support/own-api-server.ts";
import { branches, project, startWorldAt } from "../support/world.ts";

const crdFile = fileURLToPath(new URL("../../crds/endpoint-operator.dev_computeendpoints.yaml", import.meta.url));

/** Starts a bare API server whose CRD allows anything in spec and status, as the CRD of an older version may. */
async function laxApiServer() {
  const { apiServer, kubectl } = await startBareApiServer();
  const crd = parse(await readFile(crdFile, "utf8")) as {
    spec: { versions: { schema: { openAPIV3Schema: { properties: Record<string, unknown> } } }[] };
  };
  const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  for (const { schema } of crd.spec.versions) {
    schema.openAPIV3Schema.properties.spec = anything;
    schema.openAPIV3Schema.properties.status = anything;
  }
  await kubectl.run(["apply", "--server-side", "-f", "-"], { stdin: JSON.stringify(crd) });
  await untilEstablished(kubectl);
  return { kubectl, kubeconfigFile: apiServer.kubeconfigFile };
}

test("stored resources that no longer fit → reported on each, others go on, and deletion still ends, with the endpoint of one that was good", async () => {
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
  expect(conditionOf(stalled.status.conditions, "Stalled")?.message).toContain("branchId and branchRef");
  const odd = await world.untilStalled("odd-size", "InvalidSpec");
  expect(conditionOf(odd.status.conditions, "Stalled")?.message).toContain("spec.compute.minUnits");
  expect(await world.sandbox.endpoints(project)).toHaveLength(1);

  await world.delete("no-branch");
  await world.untilGone("no-branch");
  await world.apply("good", { projectId: 7, branchId: branches.orders, type: "ReadWrite" });
  await world.untilStalled("good", "InvalidSpec");
  expect(await world.sandbox.endpoints(project), "left alone").toHaveLength(1);
  await world.delete("good");
  await world.untilGone("good");
  expect(await world.sandbox.endpoints(project)).toEqual([]);
});
