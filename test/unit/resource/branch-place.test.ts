/** Tests when the branch of a DatabaseBranch counts. */
import { expect, test } from "vitest";
import { placeOf } from "../../../src/resource/branch-place.ts";
import { parseComputeEndpoint } from "../../../src/resource/compute-endpoint.ts";
import { knownBranch } from "../../support/fakes/known-branch.ts";

const identity = { clusterId: "cluster-a", serviceUrl: "https://control.example/v2" };
const planeRef = { kind: "ControlPlane", name: "own" };
const metadata = { namespace: "preview", name: "pr-42", uid: "uid-pr-42", resourceVersion: "1" };
const unproven = { kind: "Unproven", name: "pr-42" };
const unrecorded = { ...unproven, parent: "main" };
const unfinished = { ...unrecorded, isUnfinished: true };
const mismatch = { kind: "Mismatch", name: "pr-42" };

const branch = (change: Parameters<typeof knownBranch>[1] = {}) =>
  knownBranch({ namespace: "preview", projectId: "p-1", branchId: "br-pr-42", identity }, change);

const endpoint = (spec: object) =>
  parseComputeEndpoint({
    metadata: { ...metadata, name: "app" },
    spec: { projectId: "p-1", type: "ReadWrite", ...spec },
  });

const proven = { kind: "Proven", branchId: "br-pr-42", parent: "main", copy: "Created" };
const reset = { lastResetTime: "2026-11-27T20:00:00Z" };
const resetting = {
  type: "Ready",
  status: "False",
  reason: "Resetting",
  message: "m",
  observedGeneration: 1,
  lastTransitionTime: "2026-11-27T20:00:00Z",
};
const resetIntent = { value: "2", lastResetTime: "2026-11-27T20:00:00Z" };

test.each<[string, object, ReturnType<typeof branch> | undefined]>([
  ["its record is of this resource, cluster and control plane", proven, branch()],
  ["it was reset", { ...proven, copy: reset.lastResetTime }, branch({ status: reset })],
  ["its parent is named by id", { ...proven, parent: "br-1" }, branch({ spec: { parent: { branchId: "br-1" } } })],
  ["its parent is the default branch", { ...proven, parent: "" }, branch({ spec: { parent: undefined } })],
  ["it does not exist", unproven, undefined],
  ["it has no branch yet", unrecorded, branch({ status: { ownership: undefined } })],
  ["it is being deleted", unproven, branch({ deletionTimestamp: "2026-11-27T20:00:00Z" })],
  ["its reset may have been sent", unfinished, branch({ status: { ...reset, resetIntent } })],
  ["it is being reset", unfinished, branch({ status: { ...reset, conditions: [resetting] } })],
  ["its reset takes long", unfinished, branch({ status: { ...reset, state: "resetting" } })],
  ["it has no data yet, or never gets any", unfinished, branch({ status: { state: "init" } })],
  ["it is archived", proven, branch({ status: { state: "archived" } })],
  ["its record is of another resource", unrecorded, branch({ ownership: { resourceUid: "uid-before" } })],
  ["its record is of another cluster", unrecorded, branch({ ownership: { clusterId: "cluster-b" } })],
  ["its record is of another URL", unrecorded, branch({ ownership: { serviceUrl: "https://other.example" } })],
  ["its record has another control plane", unrecorded, branch({ ownership: { controlPlane: "ControlPlane/a/own" } })],
  ["its spec is invalid", unproven, branch({ spec: { initSource: "x" } })],
  ["it is of another project", mismatch, branch({ spec: { projectId: "p-2" } })],
  ["it is of another control plane", mismatch, branch({ spec: { controlPlaneRef: planeRef } })],
])("a DatabaseBranch: %s → %j", (_, want, found) => {
  const find = ({ namespace, name }: { namespace: string; name: string }) =>
    namespace === "preview" && name === "pr-42" ? found : undefined;
  expect(placeOf(endpoint({ branchRef: { name: "pr-42" } }), find, identity)).toEqual(want);
});

test("a branch by id, a name in another namespace, an invalid spec with a branchRef → the branch itself, none, none", () => {
  const find = () => undefined;
  expect(placeOf(endpoint({ branchId: "br-1" }), find, identity)).toEqual({ kind: "ById" });
  expect(placeOf(endpoint({ branchRef: { name: "pr-42" }, type: "x" }), find, identity)).toEqual(unproven);
});

test.each([
  [{ branchId: "br-1" }, "Valid"],
  [{ branchRef: { name: "pr-42" } }, "Valid"],
  [{ branchId: "br-1", branchRef: { name: "pr-42" } }, "Invalid"],
  [{}, "Invalid"],
])("spec with %j → %s", (spec, want) => {
  expect(endpoint(spec).spec.kind).toBe(want);
});
