/** Tests when the finalizers of a control plane and of its key's Secret are added and removed. */
import { expect, it } from "vitest";
import { fullGrant, noGrant } from "../../../src/decide/project-grant.ts";
import { KubernetesError, type ResourceStore, type StoredSecret } from "../../../src/domain/resource-store.ts";
import { keyFinalizer, PlaneKeeper } from "../../../src/planes/plane-keeper.ts";
import { type PlaneUsers, usersAmong } from "../../../src/planes/plane-status.ts";
import { Planes } from "../../../src/planes/planes.ts";
import type { Projects } from "../../../src/reconcile/project-memory.ts";
import { parseComputeEndpoint } from "../../../src/resource/compute-endpoint.ts";
import { conditionOf } from "../../../src/resource/conditions.ts";
import { type PlaneResource, parseControlPlane } from "../../../src/resource/control-plane-resource.ts";
import type { ControlPlaneStatus } from "../../../src/resource/control-plane-schema.ts";
import { controlPlaneNames, finalizer } from "../../../src/resource/names.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { quietLogger } from "../../support/quiet-logger.ts";

const planeId = "ControlPlane/shop/own";
const secretKey = { namespace: "shop", name: "own-key" };
const parsed = parseControlPlane({
  metadata: {
    name: "own",
    namespace: "shop",
    uid: "u-1",
    resourceVersion: "1",
    generation: 1,
    finalizers: [controlPlaneNames.finalizer],
  },
  spec: { url: "https://north.example.com/v2", apiKeySecretRef: { name: "own-key", key: "api-key" } },
  status: { resources: 2, heldSecrets: [secretKey] },
});

/** A control plane whose Secret has the finalizer, and a keeper that has just started. */
class KeeperScene {
  plane: PlaneResource | undefined;
  users: PlaneUsers;
  readonly planes: Planes;
  /** The reasons of the events so far. */
  readonly events: string[] = [];
  /** Returns what a resource sees while the finalizer of the control plane is being removed. */
  problemAtEnd: string | undefined;
  /** Called each time the keeper counts the users. */
  onCount = () => {};
  secret: StoredSecret = {
    ...{ key: secretKey, uid: "s-1", resourceVersion: "1", type: "Opaque", ownerUids: [] },
    ...{ data: { "api-key": "made-up" }, finalizers: [keyFinalizer(parsed)], isBeingDeleted: false },
  };
  readonly clock = new FakeClock();
  readonly #keeper: PlaneKeeper;

  constructor(users: PlaneUsers, isDeleting: boolean) {
    this.users = users;
    this.plane = { ...parsed, deletionTimestamp: isDeleting ? "2026-01-01T00:00:00Z" : undefined };
    const namespaces = {
      grantsOf: () => ({ annotation: undefined, isAnyAnnotated: false, labels: {}, isTerminating: false }),
    };
    const secrets = {
      account: "ops:operator",
      read: async () => this.secret,
      setFinalizers: async (_: StoredSecret, finalizers: readonly string[]) => {
        this.secret = { ...this.secret, finalizers };
      },
    };
    const { clock } = this;
    const nothing = () => {};
    const newProjects = () => ({ size: 0, retryRefused: () => [] }) as unknown as Projects;
    this.planes = new Planes({
      ...{
        clock,
        secrets,
        namespaces,
        grantMode: "Open",
        tenantLimits: { hosts: undefined, requestsPerMinute: 700, usualRequestsPerMinute: 700, planesPerNamespace: 10 },
        settings: { access: undefined, projects: newProjects() },
      },
      connect: () => ({
        access: {} as never,
        unreadableCount: () => 0,
        setRequestsPerMinute: () => {},
        close: async () => {},
      }),
      readAgain: async () => {},
      ...{ newProjects, onKey: nothing, onUnused: nothing, onUsable: nothing, onNews: nothing },
      standingOf: () => "Listed",
    });
    const storeOf = () => this.#store();
    const usersOf = () => {
      this.onCount();
      return this.users;
    };
    this.#keeper = new PlaneKeeper({
      clock,
      logger: quietLogger,
      planes: this.planes,
      secrets,
      namespaces,
      storeOf,
      usersOf,
      events: { record: (_, { reason }) => void this.events.push(reason) },
      mayRecordOfCluster: false,
    });
  }

  reconcile() {
    return this.#keeper.reconcile(planeId);
  }

  #store(): ResourceStore<PlaneResource, ControlPlaneStatus> {
    const assertNewest = ({ uid, resourceVersion }: PlaneResource) => {
      if (this.plane?.uid !== uid || this.plane.resourceVersion !== resourceVersion) {
        throw new KubernetesError("Conflict", "it has changed or is another object by now");
      }
    };
    const change = (resource: PlaneResource, given: Partial<PlaneResource>) => {
      assertNewest(resource);
      const resourceVersion = String(Number(resource.resourceVersion) + 1);
      this.plane = { ...resource, ...given, resourceVersion } as PlaneResource;
      return this.plane;
    };
    return {
      current: async () => this.plane,
      addFinalizer: async (resource: PlaneResource) => resource,
      patchStatus: async (resource: PlaneResource, status: ControlPlaneStatus) => change(resource, { status }),
      removeFinalizer: async (resource: PlaneResource) => {
        assertNewest(resource);
        this.problemAtEnd = this.planes.unitOf(planeId).problem?.reason;
        this.plane = undefined;
        return undefined;
      },
    } as unknown as ResourceStore<PlaneResource, ControlPlaneStatus>;
  }
}

it("deleted, and the DatabaseAccesses are not listed yet → both finalizers stay; listed and none → both go", async () => {
  const scene = new KeeperScene({ count: 0, isComplete: false }, true);
  await scene.reconcile();
  expect(scene.secret.finalizers).toEqual([keyFinalizer(parsed)]);
  expect(conditionOf(scene.plane?.status.conditions, "Reconciling")?.message).toContain("not listed");
  expect(scene.plane?.status.resources).toBe(2);
  expect(scene.planes.unitOf(planeId).problem).toBeUndefined();
  scene.users = { count: 0, isComplete: true };
  await scene.reconcile();
  expect(scene.plane).toBeUndefined();
  expect(scene.problemAtEnd).toBe("ControlPlaneNotFound");
  expect(scene.secret.finalizers).toEqual([]);
});

it("deleted and still used, and spec names another Secret → that Secret is held in the same reconcile", async () => {
  const scene = new KeeperScene({ count: 1, isComplete: true }, true);
  const former = { namespace: "shop", name: "former-key" };
  scene.plane = { ...parsed, deletionTimestamp: "2026-01-01T00:00:00Z", status: { heldSecrets: [former] } };
  scene.secret = { ...scene.secret, key: secretKey, finalizers: [] };
  expect((await scene.reconcile()).kind).toBe("RequeueAfter");
  expect(scene.plane?.status.heldSecrets).toEqual([secretKey]);
  expect(scene.secret.finalizers).toEqual([keyFinalizer(parsed)]);
});

it("deleted, and another object has its name before the last finalizer is removed → the other one keeps its finalizer", async () => {
  const scene = new KeeperScene({ count: 0, isComplete: true }, true);
  const other = { ...parsed, uid: "u-2", resourceVersion: "7" };
  scene.plane = { ...parsed, deletionTimestamp: "2026-01-01T00:00:00Z", status: {} };
  scene.onCount = () => {
    scene.plane = other;
    scene.planes.note(planeId, other);
  };
  expect((await scene.reconcile()).kind).toBe("Retry");
  expect(scene.plane).toBe(other);
});

it("the key can be read, is gone, and is there again → one event for each transition, and none for the rest", async () => {
  const scene = new KeeperScene({ count: 1, isComplete: true }, false);
  const reconcileLater = async () => {
    await scene.clock.advance(5_000);
    await scene.reconcile();
  };
  await scene.reconcile();
  await reconcileLater();
  expect(scene.events).toEqual(["ControlPlaneReady"]);
  const { data } = scene.secret;
  scene.secret = { ...scene.secret, data: {} };
  await reconcileLater();
  await reconcileLater();
  scene.secret = { ...scene.secret, data };
  await reconcileLater();
  expect(scene.events).toEqual(["ControlPlaneReady", "SecretKeyNotFound", "ControlPlaneReady"]);
});

it("not listed yet, and the control plane stays → the Secret keeps its finalizer and gets none", async () => {
  const scene = new KeeperScene({ count: 0, isComplete: false }, false);
  await scene.reconcile();
  expect(scene.secret.finalizers).toEqual([keyFinalizer(parsed)]);
  scene.secret = { ...scene.secret, finalizers: [] };
  await scene.clock.advance(5_000);
  await scene.reconcile();
  expect(scene.secret.finalizers).toEqual([]);
  scene.users = { count: 1, isComplete: false };
  await scene.reconcile();
  expect(scene.secret.finalizers).toEqual([keyFinalizer(parsed)]);
});

it("a resource is deleted and has no records → it counts while the control plane must be searched for its endpoint", () => {
  const metadata = { namespace: "shop", name: "orders", uid: "u", resourceVersion: "1", finalizers: [finalizer] };
  const spec = { projectId: "p-1", branchId: "b-1", type: "ReadWrite" };
  const resource = parseComputeEndpoint({ metadata, spec });
  const deleted = { ...resource, deletionTimestamp: "2026-01-01T00:00:00Z" };
  const retained = parseComputeEndpoint({ metadata, spec: { ...spec, deletionPolicy: "Retain" } });
  expect(usersAmong([deleted], () => noGrant)).toEqual([deleted]);
  expect(usersAmong([{ ...retained, deletionTimestamp: deleted.deletionTimestamp }], () => fullGrant)).toEqual([]);
  expect(usersAmong([{ ...deleted, finalizers: [] }, resource], () => noGrant)).toEqual([]);
});
