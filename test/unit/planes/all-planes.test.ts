/** Tests all control planes together: which namespaces learn that one does not exist. */
import { expect, it } from "vitest";
import { fullGrant, noGrant } from "../../../src/decide/project-grant.ts";
import { Planes } from "../../../src/planes/planes.ts";
import type { Projects } from "../../../src/reconcile/project-memory.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const projects = {} as Projects;

function planesWith(annotation: string | undefined): Planes {
  return new Planes({
    clock: new FakeClock(),
    secrets: { account: "ops:operator", read: async () => undefined },
    namespaces: { grantsOf: () => ({ annotation, isAnyAnnotated: true, labels: {} }) },
    settings: { access: undefined, projects },
    grantMode: "WhenUsed",
    tenantHosts: undefined,
    connect: () => ({
      access: {} as never,
      unreadableCount: () => 0,
      setRequestsPerMinute: () => {},
      close: async () => {},
    }),
    newProjects: () => projects,
    gapOf: () => undefined,
    onKey: () => {},
    onUsable: () => {},
    onNews: () => {},
    onUnused: () => {},
  });
}

it.each([
  ["a ClusterControlPlane, no grant", "ClusterControlPlane/north", undefined, noGrant],
  ["a ClusterControlPlane, the annotation", "ClusterControlPlane/north", "p-1", fullGrant],
  ["a ControlPlane of the namespace", "ControlPlane/shop/own", undefined, fullGrant],
])("%s → the grant that it would have without projects", (_, planeId, annotation, want) => {
  expect(planesWith(annotation).unitOf(planeId).grantOf("shop", "p-1")).toEqual(want);
});
