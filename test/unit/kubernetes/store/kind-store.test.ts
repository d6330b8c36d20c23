/** Tests the store of one kind. */
import { describe, expect, it } from "vitest";
import { LeaderFenceError } from "../../../../src/domain/leader-fence.ts";
import { KubernetesError } from "../../../../src/domain/resource-store.ts";
import { KindStore } from "../../../../src/kubernetes/store/kind-store.ts";
import { computeEndpointKind, KindParser } from "../../../../src/kubernetes/store/resource-kinds.ts";
import { ResourceCache } from "../../../../src/kubernetes/watch/resource-cache.ts";
import { type ComputeEndpoint, projectsOf } from "../../../../src/resource/compute-endpoint.ts";
import { quietLogger } from "../../../support/quiet-logger.ts";
import { ScriptedConnection } from "../scripted-connection.ts";

const key = { namespace: "shop", name: "orders" };
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
  const cache = new ResourceCache<ComputeEndpoint>({ indexesOf: projectsOf, onChange() {}, onHandlerError() {} });
  const parser = new KindParser(computeEndpointKind, quietLogger);
  const askedMs: number[] = [];
  const mayStartEffect = (timeoutMs: number) => {
    askedMs.push(timeoutMs);
    return options.mayAct ?? true;
  };
  const restores: string[] = [];
  const store = new KindStore({
    ...{ kind: computeEndpointKind, connection, cache, parser, fence: { mayStartEffect } },
    onRestored: () => restores.push("restored"),
  });
  const put = (object: unknown) => {
    const resource = parser.parse(object);
    cache.scope(undefined).applyChange(resource);
    return resource;
  };
  return { connection, store, put, askedMs, restores };
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

  it("a stored status that did not fit the schema → is read again, so that only unreadable records of ownership stay", async () => {
    const { connection, store, put } = createStore();
    const raw = stored({ operations: "garbage", ownership: { endpointId: 5 }, later: { a: 1 }, host: "h" });
    const resource = put(raw);
    expect([resource.status.host, resource.status.operations], "what can be read is kept").toEqual(["h", undefined]);
    connection.respond = (call) => (call.method === "GET" ? raw : stored({ host: "h", state: "idle" }, "11"));
    await store.patchStatus(resource, { host: "h", state: "idle" });
    expect(connection.calls.map((call) => call.method)).toEqual(["GET", "PATCH"]);
    expect(connection.calls[1]?.body).toMatchObject({
      status: { operations: null, later: null, state: "idle" },
    });
    expect(connection.calls[1]?.body).not.toHaveProperty("status.ownership");
    expect(connection.calls[1]?.body).not.toHaveProperty("status.host");
  });

  it("a stored status that did not fit and has changed since → Conflict, nothing is written", async () => {
    const { connection, store, put } = createStore();
    const resource = put(stored({ operations: "garbage" }));
    for (const now of [stored({}, "11"), stored({}, "10", { uid: "u2" })]) {
      connection.respond = () => now;
      await expect(store.patchStatus(resource, {})).rejects.toMatchObject({ reason: "Conflict" });
    }
    expect(connection.calls.map((call) => call.method)).toEqual(["GET", "GET"]);
  });

  it("a status that is no object at all → the new one in its place", async () => {
    const { connection, store, put } = createStore();
    const resource = put(stored("garbage"));
    connection.respond = (call) => (call.method === "GET" ? stored("garbage") : stored({ state: "idle" }, "11"));
    await store.patchStatus(resource, { state: "idle" });
    expect(connection.calls[1]?.body).toMatchObject({ status: { state: "idle" } });
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
      ["an answer that is no resource", () => undefined],
    ] as const;

    it.each(lost)("%s → what is acted on next is read first, once", async (_, failure) => {
      const { connection, store, put } = createStore();
      const resource = put(stored({}));
      connection.respond = () => {
        const error = failure();
        if (error !== undefined) throw error;
        return "garbage";
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
      connection.respond = () => {
        throw new KubernetesError("TimedOut", "no answer in time");
      };
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
      connection.respond = () => {
        throw new KubernetesError("TimedOut", "no answer in time");
      };
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
      connection.respond = () => {
        throw new KubernetesError("TimedOut", "no answer in time");
      };
      await expect(store.patchStatus(resource, { state: "mine" })).rejects.toMatchObject({ reason: "TimedOut" });
      connection.respond = () => stored({ state: "mine" }, "11");
      await store.patchStatus(resource, { state: "mine" });
      await store.current(key);
      expect(connection.calls.map((call) => call.method)).toEqual(["PATCH", "PATCH"]);
    });
  });

  it("a conflict, and the watch is late with the change → the next look reads the object as it is", async () => {
    const { connection, store, put } = createStore();
    const resource = put(stored({}));
    connection.respond = () => {
      throw new KubernetesError("Conflict", "it has changed");
    };
    await expect(store.patchStatus(resource, { state: "mine" })).rejects.toMatchObject({ reason: "Conflict" });
    connection.respond = () => stored({ state: "theirs" }, "11");
    expect(await store.current(key)).toMatchObject({ resourceVersion: "11", status: { state: "theirs" } });
    await store.current(key);
    expect(connection.calls.map((call) => call.method)).toEqual(["PATCH", "GET"]);
  });

  it.each(["NotFound", "Invalid", "Forbidden", "Unauthorized", "Throttled"] as const)(
    "a write that was refused (%s) → the cache is as good as before, no read",
    async (reason) => {
      const { connection, store, put } = createStore();
      const resource = put(stored({}));
      connection.respond = () => {
        throw new KubernetesError(reason, "refused");
      };
      await expect(store.patchStatus(resource, { state: "mine" })).rejects.toMatchObject({ reason });
      expect(await store.current(key)).toBe(resource);
      expect(connection.calls).toHaveLength(1);
    },
  );

  it("an answer that is no resource → UnreadableAnswer", async () => {
    const { connection, store, put } = createStore();
    const resource = put(stored({}));
    for (const answer of [null, {}, { metadata: {} }, "text"]) {
      connection.respond = () => answer;
      await expect(store.patchStatus(resource, { state: "x" })).rejects.toMatchObject({ reason: "UnreadableAnswer" });
      await expect(store.read(key)).rejects.toMatchObject({ reason: "UnreadableAnswer" });
    }
  });

  it.each([
    ["older than the cached object", "9", 1],
    ["the cached object", "10", 0],
    ["newer than the cached object", "11", 0],
  ])("a read that is %s → reports a restore of etcd only if it is older", async (_what, version, count) => {
    const { connection, store, put, restores } = createStore();
    put(stored({ host: "h" }));
    connection.respond = () => stored({ host: "h" }, version);
    await store.read(key);
    expect(restores).toHaveLength(count);
  });

  it("a name that is no path segment → is escaped", async () => {
    const { connection, store } = createStore();
    connection.respond = () => stored({});
    await store.read({ namespace: "a/b", name: "../c" });
    expect(connection.calls[0]?.path).toMatch(/\/namespaces\/a%2Fb\/computeendpoints\/\.\.%2Fc$/);
  });
});
