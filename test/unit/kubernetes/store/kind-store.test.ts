/** Tests the store of one kind. */
import { describe, expect, it } from "vitest";
import { LeaderFenceError } from "../../../../src/domain/leader-fence.ts";
import { KubernetesError } from "../../../../src/domain/resource-store.ts";
import { KindStore } from "../../../../src/kubernetes/store/kind-store.ts";
import { computeEndpointKind } from "../../../../src/kubernetes/store/resource-kinds.ts";
import { ScriptedConnection } from "../scripted-connection.ts";

const key = { namespace: "shop", name: "orders" };
const failing = (error: KubernetesError) => () => {
  throw error;
};
const noAnswer = new KubernetesError("TimedOut", "no answer in time");
const spec = { projectId: "p1", branchId: "b1", type: "ReadWrite" };

function stored(status: unknown, resourceVersion = "10", metadata: object = {}) {
  return {
    metadata: { ...key, uid: "u1", resourceVersion, ...metadata },
    spec,
    ...(status === undefined ? {} : { status }),
  };
}

function createStore(options: { mayAct?: boolean } = {}) {
  const connection = new ScriptedConnection();
  const askedMs: number[] = [];
  const mayStartEffect = (timeoutMs: number) => {
    askedMs.push(timeoutMs);
    return options.mayAct ?? true;
  };
  const store = new KindStore({ kind: computeEndpointKind, connection, fence: { mayStartEffect }, onChange() {} });
  const put = (object: unknown) => {
    const resource = computeEndpointKind.parse(object);
    store.apply(resource);
    return resource;
  };
  return { connection, store, put, askedMs };
}

describe("the store", () => {
  it("a status that differs → a merge patch of the difference, conditioned on uid and version", async () => {
    const { connection, store, put, askedMs } = createStore();
    const resource = put(stored({ host: "h", state: "init", compute: { minUnits: 1, maxUnits: 2, size: "1-2" } }));
    connection.respond = () => stored({ state: "active" }, "11");
    const compute = { minUnits: 1, maxUnits: 4, size: "1-4" };
    const after = await store.patchStatus(resource, { state: "active", compute, ownership: undefined });
    expect(connection.calls).toEqual([
      {
        what: "patch status of ComputeEndpoint shop/orders",
        method: "PATCH",
        path: "/apis/endpoint-operator.dev/v1alpha1/namespaces/shop/computeendpoints/orders/status",
        query: { fieldManager: "endpoint-operator", fieldValidation: "Ignore" },
        contentType: "application/merge-patch+json",
        body: {
          metadata: { uid: "u1", resourceVersion: "10" },
          status: { host: null, state: "active", compute: { maxUnits: 4, size: "1-4" } },
        },
        timeoutMs: 8_000,
        fence: { mayStartEffect: expect.any(Function) },
      },
    ]);
    expect(store.get(key)).toBe(after);
    expect(after.resourceVersion).toBe("11");
    expect(askedMs).toEqual([8_000]);
  });

  it("a stored status with fields that cannot be parsed → a write leaves them, so the raw record still claims", async () => {
    const { connection, store, put } = createStore();
    const resource = put(
      stored({ operations: "garbage", ownership: { endpointId: "ep-1" }, later: { a: 1 }, host: "h" }),
    );
    expect([resource.claimedId, resource.isOwnershipReadable, resource.status.host]).toEqual(["ep-1", false, "h"]);
    connection.respond = () => stored({ host: "h", state: "idle" }, "11");
    await store.patchStatus(resource, { host: "h", state: "idle" });
    expect(connection.calls.map(({ method, body }) => [method, (body as { status: object }).status])).toEqual([
      ["PATCH", { state: "idle" }],
    ]);
  });

  it("nothing differs → no request, and the leader fence is not asked", async () => {
    const { connection, store, put, askedMs } = createStore();
    const resource = put(stored({ state: "idle", operations: [] }));
    expect(await store.patchStatus(resource, { operations: [], state: "idle", host: undefined })).toBe(resource);
    expect(await store.removeFinalizer(resource)).toBe(resource);
    expect(connection.calls).toEqual([]);
    expect(askedMs).toEqual([]);
  });

  it("a process that may not act → nothing is sent", async () => {
    const { connection, store, put } = createStore({ mayAct: false });
    const resource = put(stored({}, "10", { finalizers: ["endpoint-operator.dev/endpoint"] }));
    const other = put(stored({}, "11"));
    await expect(store.addFinalizer(other)).rejects.toBeInstanceOf(LeaderFenceError);
    await expect(store.removeFinalizer(resource)).rejects.toBeInstanceOf(LeaderFenceError);
    await expect(store.patchStatus(other, { state: "x" })).rejects.toBeInstanceOf(LeaderFenceError);
    expect(connection.calls).toEqual([]);
  });

  describe("a write whose answer was lost", () => {
    const lost = [
      ["TimedOut", () => new KubernetesError("TimedOut", "no answer in time")],
      ["Unavailable", () => new KubernetesError("Unavailable", "cut")],
    ] as const;

    it.each(lost)("%s → what is acted on next is read first, once", async (_, failure) => {
      const { connection, store, put } = createStore();
      const resource = put(stored({}));
      connection.respond = () => {
        throw failure();
      };
      await expect(store.patchStatus(resource, { state: "mine" })).rejects.toBeInstanceOf(KubernetesError);
      expect(store.get(key)?.resourceVersion, "the cache alone does not know").toBe("10");
      connection.respond = () => stored({ state: "mine" }, "11");
      expect(await store.current(key)).toMatchObject({ resourceVersion: "11", status: { state: "mine" } });
      expect(await store.current(key)).toBe(store.get(key));
      expect(connection.calls.map((call) => call.method)).toEqual(["PATCH", "GET"]);
    });

    it("the read fails → nothing to act on, and it is tried again", async () => {
      const { connection, store, put } = createStore();
      const resource = put(stored({}));
      connection.respond = failing(noAnswer);
      await expect(store.addFinalizer(resource)).rejects.toMatchObject({ reason: "TimedOut" });
      await expect(store.current(key)).rejects.toMatchObject({ reason: "TimedOut" });
      connection.respond = () => stored({});
      expect(await store.current(key)).toMatchObject({ resourceVersion: "10" });
    });

    it("the object went with its last finalizer → it is gone from the cache too", async () => {
      const { connection, store, put } = createStore();
      const leaving = { finalizers: ["endpoint-operator.dev/endpoint"], deletionTimestamp: "2026-01-01T00:00:00Z" };
      const resource = put(stored({}, "10", leaving));
      connection.respond = ({ method }) => {
        throw new KubernetesError(method === "GET" ? "NotFound" : "TimedOut", "lost, then gone");
      };
      await expect(store.removeFinalizer(resource)).rejects.toMatchObject({ reason: "TimedOut" });
      expect(await store.current(key)).toBeUndefined();
      expect(store.get(key)).toBeUndefined();
    });

    it("a watch event came first → the newer of the two", async () => {
      const { connection, store, put } = createStore();
      const resource = put(stored({}));
      connection.respond = failing(noAnswer);
      await expect(store.patchStatus(resource, { state: "mine" })).rejects.toMatchObject({ reason: "TimedOut" });
      connection.respond = () => {
        put(stored({ state: "newer" }, "12"));
        return stored({ state: "mine" }, "11");
      };
      expect(await store.current(key)).toMatchObject({ resourceVersion: "12" });
    });

    it("a later write is answered → no read", async () => {
      const { connection, store, put } = createStore();
      const resource = put(stored({}));
      connection.respond = failing(noAnswer);
      await expect(store.patchStatus(resource, { state: "mine" })).rejects.toMatchObject({ reason: "TimedOut" });
      connection.respond = () => stored({ state: "mine" }, "11");
      await store.patchStatus(resource, { state: "mine" });
      await store.current(key);
      expect(connection.calls.map((call) => call.method)).toEqual(["PATCH", "PATCH"]);
    });
  });

  it.each(["Conflict", "WriteRefused"] as const)("%s, and the watch is late → the next look reads", async (reason) => {
    const { connection, store, put } = createStore();
    const resource = put(stored({}));
    connection.respond = failing(new KubernetesError(reason, "it has changed"));
    await expect(store.patchStatus(resource, { state: "mine" })).rejects.toMatchObject({ reason });
    connection.respond = () => stored({ state: "theirs" }, "11");
    expect(await store.current(key)).toMatchObject({ resourceVersion: "11", status: { state: "theirs" } });
    await store.current(key);
    expect(connection.calls.map((call) => call.method)).toEqual(["PATCH", "GET"]);
  });

  it("a read finds nothing, and no write failed before → the object is gone from the cache too", async () => {
    const { connection, store, put } = createStore();
    put(stored({}));
    connection.respond = failing(new KubernetesError("NotFound", "no such object"));
    expect([await store.read(key), store.get(key)]).toEqual([undefined, undefined]);
  });

  it("a name that is no path segment → is escaped", async () => {
    const { connection, store } = createStore();
    connection.respond = () => stored({});
    await store.read({ namespace: "a/b", name: "../c" });
    expect(connection.calls[0]?.path).toMatch(/\/namespaces\/a%2Fb\/computeendpoints\/\.\.%2Fc$/);
  });
});
