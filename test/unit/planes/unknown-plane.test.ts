/** A control plane that does not exist: who learns that. */
import { expect, it } from "vitest";
import { fullGrant, noGrant } from "../../../src/decide/project-grant.ts";
import { Planes } from "../../../src/planes/planes.ts";
import type { Projects } from "../../../src/reconcile/projects.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const projects = {} as Projects;

function planesWith(annotation: string | undefined): Planes {
  return new Planes({
    clock: new FakeClock(),
    secrets: { read: async () => undefined, setFinalizers: async () => {} },
    namespaces: { grantsOf: () => ({ annotation, isAnyAnnotated: true, labels: {}, isTerminating: false }) },
    settings: { access: undefined, projects },
    grantMode: "WhenUsed",
    connect: () => ({ access: {} as never, unreadableCount: () => 0, close: async () => {} }),
    newProjects: () => projects,
    standingOf: () => "Listed",
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
