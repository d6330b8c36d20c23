import { beforeEach, describe, expect, it } from "vitest";
import { KubernetesError } from "../../../src/domain/resource-store.ts";
import { type ComputeEndpoint, parseComputeEndpoint } from "../../../src/resource/compute-endpoint.ts";
import { conditionOf } from "../../../src/resource/conditions.ts";
import { annotations, finalizer } from "../../../src/resource/names.ts";
import { FakeClock, settlePromises } from "../../support/fake-clock.ts";
import { FakeOperator, fakePolicy } from "../../support/fakes/fake-operator.ts";
import { FakeResourceStore } from "../../support/fakes/fake-resource-store.ts";
import { FakeService, type Fault } from "../../support/fakes/fake-service.ts";

const key = { namespace: "shop", name: "orders" };
const project = "green-fox-123456";

interface Asked {
  readonly name?: string;
  readonly uid?: string;
  readonly creationTimestamp?: string;
  readonly spec?: Readonly<Record<string, unknown>>;
}

function asked({ name = "orders", uid = `uid-${name}`, creationTimestamp, spec }: Asked = {}): ComputeEndpoint {
  return parseComputeEndpoint({
    metadata: {
      namespace: "shop",
      name,
      uid,
      resourceVersion: "1",
      generation: 1,
      creationTimestamp: creationTimestamp ?? "2026-01-01T00:00:00Z",
    },
    spec: { projectId: project, branchId: "br-main-1", type: "ReadWrite", ...spec },
  });
}

let clock: FakeClock;
let store: FakeResourceStore;
let service: FakeService;
let operator: FakeOperator;

const restart = () => {
  operator = new FakeOperator({ clock, store, service });
};
const status = (of = key) => store.get(of)?.status ?? {};
const reason = (type: "Ready" | "Stalled" | "Reconciling", of = key) =>
  conditionOf(status(of).conditions, type)?.reason;
const made = () => [...service.endpoints.keys()];
const posts = () => service.calls.filter((method) => method === "createEndpoint").length;

beforeEach(() => {
  clock = new FakeClock();
  store = new FakeResourceStore();
  service = new FakeService(clock);
  restart();
});

describe("create", () => {
  it("a new resource → finalizer, intent, one POST, then Ready, one step a pass", async () => {
    store.put(asked());
    await operator.pass(key);
    expect(store.get(key)?.finalizers).toEqual([finalizer]);
    expect(status().createIntent).toBeUndefined();

    await operator.pass(key);
    expect(status().createIntent).toMatchObject({ branchId: "br-main-1", type: "ReadWrite", preIds: [] });
    expect(posts()).toBe(0);

    await operator.pass(key);
    expect(status().createIntent).toBeUndefined();
    expect(status().ownership).toMatchObject({ endpointId: "ep-made-1", origin: "Created" });

    await operator.run(key);
    expect(conditionOf(status().conditions, "Ready")).toMatchObject({ status: "True", observedGeneration: 1 });
    expect(posts()).toBe(1);
    expect(operator.events.map((event) => event.reason)).toEqual(["EndpointCreated", "EndpointReady"]);
    expect(operator.errors).toEqual([]);
  });

  it("its operation runs → in flight in status, Ready only when it has ended, counted once", async () => {
    service.isInstant = false;
    store.put(asked());
    for (let passes = 0; passes < 5; passes += 1) {
      await operator.pass(key);
    }
    expect(reason("Ready")).toBe("OperationInFlight");
    expect(status().operations?.[0]).toMatchObject({ action: "start_compute", status: "running", cause: "SpecChange" });
    service.endOperations();
    await operator.run(key);
    expect(reason("Ready")).toBe("UpToDate");
    expect(operator.counted).toMatchObject([{ action: "start_compute", outcome: "succeeded", cause: "SpecChange" }]);
    restart();
    await operator.run(key);
    expect(operator.counted).toEqual([]);
  });

  it("settled → no write at the service or the API server, whatever looks at it, a restart included", async () => {
    store.put(asked());
    await operator.run(key);
    const before = { writes: store.writes.length, made: made() };
    for (const _look of [1, 2, 3]) {
      restart();
      await clock.advance(600_000);
      await operator.pass(key);
    }
    expect({ writes: store.writes.length, made: made() }).toEqual(before);
    expect(operator.events).toEqual([]);
  });

  it("a crash between any two steps → exactly one endpoint, no twin", async () => {
    for (let crashAt = 1; crashAt <= 6; crashAt += 1) {
      service = new FakeService(clock);
      service.echoesNames = crashAt % 2 === 0;
      store.put(asked({ uid: `uid-${crashAt}` }));
      restart();
      for (let passes = 0; passes < crashAt; passes += 1) {
        await operator.pass(key);
      }
      restart();
      await operator.run(key);
      expect(reason("Ready"), `crash after ${crashAt} passes`).toBe("UpToDate");
      expect(made(), `crash after ${crashAt} passes`).toHaveLength(1);
      store.vanish(key);
    }
  });

  it("a crash after every single pass → exactly one endpoint", async () => {
    store.put(asked());
    for (let passes = 0; passes < 12; passes += 1) {
      restart();
      await operator.pass(key);
    }
    expect(made()).toHaveLength(1);
    expect(reason("Ready")).toBe("UpToDate");
  });
});

const unknownOutcomes: readonly Fault["kind"][] = ["LoseRequest", "LoseAnswer", "ApplyLater"];

describe.each([true, false])("the answer to a POST is lost, names echoed: %s", (echoesNames) => {
  beforeEach(() => {
    service.echoesNames = echoesNames;
  });

  const lose = (kind: Fault["kind"]) => service.failNext("createEndpoint", { kind } as Fault);

  it.each(unknownOutcomes.flatMap((kind) => [[kind, false] as const, [kind, true] as const]))(
    "read-write, %s, crash %s → exactly one endpoint",
    async (kind, hasCrashed) => {
      store.put(asked());
      lose(kind);
      for (let passes = 0; passes < 3; passes += 1) {
        await operator.pass(key);
      }
      if (hasCrashed) {
        restart();
      }
      await clock.advance(1_500);
      service.landLate();
      await operator.run(key);
      expect(reason("Ready")).toBe("UpToDate");
      expect(made()).toHaveLength(1);
      expect(status().createIntent).toBeUndefined();
    },
  );

  it.each(unknownOutcomes.flatMap((kind) => [[kind, false] as const, [kind, true] as const]))(
    "read-only, %s, crash %s → one endpoint, or a question where nobody can know",
    async (kind, hasCrashed) => {
      store.put(asked({ spec: { type: "ReadOnly" } }));
      lose(kind);
      for (let passes = 0; passes < 3; passes += 1) {
        await operator.pass(key);
      }
      if (hasCrashed) {
        restart();
      }
      await clock.advance(1_500);
      service.landLate();
      await operator.run(key);
      const isAmbiguous = kind !== "LoseRequest" && !echoesNames;
      expect(made()).toHaveLength(1);
      expect(reason("Ready")).toBe(isAmbiguous ? "CreateAmbiguous" : "UpToDate");
      expect(operator.errors).toEqual([]);
    },
  );

  it("read-only, nothing landed → no second POST before the settle time", async () => {
    store.put(asked({ spec: { type: "ReadOnly" } }));
    lose("LoseRequest");
    for (let passes = 0; passes < 3; passes += 1) {
      await operator.pass(key);
    }
    for (let second = 0; second < 149; second += 1) {
      await clock.advance(1_000);
      await operator.pass(key);
    }
    expect(posts()).toBe(0);
    expect(reason("Reconciling")).toBe("CreateUnresolved");
    await operator.run(key);
    expect(posts()).toBe(1);
  });

  it("read-only, deleted meanwhile, lands late → is found and deleted before the finalizer goes", async () => {
    store.put(asked({ spec: { type: "ReadOnly", deletionPolicy: "Delete" } }));
    lose("ApplyLater");
    for (let passes = 0; passes < 3; passes += 1) {
      await operator.pass(key);
    }
    store.delete(key);
    await operator.pass(key);
    expect(store.get(key)).toBeDefined();
    service.landLate();
    await operator.run(key);
    if (echoesNames) {
      expect(made()).toEqual([]);
      expect(store.get(key)).toBeUndefined();
    } else {
      expect(reason("Stalled")).toBe("CreateAmbiguous");
    }
  });
});

describe("an ambiguous create", () => {
  beforeEach(async () => {
    store.put(asked({ spec: { type: "ReadOnly" } }));
    service.failNext("createEndpoint", { kind: "LoseAnswer" });
    await operator.run(key);
  });

  const answer = (value: string) =>
    store.edit(key, (resource) => ({ annotations: { ...resource.annotations, [annotations.resolveCreate]: value } }));

  it("a person says adopt → Ready with that one", async () => {
    answer("adopt=ep-made-1");
    await operator.run(key);
    expect(status().ownership).toMatchObject({ endpointId: "ep-made-1", origin: "Adopted" });
    expect(reason("Ready")).toBe("UpToDate");
  });

  it("a person says abandon → another one is made, and the suspect is left alone", async () => {
    answer(`abandon=${status().createIntent?.attempt}`);
    await operator.run(key);
    expect(status().ownership).toMatchObject({ endpointId: "ep-made-3", origin: "Created" });
    expect(made()).toEqual(["ep-made-1", "ep-made-3"]);
  });

  it("deleted with Retain → goes, and says what was abandoned", async () => {
    store.edit(key, (resource) => ({
      spec: asked({ spec: { type: "ReadOnly", deletionPolicy: "Retain" } }).spec,
      generation: resource.generation + 1,
    }));
    store.delete(key);
    await operator.run(key);
    expect(store.get(key)).toBeUndefined();
    expect(operator.events.at(-1)).toMatchObject({ type: "Warning", reason: "CreateAbandoned" });
  });

  it("another replica of the branch is asked for → does not wait for the answer", async () => {
    const second = { namespace: "shop", name: "second" };
    store.put(asked({ name: "second", spec: { type: "ReadOnly" } }));
    await operator.run(second);
    expect(reason("Ready", second)).toBe("UpToDate");
    await operator.run(key);
    expect(status().createIntent?.suspectIds).toEqual(["ep-made-1"]);
  });
});

describe("a POST that is refused", () => {
  it("423 → sent again, never counted as a failure", async () => {
    store.put(asked());
    service.failNext("createEndpoint", { kind: "Refuse", reason: "Locked" });
    await operator.run(key);
    expect(made()).toHaveLength(1);
    expect(operator.events.every(({ type }) => type === "Normal")).toBe(true);
  });

  it("503 → sent again after a while", async () => {
    store.put(asked());
    service.failNext("createEndpoint", { kind: "Refuse", reason: "Unavailable" });
    await operator.run(key);
    expect(made()).toHaveLength(1);
  });

  it("422 for long → Reconciling for five minutes, then Stalled Rejected, and at once after an edit", async () => {
    store.put(asked());
    service.beforeCall = (method) => {
      if (method === "createEndpoint") {
        service.failNext("createEndpoint", { kind: "Refuse", reason: "Rejected" });
      }
    };
    service.failNext("createEndpoint", { kind: "Refuse", reason: "Rejected" });
    for (let passes = 0; passes < 4; passes += 1) {
      await operator.pass(key);
    }
    expect(reason("Reconciling")).toBe("Retrying");
    expect(status().createIntent).toBeUndefined();
    await operator.run(key);
    expect(reason("Stalled")).toBe("Rejected");
    const sent = posts();
    await operator.pass(key);
    expect(posts()).toBe(sent);
    service.beforeCall = () => {};
    service.failNext("createEndpoint", { kind: "Refuse", reason: "Rejected" });
    store.edit(key, (resource) => ({ generation: resource.generation + 1 }));
    await operator.pass(key);
    await operator.pass(key);
    expect(posts()).toBe(sent + 1);
  });

  it("after a lost one 409 → the intent stays open: the lost one may be what is there", async () => {
    store.put(asked());
    service.failNext("createEndpoint", { kind: "LoseAnswer" });
    service.echoesNames = true;
    await operator.run(key);
    expect(status().ownership).toMatchObject({ origin: "Created" });
    expect(made()).toHaveLength(1);
  });
});

describe("the resource is not what it was when the POST is answered", () => {
  const duringPost = (act: () => void) => {
    service.beforeCall = (method) => {
      if (method === "createEndpoint") {
        service.beforeCall = () => {};
        act();
      }
    };
  };

  it("edited → ownership is stored over the conflict, no second POST", async () => {
    store.put(asked());
    duringPost(() => store.edit(key, (resource) => ({ generation: resource.generation + 1 })));
    await operator.run(key);
    expect(posts()).toBe(1);
    expect(status().ownership).toMatchObject({ endpointId: "ep-made-1" });
  });

  it("being deleted → ownership is stored, then the endpoint is deleted", async () => {
    store.put(asked());
    duringPost(() => store.delete(key));
    await operator.run(key);
    expect(made()).toEqual([]);
    expect(store.get(key)).toBeUndefined();
  });

  it("gone by force → the endpoint this POST made is deleted", async () => {
    store.put(asked());
    duringPost(() => store.vanish(key));
    await operator.run(key);
    expect(posts()).toBe(1);
    expect(made()).toEqual([]);
  });

  it("gone by force, and the deletion fails at first → tried until it is gone", async () => {
    store.put(asked());
    duringPost(() => store.vanish(key));
    service.failNext("deleteEndpoint", { kind: "Refuse", reason: "Locked" });
    await operator.run(key);
    expect(made()).toEqual([]);
  });

  it("replaced under the same name → the old one's endpoint is deleted, the new one gets its own", async () => {
    store.put(asked());
    duringPost(() => {
      store.vanish(key);
      store.put(asked({ uid: "uid-second" }));
    });
    await operator.run(key);
    expect(made()).toHaveLength(1);
    expect(status().ownership).toMatchObject({ resourceUid: "uid-second", endpointId: made()[0] });
  });

  it("gone by force during its create → the turn of the place is free again", async () => {
    store.put(asked({ spec: { type: "ReadOnly" } }));
    duringPost(() => store.vanish(key));
    await operator.run(key);
    const second = { namespace: "shop", name: "second" };
    store.put(asked({ name: "second", spec: { type: "ReadOnly" } }));
    await operator.run(second);
    expect(reason("Ready", second)).toBe("UpToDate");
  });

  it("replaced by force with its create open → the new one does not wait for the dead one", async () => {
    store.put(asked({ spec: { type: "ReadOnly" } }));
    service.failNext("createEndpoint", { kind: "LoseRequest" });
    for (let passes = 0; passes < 3; passes += 1) {
      await operator.pass(key);
    }
    store.vanish(key);
    store.put(asked({ uid: "uid-second", spec: { type: "ReadOnly" } }));
    await operator.run(key);
    expect(reason("Ready")).toBe("UpToDate");
    expect(made()).toHaveLength(1);
  });

  it("edited between the observation and the POST → no POST under an old plan", async () => {
    store.put(asked());
    await operator.pass(key);
    await operator.pass(key);
    let reads = 0;
    service.beforeCall = (method) => {
      if (method === "listEndpoints" && reads === 0) {
        reads += 1;
        store.edit(key, (resource) => ({ generation: resource.generation + 1 }));
      }
    };
    expect(await operator.pass(key)).toEqual({ kind: "Retry" });
    expect(posts()).toBe(0);
  });

  it("the status patch of the answer fails for long → no second POST, ownership in the end", async () => {
    store.put(asked());
    let failures = 0;
    store.beforeWrite = (write) => {
      if (write === "patchStatus" && posts() > 0 && failures < 8) {
        failures += 1;
        store.edit(key, () => ({}));
      }
    };
    await operator.run(key);
    expect(posts()).toBe(1);
    expect(made()).toHaveLength(1);
    expect(reason("Ready")).toBe("UpToDate");
  });
});

describe("the answer to a write at the API server is lost", () => {
  it("after any of them, with or without a crash → exactly one endpoint, Ready, and one POST", async () => {
    for (const hasCrashed of [false, true]) {
      for (let lostAt = 1; lostAt <= 5; lostAt += 1) {
        const name = `lost-${lostAt}-${hasCrashed}`;
        const at = { namespace: "shop", name };
        service = new FakeService(clock);
        service.echoesNames = hasCrashed;
        restart();
        store.put(asked({ name }));
        let writes = 0;
        store.afterWrite = () => {
          writes += 1;
          if (writes === lostAt) {
            if (hasCrashed) {
              restart();
            }
            throw new KubernetesError("TimedOut", "no answer in time");
          }
        };
        for (let passes = 0; passes < 40; passes += 1) {
          await operator.pass(at);
          await clock.advance(500);
        }
        expect(reason("Ready", at), name).toBe("UpToDate");
        expect(made(), name).toHaveLength(1);
        expect(posts(), name).toBe(1);
        store.afterWrite = () => {};
        store.vanish(at);
      }
    }
  });

  it("after the finalizer went → nothing is left, and nothing is made again", async () => {
    store.put(asked());
    await operator.run(key);
    store.delete(key);
    store.afterWrite = (write) => {
      if (write === "removeFinalizer") {
        store.vanish(key);
        throw new KubernetesError("TimedOut", "no answer in time");
      }
    };
    await operator.run(key);
    expect([made(), store.get(key)]).toEqual([[], undefined]);
  });
});

describe("two resources, one endpoint", () => {
  const first = { namespace: "shop", name: "first" };
  const second = { namespace: "shop", name: "second" };
  const adopting = { adoption: { policy: "AdoptOrCreate" } };
  const foreign = () => {
    store.put(asked({ name: "seed" }));
    return operator
      .run({ namespace: "shop", name: "seed" })
      .then(() => store.vanish({ namespace: "shop", name: "seed" }));
  };
  const owners = () => [first, second].filter((each) => status(each).ownership !== undefined);

  it("both would adopt it, passes interleaved → one owner, the other Stalled ClaimedByAnother", async () => {
    await foreign();
    store.put(asked({ name: "first", spec: adopting }));
    store.put(asked({ name: "second", spec: adopting }));
    for (let passes = 0; passes < 6; passes += 1) {
      await Promise.all([operator.pass(first), operator.pass(second)]);
    }
    expect(owners()).toEqual([first]);
    expect(reason("Stalled", second)).toBe("ClaimedByAnother");
  });

  it("the elder's stall ends while the younger adopts → one owner", async () => {
    await foreign();
    const stalled = {
      type: "Stalled",
      status: "True",
      reason: "Rejected",
      message: "no",
      observedGeneration: 1,
      lastTransitionTime: "2026-01-01T00:00:00Z",
    } as const;
    const ready = { ...stalled, type: "Ready", status: "False" } as const;
    store.put({
      ...asked({ name: "first", spec: adopting }),
      finalizers: [finalizer],
      status: { conditions: [ready, stalled] },
    });
    store.put({ ...asked({ name: "second", spec: adopting }), finalizers: [finalizer] });
    // Both passes have begun before either reads, and both patches are under way at once.
    service.beforeCall = settlePromises;
    store.beforeWrite = settlePromises;
    for (let passes = 0; passes < 4; passes += 1) {
      await Promise.all([operator.pass(second), operator.pass(first)]);
    }
    expect(owners()).toHaveLength(1);
  });

  it("two replicas at once → one create after the other, two endpoints", async () => {
    store.put(asked({ name: "first", spec: { type: "ReadOnly" } }));
    store.put(asked({ name: "second", spec: { type: "ReadOnly" } }));
    for (let passes = 0; passes < 10; passes += 1) {
      await Promise.all([operator.pass(first), operator.pass(second)]);
      await clock.advance(500);
    }
    expect(made()).toHaveLength(2);
    expect(new Set([first, second].map((each) => status(each).ownership?.endpointId)).size).toBe(2);
    expect(operator.errors).toEqual([]);
  });

  it("the elder turns to another branch → the one that was turned away is looked at", async () => {
    store.put(asked({ name: "first" }));
    store.put(asked({ name: "second" }));
    await operator.pass(first);
    await operator.run(second);
    expect(reason("Stalled", second)).toBe("ClaimedByAnother");
    operator.woken.length = 0;
    store.edit(first, (resource) => ({
      spec: asked({ spec: { branchId: "br-other-2" } }).spec,
      generation: resource.generation + 1,
    }));
    await operator.pass(first);
    expect(operator.woken).toContainEqual(second);
  });

  it("423 that no list explains → the whole project waits for half a second", async () => {
    const updates = () => service.calls.filter((method) => method === "updateEndpoint").length;
    for (const [name, branchId] of [
      ["first", "br-main-1"],
      ["second", "br-other-2"],
    ] as const) {
      store.put(asked({ name, spec: { branchId } }));
      await operator.run({ namespace: "shop", name });
      store.edit({ namespace: "shop", name }, (resource) => ({
        spec: asked({ spec: { branchId, disabled: true } }).spec,
        generation: resource.generation + 1,
      }));
    }
    service.failNext("updateEndpoint", { kind: "Refuse", reason: "Locked" });
    await operator.pass(first);
    await operator.pass(second);
    expect(updates()).toBe(1);
    await clock.advance(500);
    await operator.pass(second);
    await operator.pass(first);
    expect(updates()).toBe(2);
    expect(status(first).state).toBeDefined();
    expect(service.endpoints.get(status(first).ownership?.endpointId ?? "")?.disabled).toBe(true);
  });

  it("the owner goes → the one that was turned away is looked at", async () => {
    store.put(asked({ name: "first" }));
    store.put(asked({ name: "second" }));
    await operator.run(first);
    await operator.run(second);
    expect(reason("Stalled", second)).toBe("ClaimedByAnother");
    operator.woken.length = 0;
    store.delete(first);
    await operator.run(first);
    expect(operator.woken).toContainEqual(second);
    await operator.run(second);
    expect(reason("Ready", second)).toBe("UpToDate");
  });
});

describe("deletion", () => {
  it("of a created one → endpoint deleted, then the finalizer goes", async () => {
    store.put(asked());
    await operator.run(key);
    store.delete(key);
    await operator.run(key);
    expect(made()).toEqual([]);
    expect(store.get(key)).toBeUndefined();
    expect(operator.events.at(-1)?.reason).toBe("EndpointDeleted");
  });

  it("the answer to DELETE is lost, and a crash → gone all the same, finalizer after it", async () => {
    store.put(asked());
    await operator.run(key);
    store.delete(key);
    service.failNext("deleteEndpoint", { kind: "LoseAnswer" });
    await operator.pass(key);
    expect(store.get(key)).toBeDefined();
    restart();
    await operator.run(key);
    expect(store.get(key)).toBeUndefined();
    expect(made()).toEqual([]);
  });

  it("the key is refused → Reconciling with the remedy, which works without the service", async () => {
    store.put(asked());
    await operator.run(key);
    store.delete(key);
    service.beforeCall = (method) => service.failNext(method, { kind: "Refuse", reason: "Unauthorized" });
    service.failNext("listOperations", { kind: "Refuse", reason: "Unauthorized" });
    await operator.pass(key);
    await operator.pass(key);
    expect(conditionOf(status().conditions, "Reconciling")?.message).toContain("Retain");
    store.edit(key, (resource) => ({
      spec: asked({ spec: { deletionPolicy: "Retain" } }).spec,
      generation: resource.generation + 1,
    }));
    await operator.pass(key);
    expect(store.get(key)).toBeUndefined();
    expect(made()).toHaveLength(1);
  });
});

describe("failed calls", () => {
  it("an update refused → held back until its time, whatever wakes the key, and tried at once on an edit or a wish", async () => {
    store.put(asked());
    await operator.run(key);
    const updates = () => service.calls.filter((method) => method === "updateEndpoint").length;
    const disable = (disabled: boolean) =>
      store.edit(key, (resource) => ({
        spec: asked({ spec: { disabled } }).spec,
        generation: resource.generation + 1,
      }));
    service.failNext("updateEndpoint", { kind: "Refuse", reason: "Malformed" });
    disable(true);
    await operator.pass(key);
    expect(updates()).toBe(1);
    for (const _wake of [1, 2, 3]) {
      await clock.advance(1_000);
      const requeue = await operator.pass(key);
      expect(requeue).toMatchObject({ kind: "RequeueAfter" });
    }
    expect(updates()).toBe(1);
    expect(reason("Stalled")).toBe("Rejected");

    service.failNext("updateEndpoint", { kind: "Refuse", reason: "Malformed" });
    store.edit(key, () => ({ annotations: { [annotations.reconcileRequestedAt]: "now" } }));
    await operator.pass(key);
    expect(updates()).toBe(2);
    expect(status().lastHandledReconcileAt).toBe("now");
    await operator.pass(key);
    expect(updates()).toBe(2);

    disable(true);
    await operator.run(key);
    expect(updates()).toBe(3);
    expect(reason("Ready")).toBe("UpToDate");
  });

  it("a read fails → nothing is decided, and a Ready resource stays Ready for half a minute", async () => {
    store.put(asked());
    await operator.run(key);
    await clock.advance(fakePolicy.resyncMs);
    service.failNext("listEndpoints", { kind: "Refuse", reason: "Unavailable" });
    await operator.pass(key);
    expect(reason("Ready")).toBe("UpToDate");
    expect(made()).toHaveLength(1);
  });

  it("a list without the endpoint while a read by id finds it → it is not forgotten", async () => {
    store.put(asked());
    await operator.run(key);
    const [id = ""] = made();
    const endpoint = service.endpoints.get(id);
    service.endpoints.delete(id);
    service.beforeCall = (method) => {
      if (method === "getEndpoint" && endpoint !== undefined) {
        service.add(endpoint);
      }
    };
    await clock.advance(fakePolicy.resyncMs);
    await operator.pass(key);
    expect(status().ownership?.endpointId).toBe(id);
    expect(posts()).toBe(1);
  });

  it("gone by another hand → an event, and another one", async () => {
    store.put(asked());
    await operator.run(key);
    service.endpoints.clear();
    await clock.advance(fakePolicy.resyncMs);
    await operator.run(key);
    expect(operator.events.map((event) => event.reason)).toContain("EndpointGone");
    expect(made()).toHaveLength(1);
    expect(reason("Ready")).toBe("UpToDate");
  });
});

describe("pause", () => {
  it("paused with an edit → nothing but status; unpaused → the edit is carried out", async () => {
    store.put(asked());
    await operator.run(key);
    const calls = service.calls.length;
    store.edit(key, (resource) => ({
      spec: asked({ spec: { disabled: true } }).spec,
      generation: resource.generation + 1,
      annotations: { [annotations.paused]: "true" },
    }));
    await operator.run(key);
    expect(conditionOf(status().conditions, "Ready")).toMatchObject({ status: "Unknown", reason: "Paused" });
    expect(service.calls.length).toBe(calls);
    store.edit(key, () => ({ annotations: {} }));
    await operator.run(key);
    expect(service.endpoints.get(made()[0] ?? "")?.disabled).toBe(true);
    expect(reason("Ready")).toBe("UpToDate");
  });
});
