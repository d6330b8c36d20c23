/** Tests how the plugin reads grants. */
import { describe, expect, test } from "vitest";
import type { GrantMode } from "../../../src/decide/project-grant.ts";
import { readGrants } from "../../../src/plugin/read-grants.ts";

const full = { mayChange: true, mayAdopt: true };
const none = { mayChange: false, mayAdopt: false };
const changeOnly = { mayChange: true, mayAdopt: false };

/** The annotations of Namespaces by name; `null`: the Namespace has none. */
type Cluster = Readonly<Record<string, string | null>>;

/** Makes a user who may list Namespaces, may read some of them by name, or has neither right. */
function reads(cluster: Cluster, mayList: boolean, mayGet: readonly string[]) {
  return {
    listGrants: async () =>
      mayList
        ? new Map(Object.entries(cluster).flatMap(([name, value]) => (value === null ? [] : [[name, value]])))
        : undefined,
    getGrant: async (name: string) => (mayGet.includes(name) ? { annotation: cluster[name] ?? undefined } : undefined),
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
