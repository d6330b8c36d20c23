/** Tests decisions about resources without a grant. */
import { describe, expect, it } from "vitest";
import { notGrantedMessage } from "../../../../src/engine/grant.ts";
import { planOf, situationOf } from "../../../../src/kinds/endpoint/decide.ts";
import { branch, endpoint, intent, observation, ownership, project, resource } from "./builders.ts";

const none = { mayChange: false, mayAdopt: false };
const noAdoption = { mayChange: true, mayAdopt: false };

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
