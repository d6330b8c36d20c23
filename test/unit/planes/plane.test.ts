/** Tests which key is sent where when the spec of a control plane is edited. */
import { expect, it } from "vitest";
import { KubernetesError, keyText, type StoredSecret } from "../../../src/domain/resource-store.ts";
import { Plane, type PlaneTarget } from "../../../src/planes/plane.ts";
import type { Projects } from "../../../src/reconcile/project-memory.ts";
import { parseControlPlane } from "../../../src/resource/control-plane-resource.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const northUrl = "https://north.example.com/v2";
const southUrl = "https://south.example.com/v2";

function described(version: number, url: string, secretName: string, given: { uid?: string; budget?: number } = {}) {
  const { uid = "u-1", budget } = given;
  return parseControlPlane({
    metadata: { name: "own", namespace: "shop", uid, resourceVersion: String(version), generation: version },
    spec: { url, apiKeySecretRef: { name: secretName, key: "api-key" }, requestsPerMinute: budget },
  });
}

/**
 * Makes a control plane with Secrets whose values are `key of NAME`. `answer` may delay or refuse a read.
 */
function scene(answer: (secretName: string) => Promise<void> = async () => {}) {
  const clock = new FakeClock();
  const targets: PlaneTarget[] = [];
  const memories: Projects[] = [];
  const unused: string[] = [];
  const limits: (number | undefined)[] = [];
  const plane = new Plane("ControlPlane/shop/own", {
    clock,
    secrets: {
      account: "ops:operator",
      read: async (key): Promise<StoredSecret> => {
        await answer(key.name);
        const data = { "api-key": `key-of-${key.name}` };
        const plain = { uid: keyText(key), resourceVersion: "1", type: "Opaque", ownerUids: [] };
        return { key, ...plain, data };
      },
    },
    connect: (target) => {
      targets.push(target);
      const setRequestsPerMinute = (limit: number | undefined) => void limits.push(limit);
      return { access: {} as never, unreadableCount: () => 0, setRequestsPerMinute, close: async () => {} };
    },
    newProjects: () => {
      const memory = { retryRefused: () => 0 } as unknown as Projects;
      memories.push(memory);
      return memory;
    },
    tenantHosts: ["listed.example.com", "*.wild.example.com"],
    onKey: () => {},
    onNews: () => {},
    onUsable: () => {},
    onUnused: (planeId) => unused.push(planeId),
  });
  return { clock, plane, targets, unused, limits };
}

it("URL and Secret change in one edit → each connection keeps the key of its own URL", async () => {
  const { plane, targets } = scene();
  plane.note(described(1, northUrl, "north"));
  expect(await targets[0]?.keys.current()).toBe("key-of-north");
  plane.note(described(2, southUrl, "south"));
  expect(targets.map(({ url }) => url)).toEqual([northUrl, southUrl]);
  expect(await targets[1]?.keys.current()).toBe("key-of-south");
  expect(await targets[0]?.keys.current()).toBe("key-of-north");
});

it("no answer about the new Secret → the former key does not go to the new URL", async () => {
  const { plane, targets } = scene(async (name) => {
    if (name === "south") throw new KubernetesError("TimedOut", "cannot read the Secret");
  });
  plane.note(described(1, northUrl, "north"));
  await targets[0]?.keys.current();
  plane.note(described(2, southUrl, "south"));
  await expect(targets[1]?.keys.current()).rejects.toThrow("no usable API key");
  expect(plane.key.known?.kind).toBe("Unanswered");
});

it("deleted and made anew under the same name and URL → another key and another memory", async () => {
  const { plane, targets } = scene();
  plane.note(described(1, northUrl, "north"));
  const { key, projects } = plane;
  plane.note(described(2, northUrl, "north", { uid: "u-2" }));
  expect(targets.length).toBe(2);
  expect(plane.key).not.toBe(key);
  expect(plane.projects).not.toBe(projects);
});

it("only the budget changes → the same connection with what it knows, and another limit", () => {
  const { plane, targets, limits } = scene();
  plane.note(described(1, northUrl, "north"));
  const { key, projects, health } = plane;
  plane.note(described(2, northUrl, "north", { budget: 30 }));
  plane.note(described(3, northUrl, "north", { budget: 30 }));
  plane.note(described(4, northUrl, "north"));
  expect(targets.length).toBe(1);
  expect(limits).toEqual([30, undefined]);
  expect([plane.key, plane.projects, plane.health]).toEqual([key, projects, health]);
});

it("deleted, or its key is refused and cannot be read any more → its metrics go, and a call that ends later does not bring them back", async () => {
  const state = { isThere: true };
  const { clock, plane, targets, unused } = scene(async () => {
    if (!state.isThere) throw new KubernetesError("Forbidden", "no right to the Secret");
  });
  plane.note(described(1, northUrl, "north"));
  await targets[0]?.keys.current();
  expect(targets[0]?.isInUse()).toBe(true);
  state.isThere = false;
  plane.key.refused("key-of-north");
  await targets[0]?.keys.current().catch(() => {});
  expect(unused).toEqual(["ControlPlane/shop/own"]);
  expect(targets[0]?.isInUse()).toBe(false);
  state.isThere = true;
  await clock.advance(60_000);
  await targets[0]?.keys.current();
  expect(targets[0]?.isInUse()).toBe(true);
  plane.note(undefined);
  expect(unused.length).toBe(2);
  expect(targets[0]?.isInUse()).toBe(false);
});

it.each([
  ["https://control.example.com/v2", false],
  ["https://a.wild.example.com/v2", false],
  ["https://listed.example.com/v2", true],
])("a ControlPlane names %s → its name may lead to this machine or link: %s", (url, want) => {
  const { plane, targets } = scene();
  plane.note(described(1, url, "north"));
  expect(targets[0]?.mayBeNearby).toBe(want);
});
