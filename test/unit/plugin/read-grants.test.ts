/** Tests how the plugin reads grants. */
import { describe, expect, test } from "vitest";
import type { GrantMode } from "../../../src/planes/grants.ts";
import type { ReadPlane } from "../../../src/plugin/named-plane.ts";
import { readGrants } from "../../../src/plugin/read-grants.ts";
import { parseClusterControlPlane } from "../../../src/resource/control-plane-resource.ts";

const full = { mayChange: true, mayAdopt: true };
const none = { mayChange: false, mayAdopt: false };
const changeOnly = { mayChange: true, mayAdopt: false };

/** The annotations of Namespaces by name; `null`: the Namespace has none. */
type Cluster = Readonly<Record<string, string | null>>;

/** Makes a user who may list Namespaces, may read some of them by name, or has neither right. */
function reads(cluster: Cluster, mayList: boolean, mayGet: readonly string[]) {
  const factsOf = (name: string) => ({ annotation: cluster[name] ?? undefined, labels: { team: name } });
  return {
    listNamespaces: async () =>
      mayList ? new Map(Object.keys(cluster).map((name) => [name, factsOf(name)])) : undefined,
    getNamespace: async (name: string) => (mayGet.includes(name) ? factsOf(name) : undefined),
  };
}

describe("the grants that a plan goes by", () => {
  const granted: Cluster = { shop: "p-1", team: null };
  const plain: Cluster = { shop: null, team: null };
  test.each<[string, Cluster, boolean, readonly string[], GrantMode, readonly string[], object | undefined]>([
    ["all Namespaces, granted here", granted, true, [], "WhenUsed", [], full],
    ["all Namespaces, granted elsewhere", { shop: null, team: "p-1" }, true, [], "WhenUsed", [], none],
    ["all Namespaces, no grant anywhere", plain, true, [], "WhenUsed", [], full],
    ["all Namespaces, Required", plain, true, [], "Required", [], none],
    ["all Namespaces, Open", plain, true, [], "Open", [], changeOnly],
    ["only this one, granted", granted, false, ["shop"], "WhenUsed", [], full],
    ["only this one, without a grant: another one may have it", plain, false, ["shop"], "WhenUsed", [], undefined],
    ["only this one, Required", plain, false, ["shop"], "Required", [], none],
    [
      "this one and another that has a grant",
      { shop: null, team: "p-2" },
      false,
      ["shop", "team"],
      "WhenUsed",
      [],
      none,
    ],
    ["none", granted, false, [], "Required", [], undefined],
    ["the watched ones, none has a grant", plain, true, ["shop", "team"], "WhenUsed", ["shop", "team"], full],
    ["the watched ones, a grant elsewhere", { shop: null, far: "p-1" }, true, ["shop"], "WhenUsed", ["shop"], full],
    ["some of the watched ones", plain, true, ["shop"], "WhenUsed", ["shop", "team"], undefined],
  ])("%s", async (_name, cluster, mayList, mayGet, projectGrants, watchNamespaces, wanted) => {
    const settings = { projectGrants, watchNamespaces };
    const grantOf = await readGrants(["shop", "team"], reads(cluster, mayList, mayGet), settings);
    expect(grantOf("shop", "p-1")).toEqual(wanted);
  });
});

describe("the grants of a control plane that the resource names", () => {
  const plane = (kind: "ControlPlane" | "ClusterControlPlane", projects?: readonly object[]): ReadPlane => {
    const spec = { url: "https://x.example/v2", apiKeySecretRef: { namespace: "p", name: "k", key: "k" }, projects };
    const metadata = { name: "far", uid: "u", resourceVersion: "1", generation: 1 };
    const snapshot = { kind: "Found", plane: parseClusterControlPlane({ metadata, spec }) } as const;
    return { named: { ref: { kind, name: "far" }, namespace: "shop" }, snapshot };
  };
  const rule = (namespaces: object, id = "p-1") => plane("ClusterControlPlane", [{ id, namespaces }]);
  const unreadable = (kind: "Absent" | "Forbidden"): ReadPlane => ({ ...rule({}), snapshot: { kind } });
  const [bySelector, byOther] = ["shop", "crm"].map((team) => rule({ selector: { matchLabels: { team } } }));
  test.each([
    ["of the namespace itself: needs none", plane("ControlPlane"), false, full],
    ["it names the namespace", rule({ names: ["shop"] }), false, full],
    ["it names another one, whatever the annotation says", rule({ names: ["crm"] }), true, none],
    ["it names the namespace for another project", rule({ names: ["shop"] }, "p-2"), true, none],
    ["its selector fits", bySelector, true, full],
    ["its selector does not fit", byOther, true, none],
    ["its selector, and labels that the user may not read", bySelector, false, undefined],
    ["no rules: the annotation", plane("ClusterControlPlane"), true, full],
    ["it does not exist: the annotation", unreadable("Absent"), true, full],
    ["the user may not read it", unreadable("Forbidden"), true, undefined],
  ] as const)("%s", async (_name, named, mayRead, wanted) => {
    const settings = { projectGrants: "Required", watchNamespaces: [] } as const;
    const grantOf = await readGrants(["shop"], reads({ shop: "p-1" }, mayRead, []), settings, named);
    expect(grantOf("shop", "p-1")).toEqual(wanted);
  });
});
