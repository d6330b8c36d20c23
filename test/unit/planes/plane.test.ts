/** Tests control planes: which key is sent where when a spec is edited, and what is known of one that does not exist. */
import { expect, it } from "vitest";
import type { PlaneTarget } from "../../../src/control-plane/connection.ts";
import { KubernetesError, keyText, type ResourceKey, type StoredSecret } from "../../../src/domain/resource-store.ts";
import { fullGrant, noGrant } from "../../../src/engine/grant.ts";
import type { Projects } from "../../../src/engine/memory.ts";
import { keyIn } from "../../../src/planes/api-key.ts";
import { Planes, type PlanesOptions } from "../../../src/planes/planes.ts";
import { type PlaneResource, parseControlPlane, settingsPlane } from "../../../src/resource/control-plane-resource.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { quietLogger } from "../../support/quiet-logger.ts";

type PlaneStore = ReturnType<PlanesOptions["storeOf"]>;

const id = "ControlPlane/shop/own";
const settingsUrl = "https://settings.example.com/v2";
const northUrl = "https://north.example.com/v2";
const southUrl = "https://south.example.com/v2";

function described(version: number, url: string, secretName: string, given: { uid?: string; budget?: number } = {}) {
  const { uid = "u-1", budget } = given;
  return parseControlPlane({
    metadata: { name: "own", namespace: "shop", uid, resourceVersion: String(version), generation: version },
    spec: {
      url,
      apiKeySecretRef: { namespace: "elsewhere", name: secretName, key: "api-key" },
      requestsPerMinute: budget,
    },
  });
}

interface SceneOptions {
  /** Delays or refuses a read. */
  readonly answer?: (secretName: string) => Promise<void>;
  /** The annotation of every Namespace. */
  readonly annotation?: string | undefined;
}

/** Control planes with Secrets whose values are `key-of-NAME`. `targets` are the connections to described ones. */
function scene({ answer = async () => {}, annotation }: SceneOptions = {}) {
  const clock = new FakeClock();
  const connected: PlaneTarget[] = [];
  const usable: string[] = [];
  const state: { stored?: PlaneResource | undefined } = {};
  const planes: Planes = new Planes({
    clock,
    logger: quietLogger,
    events: { record() {} },
    usersOf: () => 0,
    mayRecordOfCluster: true,
    storeOf: () =>
      ({
        get: (key: ResourceKey) => (key.name === "own" ? state.stored : undefined),
        current: async () => state.stored,
        addFinalizer: () => Promise.reject(new KubernetesError("Forbidden", "no right")),
      }) as unknown as PlaneStore,
    clusterId: "cluster-a",
    settings: {
      url: settingsUrl,
      readKey: async () => keyIn("key-of-settings", ""),
      keyAgainMs: 1_000,
      place: "",
      mayBeNearby: true,
      databases: { port: 5432, sslMode: "require", certificateAuthority: undefined },
    },
    secrets: {
      account: "ops:operator",
      read: async (key: ResourceKey): Promise<StoredSecret> => {
        // A ControlPlane can only use Secrets of its own namespace.
        expect(key.namespace).toBe("shop");
        await answer(key.name);
        const plain = { uid: keyText(key), resourceVersion: "1", type: "Opaque", ownerUids: [] };
        return { key, ...plain, data: { "api-key": `key-of-${key.name}` } };
      },
    },
    connect(target) {
      connected.push(target);
      const { url: serviceUrl, id: controlPlane } = target;
      return {
        access: { identity: { clusterId: "cluster-a", serviceUrl, controlPlane } } as never,
        counts: { calls: 0, throttled: { TooManyRequests: 0, HeldBack: 0, BudgetUsedUp: 0 } },
        unreadableCount: () => 0,
        close: async () => {},
      };
    },
    newProjects: () => ({ retryRefused: () => {}, size: 0 }) as unknown as Projects,
    tenantHosts: ["*.example.com", "listed.example.com"],
    grantMode: "WhenUsed",
    namespaces: { grantsOf: () => ({ annotation, isAnyAnnotated: true, labels: {} }) },
    isWatched: (planeId) => !planeId.startsWith("ControlPlane/crm/"),
    onKey: () => {},
    onNews: () => {},
    onUsable: (planeId) => usable.push(planeId),
  });
  const targets = () => connected.filter((target) => target.id === id);
  const note = (resource: PlaneResource | undefined) => {
    state.stored = resource;
    return planes.of(id);
  };
  return { clock, planes, note, targets, usable };
}

it("the control plane of the settings → usable at once", async () => {
  const { planes } = scene({ annotation: "p-1" });
  const unit = planes.unitOf(settingsPlane);
  expect(unit).toMatchObject({ problem: undefined, isKnown: true, identity: { serviceUrl: settingsUrl } });
  expect(unit.grantOf("shop", "p-1")).toEqual(fullGrant);
});

it("a ControlPlane → not known before its Secret was read, then usable, and its resources are decided again", async () => {
  const { note, usable } = scene();
  expect(note(undefined).unit().problem?.reason).toBe("ControlPlaneNotFound");
  const plane = note(described(1, northUrl, "north"));
  expect(plane.unit()).toMatchObject({ isKnown: false, access: undefined, identity: { serviceUrl: "" } });
  await plane.key?.read();
  expect(plane.unit()).toMatchObject({ isKnown: true, problem: undefined, identity: { controlPlane: id } });
  expect(usable).toEqual([id, id]);
});

it("the API server refuses the finalizer → the key is read, so that resources that use it are decided", async () => {
  const { note, planes } = scene();
  note(described(1, northUrl, "north"));
  expect((await planes.reconcile(id)).kind).toBe("Retry");
  expect(planes.unitOf(id).isKnown).toBe(true);
});

it.each([
  ["a ClusterControlPlane, no grant", "ClusterControlPlane/north", undefined, noGrant],
  ["a ClusterControlPlane, the annotation", "ClusterControlPlane/north", "p-1", fullGrant],
  ["a ControlPlane of the namespace", id, undefined, fullGrant],
])("%s, which does not exist → the grant that it would have without projects", (_, planeId, annotation, want) => {
  expect(scene({ annotation }).planes.unitOf(planeId).grantOf("shop", "p-1")).toEqual(want);
});

it("the ControlPlanes of one namespace could not be listed → its resources say so, and can be deleted", () => {
  const { problem, isKnown } = scene().planes.unitOf("ControlPlane/crm/own");
  expect([problem?.reason, isKnown]).toEqual(["ControlPlaneNotReady", true]);
  expect(problem?.message).toContain("could not list resources of the kind ControlPlane");
});

it("URL and Secret change in one edit → each connection keeps the key of its own URL", async () => {
  const { note, targets } = scene();
  note(described(1, northUrl, "north"));
  expect(await targets()[0]?.keys.current()).toBe("key-of-north");
  note(described(2, southUrl, "south"));
  expect(targets().map(({ url }) => url)).toEqual([northUrl, southUrl]);
  expect(await targets()[1]?.keys.current()).toBe("key-of-south");
  expect(await targets()[0]?.keys.current()).toBe("key-of-north");
});

it("no answer about the new Secret → the former key does not go to the new URL", async () => {
  const answer = async (name: string) => {
    if (name === "south") throw new KubernetesError("TimedOut", "cannot read the Secret");
  };
  const { note, targets } = scene({ answer });
  note(described(1, northUrl, "north"));
  await targets()[0]?.keys.current();
  const plane = note(described(2, southUrl, "south"));
  await expect(targets()[1]?.keys.current()).rejects.toThrow("no usable API key");
  expect(plane.key?.known?.kind).toBe("Unanswered");
});

it("deleted and made anew under the same name and URL → another key and another memory", () => {
  const { note, targets } = scene();
  const { key, projects } = note(described(1, northUrl, "north"));
  const plane = note(described(2, northUrl, "north", { uid: "u-2" }));
  expect(targets().length).toBe(2);
  expect(plane.key).not.toBe(key);
  expect(plane.projects).not.toBe(projects);
});

it("only the budget changes → another connection; nothing changes → the same one", () => {
  const { note, targets } = scene();
  note(described(1, northUrl, "north"));
  const plane = note(described(2, northUrl, "north", { budget: 30 }));
  expect(note(described(3, northUrl, "north", { budget: 30 }))).toBe(plane);
  expect(targets().map(({ requestsPerMinute }) => requestsPerMinute)).toEqual([undefined, 30]);
});

it("deleted → it has no connection any more, so its metrics go", () => {
  const { note } = scene();
  expect(note(described(1, northUrl, "north")).connection).toBeDefined();
  expect(note(undefined).connection).toBeUndefined();
});

it.each([
  ["https://a.wild.example.com/v2", false],
  ["https://listed.example.com/v2", true],
])("a ControlPlane names %s → its name may lead to this machine or link: %s", (url, want) => {
  const { note, targets } = scene();
  note(described(1, url, "north"));
  expect(targets()[0]?.mayBeNearby).toBe(want);
});
