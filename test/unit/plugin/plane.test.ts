/** Tests the control plane and the grants that a plan goes by. */
import { describe, expect, test } from "vitest";
import { KubernetesError } from "../../../src/domain/resource-store.ts";
import type { GrantMode } from "../../../src/planes/grants.ts";
import type { ReadKind } from "../../../src/plugin/cluster.ts";
import { problemOf, type ReadPlane, readGrants, readPlane, requireUrl } from "../../../src/plugin/plane.ts";
import { type ComputeEndpoint, parseComputeEndpoint } from "../../../src/resource/compute-endpoint.ts";
import { parseClusterControlPlane, planeIdOf } from "../../../src/resource/control-plane-resource.ts";
import { grantAnnotation } from "../../../src/resource/names.ts";
import { readableRef } from "../../../src/resource/spec-schema.ts";
import { everyPlaneReason, planeSaying, planeWaits, resourceSaying } from "../../support/status-saying.ts";
import { policy } from "../kinds/endpoint/builders.ts";

const url = "https://control-plane.example.com/api/v2";
const other = "https://other.example.com/api/v2";
const id = "ClusterControlPlane/analytics";

describe("the control plane of a resource", () => {
  const saying = (reason: (typeof everyPlaneReason)[number]): ReadPlane => ({
    id,
    resource: parseClusterControlPlane(planeSaying(reason)),
  });
  const settings: ReadPlane = { id: "", resource: "None" };

  /** A resource with an ownership record of this URL. */
  function recorded(serviceUrl: string): ComputeEndpoint {
    const stored = resourceSaying("UpToDate");
    const ownership = {
      endpointId: "ep-one",
      projectId: "green-fox-123456",
      resourceUid: "uid-1",
      clusterId: "c",
      serviceUrl,
      origin: "Created",
    };
    return parseComputeEndpoint({ ...stored, status: { ...stored.status, ownership } });
  }

  const elsewhere = `, but the control plane that made status is at ${other}. Set CONTROL_PLANE_URL`;
  test.each<[string, string, ReadPlane, ComputeEndpoint | undefined, string | undefined]>([
    ["the URL of the control plane", url, saying("KeyAccepted"), undefined, undefined],
    [
      "another one",
      other,
      saying("KeyAccepted"),
      undefined,
      `CONTROL_PLANE_URL is ${other}, but ClusterControlPlane analytics is at ${url}.`,
    ],
    ["the URL of the record", url, settings, recorded(url), undefined],
    ["a record has another one", url, settings, recorded(other), elsewhere],
  ])("%s", (_name, given, plane, user, refusal) => {
    const check = () => requireUrl(given, plane, user);
    if (refusal === undefined) expect(check).not.toThrow();
    else expect(check).toThrow(refusal);
  });

  test.each(everyPlaneReason)("it says %s → a problem exactly if it cannot be used", (reason) => {
    const isUnusable = planeWaits[reason] === "Person" && reason !== "Unauthorized";
    expect(problemOf(saying(reason))?.reason).toBe(isUnusable ? "ControlPlaneNotReady" : undefined);
  });

  test.each<[string, string, "NotFound" | "Forbidden", string | undefined]>([
    ["that of the settings", "", "NotFound", undefined],
    ["one that does not exist", id, "NotFound", "There is no ClusterControlPlane analytics"],
    ["one that the user may not read", id, "Forbidden", undefined],
    ["an unreadable reference", planeIdOf(readableRef.parse(7), "shop"), "NotFound", "There is no ClusterControlPlane"],
  ])("%s → the problem that the operator reports, if the user can see it", async (_name, planeId, refusal, problem) => {
    const plane = await readPlane({ get: async () => Promise.reject(new KubernetesError(refusal, "no")) }, planeId);
    expect(problemOf(plane)?.message ?? "").toContain(problem ?? "");
    expect(problemOf(plane) === undefined).toBe(problem === undefined);
  });
});

const full = { mayChange: true, mayAdopt: true };
const none = { mayChange: false, mayAdopt: false };

/** The annotations of Namespaces by name; `null`: the Namespace has none. */
type Annotations = Readonly<Record<string, string | null>>;

/** @param mayGet the Namespaces that the user may read by name. @param mayList whether all */
function clusterOf(namespaces: Annotations, mayList: boolean, mayGet: readonly string[]) {
  const namespaceOf = <Resource>(kind: ReadKind<Resource>, name: string) => {
    const given = namespaces[name];
    const metadata = { name, uid: name, resourceVersion: "1", labels: { team: name } };
    return kind.parse({ metadata: { ...metadata, annotations: given ? { [grantAnnotation]: given } : {} } });
  };
  const forbidden = () => new KubernetesError("Forbidden", "no");
  return {
    async list<Resource>(kind: ReadKind<Resource>) {
      if (!mayList) throw forbidden();
      return Object.keys(namespaces).map((name) => namespaceOf(kind, name));
    },
    async get<Resource>(kind: ReadKind<Resource>, { name }: { readonly name: string }) {
      if (!mayGet.includes(name)) throw forbidden();
      return namespaceOf(kind, name);
    },
  };
}

describe("the grant of a namespace", () => {
  const granted: Annotations = { shop: "p-1", team: null };
  const plain: Annotations = { shop: null, team: null };
  test.each<[string, Annotations, boolean, readonly string[], GrantMode, string[], object | undefined]>([
    ["all Namespaces, granted elsewhere", { shop: null, team: "p-1" }, true, ["shop"], "WhenUsed", [], none],
    ["all Namespaces, no grant anywhere", plain, true, ["shop"], "WhenUsed", [], full],
    ["this one cannot be read", plain, true, [], "Open", [], undefined],
    ["only this one, granted", granted, false, ["shop"], "WhenUsed", [], full],
    ["only this one, without a grant: another one may have it", plain, false, ["shop"], "WhenUsed", [], undefined],
    ["only this one, Required", plain, false, ["shop"], "Required", [], none],
    ["none", granted, false, [], "Required", [], undefined],
    [
      "a grant where the operator does not watch",
      { shop: null, far: "p-1" },
      true,
      ["shop"],
      "WhenUsed",
      ["shop"],
      full,
    ],
  ])("%s", async (_name, namespaces, mayList, mayGet, projectGrants, watchNamespaces, wanted) => {
    const settings = { ...policy, clusterId: "cluster-a", projectGrants, watchNamespaces };
    const cluster = clusterOf(namespaces, mayList, mayGet);
    const grantOf = await readGrants({ cluster, settings }, { id: "", resource: "None" }, "shop");
    expect(grantOf?.("shop", "p-1")).toEqual(wanted);
  });

  const plane = (names: readonly string[] | undefined): ReadPlane => {
    const projects = names && [{ id: "p-1", namespaces: { names } }];
    const spec = { url, apiKeySecretRef: { namespace: "p", name: "k", key: "k" }, projects };
    const metadata = { name: "analytics", uid: "u", resourceVersion: "1", generation: 1 };
    return { id, resource: parseClusterControlPlane({ metadata, spec }) };
  };
  test.each<[string, ReadPlane, boolean, object | undefined]>([
    ["of the namespace itself: needs none", { ...plane([]), id: "ControlPlane/shop/own" }, false, full],
    ["it names the namespace", plane(["shop"]), true, full],
    ["it names another one, whatever the annotation says", plane(["crm"]), true, none],
    ["rules, and labels that the user may not read", plane(["shop"]), false, undefined],
    ["no rules: the annotation", plane(undefined), true, full],
    ["it does not exist: the annotation", { id, resource: "Absent" }, true, full],
    ["the user may not read it", { id, resource: "Forbidden" }, true, undefined],
  ])("by a control plane: %s", async (_name, named, mayRead, wanted) => {
    const cluster = clusterOf({ shop: "p-1" }, mayRead, mayRead ? ["shop"] : []);
    const settings = { ...policy, clusterId: "cluster-a", projectGrants: "Required" as const, watchNamespaces: [] };
    const grantOf = await readGrants({ cluster, settings }, named, "shop");
    expect(grantOf?.("shop", "p-1")).toEqual(wanted);
  });
});
