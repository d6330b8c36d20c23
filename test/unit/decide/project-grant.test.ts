/** Tests what a namespace may do in a project. */
import { describe, expect, it } from "vitest";
import { planOf, situationOf } from "../../../src/decide/plan-resource.ts";
import { notGrantedMessage, projectGrantOf } from "../../../src/decide/project-grant.ts";
import { branch, endpoint, intent, observation, ownership, project, resource } from "./builders.ts";

const full = { mayChange: true, mayAdopt: true };
const none = { mayChange: false, mayAdopt: false };
const noAdoption = { mayChange: true, mayAdopt: false };

describe("what a namespace may do in a project", () => {
  it.each([
    ["no annotation anywhere, Required → nothing", undefined, false, "Required", none],
    ["no annotation anywhere, Open → everything but adopt", undefined, false, "Open", noAdoption],
    ["no annotation anywhere, WhenUsed → everything", undefined, false, "WhenUsed", full],
    ["another Namespace is annotated, Required → nothing", undefined, true, "Required", none],
    ["another Namespace is annotated, Open → everything but adopt", undefined, true, "Open", noAdoption],
    ["another Namespace is annotated, WhenUsed → nothing", undefined, true, "WhenUsed", none],
    ["the project is listed → everything", `red-owl-1, ${project}`, true, "Required", full],
    ["the project is listed, Open → everything, adoption too", project, true, "Open", full],
    ["all projects → everything", "*", true, "WhenUsed", full],
    ["another project is listed, Open → nothing", "red-owl-1", true, "Open", none],
    ["a part of the id is listed → nothing", project.slice(0, -1), true, "WhenUsed", none],
    ["an empty annotation → nothing", "", true, "Open", none],
    ["commas alone → nothing", " , ,", true, "WhenUsed", none],
  ] as const)("%s", (_, annotation, isAnyAnnotated, mode, want) => {
    expect(projectGrantOf(project, { annotation, isAnyAnnotated }, mode)).toEqual(want);
  });

  it("a resource that names no project, and an annotation with an empty entry → nothing", () => {
    expect(projectGrantOf("", { annotation: ",", isAnyAnnotated: true }, "Open")).toEqual(none);
  });
});

const owned = (origin: "Created" | "Adopted" | "Presumed") => ({ ownership: ownership({ origin }) });

describe("decisions without a grant", () => {
  it.each([
    ["a new resource", none, resource({ hasFinalizer: false }), { kind: "Stall", reason: "ProjectNotGranted" }],
    ["an open create", none, resource({ status: { createIntent: intent() } }), { reason: "ProjectNotGranted" }],
    ["an owned endpoint", none, resource({ status: owned("Created") }), { reason: "ProjectNotGranted" }],
    [
      "an adoption by id, Open",
      noAdoption,
      resource({ spec: { adoption: { policy: "AdoptOnly", endpointId: "ep-main-1" } } }),
      { kind: "Stall", reason: "ProjectNotGranted" },
    ],
    [
      "an adoption of whatever is on the branch, Open",
      noAdoption,
      resource({ spec: { adoption: { policy: "AdoptOrCreate" } } }),
      { kind: "Stall", reason: "ProjectNotGranted" },
    ],
    [
      "deletion with Retain",
      none,
      resource({ isDeleting: true, spec: { deletionPolicy: "Retain" }, status: owned("Created") }),
      retained(),
    ],
    ["deletion of what it created", none, resource({ isDeleting: true, status: owned("Created") }), deleted()],
    [
      "deletion with Delete of what it adopted",
      none,
      resource({ isDeleting: true, spec: { deletionPolicy: "Delete" }, status: owned("Adopted") }),
      { kind: "Stall", reason: "ProjectNotGranted" },
    ],
    [
      "deletion with Delete of what it presumed",
      none,
      resource({ isDeleting: true, spec: { deletionPolicy: "Delete" }, status: owned("Presumed") }),
      { kind: "Stall", reason: "ProjectNotGranted" },
    ],
    ["a pause", none, resource({ isPaused: true }), { kind: "Wait", reason: "Paused" }],
  ])("%s → as docs/tenants.md says", (_, grant, subject, want) => {
    const plan = planOf(observation({ grant, resource: subject, endpoints: [endpoint()] }));
    expect(plan).toMatchObject(want);
  });

  it("an endpoint on the branch that the namespace may not adopt → refused without its id", () => {
    const plan = planOf(observation({ grant: noAdoption, endpoints: [endpoint({ id: "ep-secret-9" })] }));
    expect(plan).toMatchObject({ kind: "Stall", reason: "EndpointExists" });
    expect(JSON.stringify(plan)).not.toContain("ep-secret-9");
  });

  it("a refused resource → decided without the control plane", () => {
    expect(situationOf(observation({ grant: none })).kind).toBe("NotGranted");
  });

  it("the message → names the annotation, the Namespace and the project, and no branch or endpoint", () => {
    const texts = (["change", "adopt", "deleteAdopted"] as const).map((what) =>
      notGrantedMessage("shop", project, what),
    );
    for (const text of texts) {
      expect(text).toContain(`add ${project} to the annotation endpoint-operator.dev/projects of Namespace shop`);
      expect(text).not.toContain(branch);
    }
  });
});

function retained() {
  return { kind: "RemoveFinalizer", cause: "Retained" };
}

function deleted() {
  return { kind: "DeleteEndpoint" };
}
