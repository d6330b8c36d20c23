/** Tests what a namespace may do in a project of a control plane. */
import { describe, expect, it } from "vitest";
import { mayUse } from "../../../src/engine/grant.ts";
import { isSelected, planeGrantOf } from "../../../src/planes/grants.ts";
import type { ControlPlaneSpec } from "../../../src/resource/control-plane-schema.ts";

const full = { mayChange: true, mayAdopt: true };
const noAdoption = { mayChange: true, mayAdopt: false };
const none = { mayChange: false, mayAdopt: false };

const facts = (labels: Readonly<Record<string, string>> | undefined, annotation?: string) => ({
  annotation,
  isAnyAnnotated: annotation !== undefined,
  labels,
});

describe("what a namespace may do in a project", () => {
  it.each([
    ["no annotation anywhere, Required → nothing", undefined, false, "Required", none],
    ["no annotation anywhere, Open → everything but adopt", undefined, false, "Open", noAdoption],
    ["no annotation anywhere, WhenUsed → everything", undefined, false, "WhenUsed", full],
    ["another Namespace is annotated, Required → nothing", undefined, true, "Required", none],
    ["another Namespace is annotated, Open → everything but adopt", undefined, true, "Open", noAdoption],
    ["another Namespace is annotated, WhenUsed → nothing", undefined, true, "WhenUsed", none],
    ["the project is listed → everything", "red-owl-1, p-1", true, "Required", full],
    ["the project is listed, Open → everything, adoption too", "p-1", true, "Open", full],
    ["all projects → everything", "*", true, "WhenUsed", full],
    ["another project is listed, Open → nothing", "red-owl-1", true, "Open", none],
    ["a part of the id is listed → nothing", "p-", true, "WhenUsed", none],
    ["an empty annotation → nothing", "", true, "Open", none],
    ["commas alone → nothing", " , ,", true, "WhenUsed", none],
  ] as const)("%s", (_, annotation, isAnyAnnotated, mode, want) => {
    const question = { namespace: "shop", projectId: "p-1", facts: { ...facts({}, annotation), isAnyAnnotated } };
    expect(planeGrantOf({ id: "" }, question, mode)).toEqual(want);
  });

  const proven = { kind: "Proven", branchId: "br-1", parent: "main", copy: "Created" } as const;
  const branchesOf = (...parents: readonly string[]) => ({ ...none, branchesOf: parents });
  it.each([
    ["a parent by name", "p-1/main", undefined, branchesOf("main")],
    [
      "several parents, one of another project",
      "p-1/main, p-2/main,p-1/br-a-1",
      undefined,
      branchesOf("main", "br-a-1"),
    ],
    ["a slash in the parent's name", "p-1/team/main", undefined, branchesOf("team/main")],
    ["another project → nothing, in every mode", "p-2/main", undefined, none],
    ["a project alone → nothing", "p-1", undefined, none],
    ["the project itself is granted too → everything", "p-1/main", "p-1", full],
    ["another project is granted too → the parent", "p-1/main", "p-2", branchesOf("main")],
    ["an empty annotation → nothing", "", undefined, none],
  ] as const)("branches of %s", (_, given, annotation, want) => {
    for (const mode of ["Required", "Open", "WhenUsed"] as const) {
      const question = { namespace: "shop", projectId: "p-1", facts: { ...facts({}, annotation), branchesOf: given } };
      expect(planeGrantOf({ id: "" }, question, mode), mode).toEqual(want);
      expect(planeGrantOf({ id: "ClusterControlPlane/north", projects: [] }, question, mode), mode).toEqual(none);
    }
  });

  it.each([
    [full, { kind: "Mismatch", name: "pr" }, true],
    [full, { kind: "ById" }, true],
    [full, { ...proven, parent: "staging" }, true],
    [branchesOf("main"), proven, true],
    [branchesOf("staging"), proven, false],
    [branchesOf("main"), { ...proven, parent: "" }, false],
    [branchesOf("main"), { kind: "Unproven", name: "pr" }, true],
    [branchesOf("main"), { kind: "Mismatch", name: "pr" }, false],
    [branchesOf("main"), { kind: "ById" }, false],
    [none, proven, false],
    [none, { kind: "Unproven", name: "pr" }, false],
  ] as const)("%j, an endpoint on %j → %s", (grant, place, want) => {
    expect(mayUse(grant, place)).toBe(want);
  });

  it("a resource that names no project, and an annotation with an empty entry → nothing", () => {
    expect(planeGrantOf({ id: "" }, { namespace: "shop", projectId: "", facts: facts({}, ",") }, "Open")).toEqual(none);
    const branches = { ...facts({}), branchesOf: "/main" };
    expect(planeGrantOf({ id: "" }, { namespace: "shop", projectId: "", facts: branches }, "Open")).toEqual(none);
  });
});

describe("grants of a control plane", () => {
  const byName = [{ id: "p-1", namespaces: { names: ["shop"] } }];
  const byLabel = [{ id: "*", namespaces: { selector: { matchLabels: { team: "shop" } } } }];
  const own = "ControlPlane/shop/own";
  const cluster = "ClusterControlPlane/north";
  it.each<[string, string, ControlPlaneSpec["projects"], ReturnType<typeof facts>, object]>([
    ["a ControlPlane → its namespace needs no grant", own, undefined, facts({}), full],
    ["no projects, no annotation → as for the settings", cluster, undefined, facts({}), none],
    ["no projects, an annotation → granted", cluster, undefined, facts({}, "p-1"), full],
    ["the settings, an annotation → granted", "", undefined, facts({}, "p-1"), full],
    ["named → granted", cluster, byName, facts({}), full],
    ["named, and an annotation for another project → granted", cluster, byName, facts({}, "p-2"), full],
    ["projects without the namespace, but an annotation → nothing", cluster, [], facts({}, "p-1"), none],
    ["an empty list → nothing, in every mode", cluster, [], facts({}), none],
    ["labels fit → granted", cluster, byLabel, facts({ team: "shop" }), full],
    ["labels differ → nothing", cluster, byLabel, facts({ team: "crm" }), none],
    ["a Namespace that cannot be read → not selected by labels", cluster, byLabel, facts(undefined), none],
  ])("%s", (_, id, projects, namespaceFacts, want) => {
    const mode = projects?.length === 0 ? "Open" : "Required";
    const question = { namespace: "shop", projectId: "p-1", facts: namespaceFacts };
    expect(planeGrantOf({ id, projects }, question, mode)).toEqual(want);
  });

  it.each([
    ["In", ["a", "b"], { tier: "b" }, true],
    ["In", ["a"], {}, false],
    ["NotIn", ["a"], { tier: "a" }, false],
    ["NotIn", ["a"], {}, true],
    ["Exists", undefined, { tier: "" }, true],
    ["Exists", undefined, {}, false],
    ["DoesNotExist", undefined, {}, true],
    ["DoesNotExist", undefined, { tier: "x" }, false],
  ] as const)("selector: %s %j of %j → %s", (operator, values, labels, want) => {
    const given = values === undefined ? {} : { values: [...values] };
    expect(isSelected({ matchExpressions: [{ key: "tier", operator, ...given }] }, labels)).toBe(want);
  });

  it("a label named like a member of every object → absent", () => {
    expect(isSelected({ matchExpressions: [{ key: "constructor", operator: "Exists" }] }, {})).toBe(false);
  });
});
