/** Tests what the engine gives to every kind, by a kind that has none of it. */
import { describe, expect, it, test } from "vitest";
import { ControlPlaneError, type ControlPlaneReason } from "../../../src/domain/control-plane-error.ts";
import { KubernetesError, type KubernetesReason } from "../../../src/domain/resource-store.ts";
import { noGrant } from "../../../src/engine/grant.ts";
import { projectId } from "../../support/fakes/fake-service.ts";
import { toyFinalizer } from "./toy-kind.ts";
import { ToyScene } from "./toy-scene.ts";

const refused = (reason: ControlPlaneReason) => new ControlPlaneError(reason, "no", { effect: "NotApplied" });
const lost = () => new ControlPlaneError("ConnectionLost", "the connection broke", { effect: "Unknown" });
const minuteMs = 60_000;

describe("finalizer", () => {
  test("a new resource → finalizer, note, create, result; at rest nothing is written", async () => {
    const scene = await ToyScene.ready();
    expect(scene.steps.slice(0, 4)).toEqual(["addFinalizer", "patchStatus", "create", "patchStatus"]);
    expect([scene.state, scene.object?.maxUnits]).toEqual(["UpToDate", 1]);
    const before = scene.steps.length;
    await scene.pass(30 * minuteMs, 5_000);
    expect(scene.steps.slice(before)).toEqual([]);
  });

  test("the finalizer cannot be stored → nothing is created", async () => {
    const scene = new ToyScene();
    scene.store.beforeWrite = (write) => {
      if (write === "addFinalizer") throw new KubernetesError("Unavailable", "no");
    };
    scene.apply(1);
    await scene.pass(minuteMs);
    expect(scene.sent).toEqual([]);
  });

  test("a deletion → DELETE, and the finalizer goes after a read by id has shown that the object is gone", async () => {
    const scene = await ToyScene.ready();
    const { getEndpoint } = scene.service.controlPlane;
    scene.service.controlPlane.getEndpoint = (...path) => {
      scene.steps.push("getEndpoint");
      return getEndpoint(...path);
    };
    scene.delete();
    await scene.pass(5_000);
    expect(scene.toy).toBeUndefined();
    const steps = scene.steps.slice(scene.steps.indexOf("delete"));
    expect(steps.filter((step) => step !== "patchStatus")).toEqual(["delete", "getEndpoint", "removeFinalizer"]);
  });

  test("a deletion before anything was created → the finalizer goes without a call, also while the project is down", async () => {
    const scene = new ToyScene();
    scene.service.beforeList = () => refused("Unavailable");
    scene.apply(1);
    await scene.pass(2_000);
    scene.delete();
    await scene.pass(2_000);
    expect([scene.toy, scene.sent]).toEqual([undefined, []]);
  });
});

describe("pause", () => {
  test.each([
    ["a new resource", new ToyScene(), (scene: ToyScene) => scene.apply(1)],
    ["another spec", ToyScene.ready(), (scene: ToyScene) => scene.apply(2)],
    ["a deletion", ToyScene.ready(), (scene: ToyScene) => scene.delete()],
  ])("%s while paused → only status is written; after the pause it goes on", async (_, start, change) => {
    const scene = await start;
    if (scene.toy === undefined) scene.apply(1);
    scene.annotate("paused", "true");
    change(scene);
    const before = scene.steps.length;
    await scene.pass(3 * minuteMs, 5_000);
    expect(scene.steps.slice(before).filter((step) => step !== "patchStatus")).toEqual([]);
    expect(scene.state).toBe("Paused");
    scene.annotate("paused", "false");
    await scene.pass(10_000);
    expect(scene.sent.length).toBeGreaterThan(0);
    expect([undefined, "UpToDate"]).toContain(scene.state);
  });
});

describe("failures", () => {
  /** Seconds between the first tries, without the random part. */
  it.each([
    ["Rejected", [5, 10, 20], "Retrying"],
    ["Conflict", [1, 2, 4], "Retrying"],
    ["Unavailable", [1, 2, 4], "ServiceUnavailable"],
    ["Throttled", [1, 2, 4], "Throttled"],
    ["Unauthorized", [2, 4, 8], "Unauthorized"],
  ] as const)(
    "a change is refused with %s → tried again after %j s, shown as %s; then Ready",
    async (reason, gaps, shown) => {
      const scene = new ToyScene();
      const triedAt: number[] = [];
      scene.service.aroundChange = (_, side) => {
        if (side === "Before") triedAt.push(scene.clock.monotonicMs());
        return side === "Before" ? refused(reason) : undefined;
      };
      scene.apply(1);
      while (triedAt.length <= gaps.length) {
        await scene.reconcile();
        await scene.clock.advance(250);
      }
      expect(triedAt.slice(1).map((ms, at) => (ms - (triedAt[at] ?? 0)) / 1_000)).toEqual(gaps);
      expect(scene.state).toBe(shown);
      scene.refuse(undefined);
      await scene.pass(minuteMs + 5_000);
      expect(scene.state).toBe("UpToDate");
    },
  );

  it.each([
    ["Malformed", 0],
    ["Forbidden", 0],
    ["Rejected", 5],
    ["NotFound", 5],
  ] as const)(
    "a change is refused with %s → Stalled after %d minutes, once, until a try succeeds",
    async (reason, minutes) => {
      const scene = new ToyScene();
      scene.refuse(refused(reason));
      scene.apply(1);
      await scene.pass(minutes === 0 ? 2_000 : minutes * minuteMs - 10_000);
      expect(scene.state?.startsWith("Stalled ")).toBe(minutes === 0);
      await scene.pass(3 * 60 * minuteMs, 30_000);
      const stall = scene.state?.split(" ")[1];
      expect(scene.engine.events.filter((event) => event.startsWith(`Warning ${stall}`))).toHaveLength(1);
      expect(scene.steps.filter((step) => step === "patchStatus").length).toBeLessThanOrEqual(1 + 2);
      scene.engine.restart();
      await scene.pass(10_000);
      expect(scene.state).toBe(`Stalled ${stall}`);
      scene.refuse(undefined);
      await scene.pass(15 * minuteMs, 5_000);
      expect(scene.state).toBe("UpToDate");
    },
  );

  test.each([
    ["spec is edited", (scene: ToyScene) => scene.apply(2)],
    ["a reconcile is asked for", (scene: ToyScene) => scene.annotate("reconcileRequestedAt", "now")],
  ])("Stalled by a refusal, and %s → tried again at once", async (_, act) => {
    const scene = new ToyScene();
    scene.refuse(refused("Malformed"));
    scene.apply(1);
    await scene.pass(minuteMs);
    scene.refuse(undefined);
    act(scene);
    await scene.pass(3_000);
    expect(scene.state).toBe("UpToDate");
  });

  it.each([
    ["the project cannot be listed", 500, "ServiceUnavailable"],
    ["a short outage does not change a Ready resource", 20_000, "UpToDate"],
    ["a long outage does", 40_000, "ServiceUnavailable"],
  ])("%s (%d ms) → %s", async (what, downMs, state) => {
    const scene = what.startsWith("the project") ? new ToyScene() : await ToyScene.ready();
    scene.service.beforeList = () => refused("Unavailable");
    if (scene.toy === undefined) scene.apply(1);
    scene.annotate("reconcileRequestedAt", "now");
    await scene.pass(downMs, 500);
    expect(scene.state).toBe(state);
    scene.service.beforeList = () => undefined;
    await scene.pass(minuteMs);
    expect(scene.state).toBe("UpToDate");
  });

  it.each([
    ["Unavailable", undefined],
    ["WriteRefused", "Stalled WriteRefused"],
  ] as const)(
    "the API server answers writes with %s → the toy waits for its backoff, then Ready",
    async (reason, state) => {
      const scene = new ToyScene();
      let writes = 0;
      scene.store.beforeWrite = (write) => {
        if (write !== "addFinalizer") return;
        writes += 1;
        throw new KubernetesError(reason as KubernetesReason, "no room");
      };
      scene.apply(1);
      for (let count = 0; count < 20; count += 1) await scene.reconcile();
      // The status that reports a refusal is a new version, so one try follows it at once.
      expect(writes).toBe(state === undefined ? 1 : 2);
      await scene.pass(10_000, 100);
      expect(writes).toBeLessThan(10);
      expect(scene.state).toBe(state);
      scene.store.beforeWrite = () => {};
      await scene.pass(2 * minuteMs);
      expect(scene.state).toBe("UpToDate");
    },
  );
});

describe("a create without an answer", () => {
  test.each([
    ["it took effect → found, and never sent again", "After", ["create"]],
    ["it had no effect → sent again after the settle time", "Before", ["create", "create"]],
  ] as const)("%s", async (_, side, sent) => {
    for (const restartsAt of [undefined, "at once"]) {
      const scene = new ToyScene();
      let isFirst = true;
      scene.service.aroundChange = (_change, at) => {
        if (at !== side || !isFirst) return undefined;
        isFirst = false;
        return lost();
      };
      scene.apply(1);
      await scene.pass(2_000);
      if (restartsAt !== undefined) scene.engine.restart();
      await scene.pass(15_000);
      expect(scene.sent).toEqual(["create"]);
      await scene.pass(30_000);
      expect(scene.sent).toEqual(sent);
      expect([scene.state, scene.service.objects.size]).toEqual(["UpToDate", 1]);
    }
  });
});

describe("a person edits the resource meanwhile", () => {
  /** Edits the toy once, before the status write that follows this many changes. */
  const editBeforePatch = (scene: ToyScene, changes: number, edit: () => void) => {
    let isEdited = false;
    scene.store.beforeWrite = (write) => {
      if (write !== "patchStatus" || isEdited || scene.sent.length !== changes) return;
      isEdited = true;
      edit();
    };
  };

  it.each([0, 1])(
    "the status write after %d changes gets a conflict → decided on the newest, one create",
    async (changes) => {
      const scene = new ToyScene();
      scene.apply(1);
      editBeforePatch(scene, changes, () => scene.apply(7));
      await scene.pass(10_000);
      expect(scene.sent.filter((change) => change === "create")).toHaveLength(1);
      expect([scene.state, scene.object?.maxUnits, scene.service.objects.size]).toEqual(["UpToDate", 7, 1]);
    },
  );

  it.each([
    ["pauses it", (scene: ToyScene) => scene.annotate("paused", "true"), 1],
    ["deletes it", (scene: ToyScene) => scene.delete(), 0],
    ["replaces it", (scene: ToyScene) => scene.apply(2, { uid: "uid-other", status: {}, finalizers: [] }), 1],
  ])("while the note of a create is stored, a person %s → the create is not sent", async (_, act, resources) => {
    const scene = new ToyScene();
    scene.apply(1);
    scene.store.afterWrite = (write) => {
      scene.steps.push(write);
      if (write !== "patchStatus" || scene.sent.length > 0) return;
      scene.store.afterWrite = (later) => void scene.steps.push(later);
      act(scene);
    };
    await scene.reconcile();
    expect(scene.sent).toEqual([]);
    await scene.pass(10_000);
    expect(scene.store.list()).toHaveLength(resources);
    expect(scene.service.objects.size).toBe(scene.toy?.uid === "uid-other" ? 1 : 0);
  });
});

describe("lock, turn and budget", () => {
  test("an operation is in flight → the change waits; it ends → sent", async () => {
    const scene = new ToyScene();
    scene.service.start({ status: "running" });
    scene.apply(1);
    await scene.pass(30_000);
    expect([scene.sent, scene.state]).toEqual([[], "WaitingForProject"]);
    scene.service.endAll();
    await scene.pass(6_000);
    expect(scene.state).toBe("UpToDate");
  });

  test("an operation never ends → the change is sent after a minute", async () => {
    const scene = new ToyScene();
    scene.service.start({ status: "running" });
    scene.apply(1);
    await scene.pass(minuteMs - 2_000);
    expect(scene.sent).toEqual([]);
    await scene.pass(10_000);
    expect(scene.sent).toEqual(["create"]);
  });

  test("two resources → one change in a reconcile, and the second one waits for the operation of the first", async () => {
    const scene = new ToyScene();
    scene.service.operationStatus = "running";
    scene.apply(1);
    scene.apply(1, { key: { namespace: "shop", name: "second" }, uid: "uid-second" });
    await scene.pass(10_000);
    expect(scene.sent).toEqual(["create"]);
    scene.service.endAll();
    await scene.pass(10_000);
    expect(scene.sent).toEqual(["create", "create"]);
  });

  test("423 → the changes of the whole project wait, and that is no failure", async () => {
    const scene = new ToyScene();
    scene.refuse(refused("Locked"));
    scene.apply(1);
    await scene.pass(30_000);
    expect(scene.state).toBe("WaitingForProject");
    expect(scene.engine.events).toEqual([]);
    await scene.pass(6 * minuteMs);
    expect(scene.state).toBe("Stalled ProjectLocked");
  });

  test("the request budget is used up → nothing is sent or reported; then sent", async () => {
    const scene = await ToyScene.ready();
    const before = scene.steps.length;
    scene.engine.caller = {
      reserve: async () => {
        throw refused("Throttled");
      },
    };
    scene.apply(2);
    await scene.pass(20_000);
    expect([scene.steps.slice(before), scene.engine.events]).toEqual([[], []]);
    scene.engine.caller = {};
    await scene.pass(minuteMs);
    expect([scene.state, scene.object?.maxUnits]).toEqual(["UpToDate", 2]);
  });
});

describe("operations", () => {
  test.each([
    ["every write is answered", undefined],
    ["the answer to each status write is lost", "lost"],
    ["the process restarts after it", "restart"],
  ])("an operation fails, and %s → counted once, with one event", async (_, fault) => {
    const scene = await ToyScene.ready();
    const before = scene.engine.counted.length;
    scene.service.start({
      endpointId: scene.object?.id,
      action: "suspend_compute",
      status: "failed",
      error: "no room",
    });
    let isLost = fault === "lost";
    scene.store.afterWrite = () => {
      if (!isLost) return;
      isLost = false;
      throw new KubernetesError("TimedOut", "no answer");
    };
    await scene.pass(2 * minuteMs);
    if (fault === "restart") scene.engine.restart();
    await scene.pass(5 * minuteMs);
    expect(scene.engine.counted.slice(before)).toMatchObject([{ action: "suspend_compute", outcome: "failed" }]);
    expect(scene.engine.events).toEqual(["Warning OperationFailed Operation suspend_compute failed: no room"]);
  });

  test("the operations of our own changes → counted as SpecChange, once each, also after a deletion", async () => {
    const scene = await ToyScene.ready();
    scene.delete();
    await scene.pass(5_000);
    const own = scene.engine.counted.map(({ action, cause }) => `${action} ${cause}`);
    expect(own).toEqual(["apply_config SpecChange", "apply_config SpecChange"]);
  });
});

describe("plan", () => {
  test.each([
    [
      "a new resource",
      (scene: ToyScene) => scene.apply(1, { finalizers: [toyFinalizer] }),
      { kind: "Create", size: 1 },
    ],
    ["another spec", async (scene: ToyScene) => scene.apply(3), { kind: "Resize", size: 3 }],
    ["a deletion", (scene: ToyScene) => scene.delete(), { kind: "Delete" }],
  ])("%s → says what would be sent, and writes nothing", async (what, act, plan) => {
    const scene = what === "a new resource" ? new ToyScene() : await ToyScene.ready();
    act(scene);
    const before = scene.steps.length;
    expect(await scene.engine.planOf(projectId, "uid-toy")).toMatchObject({ plan, afterOperation: undefined });
    expect(scene.steps.slice(before)).toEqual([]);
  });
});

describe("what needs no kind", () => {
  const problem = { reason: "ControlPlaneNotFound", message: "There is none." } as const;

  it.each([
    ["no grant", { grantOf: () => noGrant }, "Stalled ProjectNotGranted"],
    ["the control plane has a problem", { problem }, "Stalled ControlPlaneNotFound"],
    ["both: the problem is not shown", { problem, grantOf: () => noGrant }, "Stalled ProjectNotGranted"],
    ["the control plane is not known yet", { problem, isKnown: false }, undefined],
  ])("%s → %s, nothing is sent; then Ready", async (_, unit, state) => {
    const scene = new ToyScene();
    scene.engine.unit = unit;
    scene.apply(1);
    await scene.pass(10_000);
    expect([scene.state, scene.sent]).toEqual([state, []]);
    scene.engine.unit = {};
    await scene.pass(10_000);
    expect(scene.state).toBe("UpToDate");
  });

  test("spec is invalid → Stalled InvalidSpec; a valid one converges", async () => {
    const scene = new ToyScene();
    scene.apply(1, { spec: { kind: "Invalid", problems: "spec.size: too large" } });
    await scene.pass(2_000);
    expect(scene.state).toBe("Stalled InvalidSpec");
    scene.apply(1);
    await scene.pass(5_000);
    expect(scene.state).toBe("UpToDate");
  });

  test("another client changes or deletes the object → changed back, made again", async () => {
    const scene = await ToyScene.ready();
    scene.service.edit(scene.object?.id ?? "", { maxUnits: 9 });
    await scene.pass(2 * minuteMs);
    expect(scene.object?.maxUnits).toBe(1);
    scene.service.objects.clear();
    await scene.pass(2 * minuteMs);
    expect([scene.state, scene.object?.maxUnits]).toEqual(["UpToDate", 1]);
  });
});
