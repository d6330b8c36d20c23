/** Tests all control planes together: which namespaces learn that one does not exist, and which ones are too many. */
import { expect, it } from "vitest";
import { fullGrant, noGrant } from "../../../src/decide/project-grant.ts";
import { Planes } from "../../../src/planes/planes.ts";
import type { Projects } from "../../../src/reconcile/project-memory.ts";
import { parseControlPlane } from "../../../src/resource/control-plane-resource.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const projects = {} as Projects;

function planesWith(annotation: string | undefined, onNews: (planeId: string) => void = () => {}): Planes {
  return new Planes({
    clock: new FakeClock(),
    secrets: { account: "ops:operator", read: async () => undefined, setFinalizers: async () => {} },
    namespaces: { grantsOf: () => ({ annotation, isAnyAnnotated: true, labels: {}, isTerminating: false }) },
    settings: { access: undefined, projects },
    grantMode: "WhenUsed",
    tenantLimits: { hosts: undefined, requestsPerMinute: 700, usualRequestsPerMinute: 700, planesPerNamespace: 1 },
    connect: () => ({
      access: {} as never,
      unreadableCount: () => 0,
      setRequestsPerMinute: () => {},
      close: async () => {},
    }),
    newProjects: () => projects,
    readAgain: async () => {},
    standingOf: () => "Listed",
    onKey: () => {},
    onUsable: () => {},
    onNews,
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

it("one ControlPlane too many → the newer one is not used, until the older one is gone", () => {
  const planes = planesWith(undefined);
  const stored = (name: string, creationTimestamp: string) =>
    parseControlPlane({
      metadata: { name, namespace: "shop", uid: name, resourceVersion: "1", generation: 1, creationTimestamp },
      spec: { url: "https://control.example/v2", apiKeySecretRef: { name: "key", key: "api-key" } },
    });
  const kinds = () => ["older", "newer"].map((name) => planes.of(`ControlPlane/shop/${name}`).resource?.spec.kind);
  planes.note("ControlPlane/shop/newer", stored("newer", "2026-01-02T00:00:00Z"));
  expect(kinds()).toEqual([undefined, "Valid"]);
  planes.note("ControlPlane/shop/older", stored("older", "2026-01-01T00:00:00Z"));
  expect(kinds()).toEqual(["Valid", "Invalid"]);
  expect(planes.of("ControlPlane/shop/newer").access).toBeUndefined();
  planes.note("ControlPlane/shop/older", undefined);
  expect(kinds()).toEqual([undefined, "Valid"]);
});

it("thousands of ControlPlanes of one namespace → a change of one does not touch all others", () => {
  const news: string[] = [];
  const planes = planesWith(undefined, (planeId) => void news.push(planeId));
  let reads = 0;
  for (let at = 0; at < 2_000; at += 1) {
    const name = `p${at}`;
    const creationTimestamp = new Date(Date.UTC(2026, 0, 1) - at * 1_000).toISOString();
    const stored = parseControlPlane({
      metadata: { name, namespace: "shop", uid: name, resourceVersion: "1", generation: 1, creationTimestamp },
      spec: { url: "https://control.example/v2", apiKeySecretRef: { name: "key", key: "api-key" } },
    });
    const { spec } = stored;
    const counted = {
      ...stored,
      get spec() {
        reads += 1;
        return spec;
      },
    };
    planes.note(`ControlPlane/shop/${name}`, counted);
  }
  // Each one is older than those before, so each takes the place of its predecessor.
  expect(news).toHaveLength(1_999);
  expect(reads).toBeLessThan(100_000);
});
