/** Tests names of objects, and manifests that adopt. */
import { expect, test } from "vitest";
import { computeEndpointKind, planeKinds } from "../../../src/kubernetes/store/resource-kinds.ts";
import { parseName, type ReadKind } from "../../../src/plugin/cluster.ts";
import { adoptionManifest, usageOf, usageText, withTotals } from "../../../src/plugin/listings.ts";
import { parseComputeEndpoint } from "../../../src/resource/compute-endpoint.ts";
import { endpoint } from "../kinds/endpoint/builders.ts";

const kinds: readonly ReadKind<object>[] = [computeEndpointKind, ...Object.values(planeKinds)];
const inShop = (name: string) => ({ namespace: "shop", name });

test.each([
  ["orders", "ComputeEndpoint", inShop("orders")],
  ["cpe/orders", "ComputeEndpoint", inShop("orders")],
  ["computeendpoint.endpoint-operator.dev/orders", "ComputeEndpoint", inShop("orders")],
  ["ControlPlane/own", "ControlPlane", inShop("own")],
  ["cpl/own", "ControlPlane", inShop("own")],
  ["clustercontrolplane.endpoint-operator.dev/analytics", "ClusterControlPlane", { namespace: "", name: "analytics" }],
])("%s → %s", (text, kind, key) => {
  const found = parseName(text, "shop", kinds);
  expect({ kind: found.kind.kind, key: found.key }).toEqual({ kind, key });
});

test.each(["pod/x", "cpl/", "cpl/a/b", ""])("%j → refused with the names that fit", (text) => {
  expect(() => parseName(text, "shop", Object.values(planeKinds))).toThrow(/write NAME, cpl\/NAME, ccpl\/NAME/);
  expect(() => parseName("dba/app", "shop", [computeEndpointKind])).toThrow(/write NAME, cpe\/NAME/);
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
  expect(adoptionManifest(seen, "shop", { controlPlaneRef, isObserved: false })).toMatchObject({
    metadata: inShop(id),
    spec: { ...spec, controlPlaneRef, ...adoption },
  });
  const here = { controlPlaneRef: undefined, isObserved: false };
  expect(adoptionManifest(seen, "shop", here)).toHaveProperty("spec", { ...spec, ...adoption });
  const observing = { management: "Observe", adoption: adoption.adoption };
  expect(adoptionManifest(seen, "shop", { ...here, isObserved: true })).toHaveProperty("spec", {
    ...spec,
    ...observing,
  });
});

test("usage of three resources in two namespaces → hours, the branch's own count, totals of each and of all", () => {
  const hour = 3_600_000;
  const used = (namespace: string, name: string, isActive: boolean, ready = "True") => {
    const times = { sinceTime: "2026-11-21T10:00:00Z", asOfTime: "2026-11-21T11:00:00Z", isActive };
    const usage = { ...times, activeSeconds: 7_200, minUnitSeconds: 1_800, maxUnitSeconds: 14_400, starts: 2 };
    const said = { observedGeneration: 1, lastTransitionTime: "", reason: "UpToDate", message: "" };
    const conditions = [{ type: "Ready", status: ready, ...said }];
    const status = { usage, compute: { minUnits: 0.25, maxUnits: 2, size: "0.25-2" }, conditions };
    return parseComputeEndpoint({ metadata: { name, namespace, uid: name, resourceVersion: "1" }, status });
  };
  const nowMs = Date.parse("2026-11-21T11:01:00Z") + hour;
  const given = [used("shop", "orders", true), used("shop", "billing", false), used("crm", "people", true, "False")];
  const rows = given.map((each, at) => usageOf(each, nowMs, at === 0 ? 5_400 : undefined));
  const text = usageText(withTotals(rows.filter((row) => row !== undefined)));
  expect(text.split("\n").map((line) => line.trim().split(/ {2,}/))).toEqual([
    [...["RESOURCE", "ACTIVE-HOURS", "UNIT-HOURS-MIN", "UNIT-HOURS-MAX", "STARTS"], "BRANCH-THIS-MONTH", "SINCE"],
    ["shop/orders", "3", "0.75", "6", "2", "1.5", "2026-11-21T10:00:00Z"],
    ["shop/billing", "2", "0.5", "4", "2", "2026-11-21T10:00:00Z"],
    ["shop/ total", "5", "1.25", "10", "4"],
    ["crm/people", "2", "0.5", "4", "2", "2026-11-21T10:00:00Z"],
    ["crm/ total", "2", "0.5", "4", "2"],
    ["total", "7", "1.75", "14", "6"],
    [""],
  ]);
  const unseen = parseComputeEndpoint({ metadata: { name: "new", namespace: "shop", uid: "n", resourceVersion: "1" } });
  expect(usageOf(unseen, nowMs)).toBeUndefined();
});
