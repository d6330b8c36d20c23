/** Tests names of objects, and manifests that adopt. */
import { expect, test } from "vitest";
import { endpointKind, explainedKinds, parseName, planeKinds } from "../../../src/plugin/kinds.ts";
import { adoptionManifest, unownedEndpoints } from "../../../src/plugin/listings.ts";
import { parseComputeEndpoint } from "../../../src/resource/compute-endpoint.ts";
import { endpoint } from "../kinds/endpoint/builders.ts";

const inShop = (name: string) => ({ namespace: "shop", name });

test.each([
  ["orders", "ComputeEndpoint", inShop("orders")],
  ["cpe/orders", "ComputeEndpoint", inShop("orders")],
  ["computeendpoint.endpoint-operator.dev/orders", "ComputeEndpoint", inShop("orders")],
  ["dba/app", "DatabaseAccess", inShop("app")],
  ["ControlPlane/own", "ControlPlane", inShop("own")],
  ["cpl/own", "ControlPlane", inShop("own")],
  ["clustercontrolplane.endpoint-operator.dev/analytics", "ClusterControlPlane", { namespace: "", name: "analytics" }],
])("%s → %s", (text, kind, key) => {
  const found = parseName(text, "shop", explainedKinds);
  expect({ kind: found.kind.kind, key: found.key }).toEqual({ kind, key });
});

test.each(["pod/x", "cpl/", "cpl/a/b", ""])("%j → refused with the names that fit", (text) => {
  expect(() => parseName(text, "shop", Object.values(planeKinds))).toThrow(/write NAME, cpl\/NAME, ccpl\/NAME/);
  expect(() => parseName("dba/app", "shop", [endpointKind])).toThrow(/write NAME, cpe\/NAME/);
});

test("an endpoint with a record at this URL → owned; at another URL → not owned here", () => {
  const resource = (serviceUrl: string) => {
    const record = { endpointId: "ep-one", projectId: "p", resourceUid: "u", clusterId: "c", origin: "Created" };
    const metadata = { name: "orders", namespace: "shop", uid: "u", resourceVersion: "1" };
    return parseComputeEndpoint({ metadata, status: { ownership: { ...record, serviceUrl } } });
  };
  const one = endpoint({ id: "ep-one" });
  expect(unownedEndpoints([one], [resource("https://a/v2")], "https://a/v2")).toEqual([]);
  expect(unownedEndpoints([one], [resource("https://b/v2")], "https://a/v2")).toEqual([one]);
});

test.each([
  [undefined, undefined],
  [0, { mode: "ServiceDefault" }],
  [-1, { mode: "Never" }],
  [300, { mode: "After", afterSeconds: 300 }],
] as const)("a suspend delay of %s s → the manifest has the present values", (suspendTimeoutSeconds, suspend) => {
  const seen = endpoint({ minUnits: 0.5, maxUnits: 2, suspendTimeoutSeconds });
  const { id, projectId, branchId, type } = seen;
  const controlPlaneRef = { kind: "ClusterControlPlane", name: "analytics" } as const;
  const spec = { projectId, branchId, type, compute: { minUnits: 0.5, maxUnits: 2 }, ...(suspend && { suspend }) };
  const adoption = { adoption: { policy: "AdoptOnly", endpointId: id }, deletionPolicy: "Retain" };
  expect(adoptionManifest(seen, "shop", controlPlaneRef)).toMatchObject({
    metadata: inShop(id),
    spec: { ...spec, controlPlaneRef, ...adoption },
  });
  expect(adoptionManifest(seen, "shop", undefined)).toHaveProperty("spec", { ...spec, ...adoption });
});
