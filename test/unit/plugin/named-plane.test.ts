/** Tests the control plane that a command names. */
import { describe, expect, test } from "vitest";
import { fullGrant, noGrant } from "../../../src/engine/grant.ts";
import { adoptionManifest, unownedEndpoints } from "../../../src/plugin/listings.ts";
import {
  isPlaneName,
  namedBy,
  type PlaneSnapshot,
  parsePlaneName,
  problemOf,
  requireRecordedUrl,
  requireSameUrl,
} from "../../../src/plugin/named-plane.ts";
import { planNow } from "../../../src/plugin/plan-now.ts";
import { type ComputeEndpoint, parseComputeEndpoint } from "../../../src/resource/compute-endpoint.ts";
import { parseClusterControlPlane } from "../../../src/resource/control-plane-resource.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { everyPlaneReason, planeSaying, planeWaits, resourceSaying } from "../../support/status-saying.ts";
import { endpoint as observed } from "../kinds/endpoint/builders.ts";

const url = "https://control-plane.example.com/api/v2";
const other = "https://other.example.com/api/v2";
const named = { ref: { kind: "ClusterControlPlane", name: "analytics" }, namespace: "shop" } as const;
const found = (reason: (typeof everyPlaneReason)[number]): PlaneSnapshot => ({
  kind: "Found",
  plane: parseClusterControlPlane(planeSaying(reason)),
});

/** A resource with an ownership record of `ep-one` at this URL, or with the given spec. */
function resource(serviceUrl: string | undefined, spec: object = {}): ComputeEndpoint {
  const stored = resourceSaying("UpToDate");
  const ownership = {
    ...{ endpointId: "ep-one", projectId: "green-fox-123456", resourceUid: "uid-1", clusterId: "c", serviceUrl },
    origin: "Created",
  };
  const status = { ...stored.status, ...(serviceUrl && { ownership }) };
  return parseComputeEndpoint({ ...stored, spec: { ...stored.spec, ...spec }, status });
}

describe("the control plane that a command names", () => {
  test.each([
    ["controlplane/own", "ControlPlane", "own"],
    ["cpl/own", "ControlPlane", "own"],
    ["ClusterControlPlane/analytics", "ClusterControlPlane", "analytics"],
    ["ccpl/analytics", "ClusterControlPlane", "analytics"],
  ])("%s → %s", (text, kind, name) => {
    expect(parsePlaneName(text)).toEqual({ kind, name });
    expect(isPlaneName(text)).toBe(true);
  });

  test.each(["own", "dba/own", "controlplane/", "controlplane/a/b", ""])("%j → refused", (text) => {
    expect(() => parsePlaneName(text)).toThrow(/write controlplane\/NAME or clustercontrolplane\/NAME/);
  });

  test("a resource with a reference, without one, with an unreadable one → named, none, refused", () => {
    expect(namedBy(resource(undefined, { controlPlaneRef: named.ref }))).toEqual(named);
    expect(namedBy(resource(undefined))).toBeUndefined();
    expect(() => namedBy(resource(undefined, { controlPlaneRef: { kind: "Other", name: 7 } }))).toThrow(
      /spec.controlPlaneRef cannot be read/,
    );
  });
});

describe("the URL of the control plane", () => {
  test("the same → compared; another → refused with both; not readable → not compared", () => {
    expect(requireSameUrl(found("KeyAccepted"), named, url)).toBe(true);
    expect(() => requireSameUrl(found("KeyAccepted"), named, other)).toThrow(
      `CONTROL_PLANE_URL is ${other}, but the url of ClusterControlPlane analytics is ${url}.`,
    );
    expect(requireSameUrl({ kind: "Forbidden" }, named, other)).toBe(false);
  });

  test("the record of a resource names another one → refused, unless the operator itself refuses the record", () => {
    expect(() => requireRecordedUrl(resource(undefined), url)).not.toThrow();
    expect(() => requireRecordedUrl(resource(url), url)).not.toThrow();
    expect(() => requireRecordedUrl(resource(other), url)).toThrow(
      `CONTROL_PLANE_URL is ${url}, but the operator works on shop/orders at ${other}.`,
    );
    const { conditions } = resourceSaying("IdentityUnproven").status;
    const recorded = resource(other);
    const stalled = { ...recorded, status: { ...recorded.status, conditions } };
    expect(() => requireRecordedUrl(stalled, url)).not.toThrow();
  });

  test.each(everyPlaneReason)("a control plane that says %s → a problem exactly if it cannot be used", (reason) => {
    const isUnusable = planeWaits[reason] === "Person" && reason !== "Unauthorized";
    const problem = problemOf({ named, snapshot: found(reason) });
    expect(problem).toEqual(isUnusable ? expect.objectContaining({ reason: "ControlPlaneNotReady" }) : undefined);
  });

  test("there is none → a problem; not readable → none is known", () => {
    expect(problemOf({ named, snapshot: { kind: "Absent" } })).toMatchObject({ reason: "ControlPlaneNotFound" });
    expect(problemOf({ named, snapshot: { kind: "Forbidden" } })).toBeUndefined();
  });

  test.each([
    ["with a grant", fullGrant, "ControlPlaneNotFound"],
    ["without a grant, as the operator: it does not say whether there is one", noGrant, "ProjectNotGranted"],
  ] as const)("there is none, %s → the Stall of the operator", async (_, grant, reason) => {
    const step = await planNow({
      ...{ resource: resource(undefined, { controlPlaneRef: named.ref }), others: [], controlPlane: undefined },
      ...{ identity: { clusterId: "", serviceUrl: "" }, clock: new FakeClock(), grants: () => grant },
      problem: problemOf({ named, snapshot: { kind: "Absent" } }),
    });
    expect(step).toMatchObject({ plan: { kind: "Stall", reason }, isGrantAssumed: false });
  });
});

describe("endpoints without a resource", () => {
  const endpoint = observed({ id: "ep-one" });

  test("a record at this URL → owned; at another URL → not owned here", () => {
    expect(unownedEndpoints([endpoint], [resource(url)], url)).toEqual([]);
    expect(unownedEndpoints([endpoint], [resource(other)], url)).toEqual([endpoint]);
  });

  test("the manifest for a control plane → names it; otherwise it does not", () => {
    expect(adoptionManifest(endpoint, "shop", named.ref)).toMatchObject({ spec: { controlPlaneRef: named.ref } });
    expect(adoptionManifest(endpoint, "shop", undefined)).not.toHaveProperty("spec.controlPlaneRef");
  });
});
