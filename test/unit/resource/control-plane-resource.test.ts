/** Tests the ids of control planes and the keys of their projects. */
import { expect, it } from "vitest";
import { parseComputeEndpoint, projectKeysOf, workKeyOf } from "../../../src/resource/compute-endpoint.ts";
import { parseProjectKey, planeIdOf, projectKey } from "../../../src/resource/control-plane-resource.ts";

const metadata = { namespace: "shop", name: "own", uid: "u", resourceVersion: "1", generation: 1 };

it.each([
  ["the settings", undefined, "p-1"],
  ["a ControlPlane", { kind: "ControlPlane", name: "own" }, "ControlPlane/shop/own/p-1"],
  ["a ClusterControlPlane", { kind: "ClusterControlPlane", name: "own" }, "ClusterControlPlane/own/p-1"],
] as const)("a project at %s → its own key, and back", (_, ref, key) => {
  const planeId = planeIdOf(ref, "shop");
  expect(projectKey(planeId, "p-1")).toBe(key);
  expect(parseProjectKey(key)).toEqual({ planeId, projectId: "p-1" });
});

it("a reference that cannot be read → never the control plane of the settings", () => {
  const spec = { projectId: "p-1", branchId: "b-1", type: "ReadWrite", controlPlaneRef: { kind: "Other" } };
  const resource = parseComputeEndpoint({ metadata, spec });
  expect(workKeyOf(resource)).toBe("ClusterControlPlane//p-1");
  expect(projectKeysOf(resource)).toEqual(["ClusterControlPlane//p-1"]);
});
