/** Tests what the engine gives to every kind when calls fail, and when changes must wait. The toy has none of it. */
import { describe, expect, it, test } from "vitest";
import { ControlPlaneError, type ControlPlaneReason } from "../../../src/domain/control-plane-error.ts";
import { KubernetesError } from "../../../src/domain/resource-store.ts";
import { firstChange, type WaitingChange } from "../../../src/engine/schedule.ts";
import { conditionOf } from "../../../src/resource/conditions.ts";
import { ToyScene } from "./toy-scene.ts";

const minuteMs = 60_000;
const refused = (reason: ControlPlaneReason) => new ControlPlaneError(reason, "no", { effect: "NotApplied" });
const noProject = new ControlPlaneError("NotFound", "no project", { effect: "NotApplied", subject: "Project" });

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
      // A person who only made a typo reads the remedy at once.
      const ready = conditionOf(scene.toy?.status.conditions, "Ready");
      expect(scene.engine.events.join()).toContain(` ${ready?.message}`);
      await scene.pass(3 * 60 * minuteMs, 30_000);
      const stall = scene.state?.split(" ")[1];
      expect(scene.engine.events.filter((event) => event.startsWith("Warning"))).toHaveLength(1);
      expect(scene.steps.filter((step) => step === "patchStatus").length).toBeLessThanOrEqual(1 + 2);
      scene.engine.restart();
      await scene.pass(40_000);
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

  test("404 of the project, and a person makes it → an edit is tried at once", async () => {
    const scene = new ToyScene();
    let tries = 0;
    scene.service.beforeList = () => {
      tries += 1;
      return noProject;
    };
    scene.apply(1);
    while (tries < 7) await scene.pass(1_000);
    expect(scene.state).toBe("Retrying");
    scene.service.beforeList = () => undefined;
    scene.apply(2);
    await scene.pass(2_000);
    expect(scene.state).toBe("UpToDate");
  });

  test("two short series of failures with a success between them → neither makes the toy Stalled", async () => {
    const scene = await ToyScene.ready();
    for (const error of [noProject, undefined, noProject]) {
      scene.service.beforeList = () => error;
      scene.annotate("reconcileRequestedAt", `${scene.clock.nowMs()}`);
      await scene.pass(4 * minuteMs);
      expect(scene.state).toBe(error === undefined ? "UpToDate" : "Retrying");
    }
  });

  it.each([
    ["Unavailable", "addFinalizer", undefined, 0],
    ["WriteRefused", "addFinalizer", "Stalled WriteRefused", 1],
    ["WriteRefused", "any write", undefined, 1],
  ] as const)(
    "the API server answers with %s to %s → the toy waits for its backoff",
    async (reason, what, state, events) => {
      const scene = new ToyScene();
      let tries = 0;
      scene.store.beforeWrite = (write) => {
        tries += Number(write === "addFinalizer");
        if (write === what || what === "any write") throw new KubernetesError(reason, "no room");
      };
      scene.apply(1);
      for (let count = 0; count < 20; count += 1) await scene.reconcile();
      // The status that reports a refusal is a new version, so one try follows it at once.
      expect(tries).toBe(state === undefined ? 1 : 2);
      await scene.pass(10_000, 100);
      expect(tries).toBeLessThan(10);
      expect(scene.state).toBe(state);
      expect(scene.engine.events.filter((event) => event.startsWith(`Warning ${reason}`))).toHaveLength(events);
      scene.store.beforeWrite = () => {};
      await scene.pass(2 * minuteMs);
      expect(scene.state).toBe("UpToDate");
    },
  );
});

describe("lock, turn and budget", () => {
  test("an operation is in flight → the change waits; it ends → sent", async () => {
    const scene = new ToyScene();
    let lists = 0;
    scene.service.beforeList = () => {
      lists += 1;
      return undefined;
    };
    scene.service.start({ status: "running" });
    scene.apply(1);
    await scene.pass(30_000);
    expect([scene.sent, scene.state, lists]).toEqual([[], "WaitingForProject", 0]);
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

  test("operations follow each other without a pause → they count as one lock", async () => {
    const scene = new ToyScene();
    scene.apply(1);
    for (let count = 0; count < 4; count += 1) {
      scene.service.endAll();
      scene.service.start({ status: "running" });
      await scene.pass(18_000);
    }
    expect(scene.sent).toEqual(["create"]);
  });

  test("a deletion waits for the lock → not Ready meanwhile", async () => {
    const scene = await ToyScene.ready();
    scene.service.start({ status: "running" });
    scene.delete();
    await scene.reconcile();
    expect([scene.state, scene.sent]).toEqual(["Deleting", ["create"]]);
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

  test("five creates that ask for reads of their own → made once for all, and then only at each one's turn", async () => {
    const scene = new ToyScene();
    scene.kind.hasOwnReads = true;
    for (const name of ["a", "b", "c", "d", "e"]) scene.apply(1, { key: { namespace: "shop", name }, uid: name });
    await scene.pass(60_000);
    expect(scene.sent).toEqual(Array.from({ length: 5 }, () => "create"));
    expect(scene.kind.ownReads.toSorted().join("")).toBe("abbccddee");
  });

  test("423 → the changes of the whole project wait, and that is no failure", async () => {
    const scene = new ToyScene();
    scene.refuse(refused("Locked"));
    scene.apply(1);
    scene.apply(1, { key: { namespace: "shop", name: "second" }, uid: "uid-second" });
    for (const size of [1, 2, 3]) {
      await scene.reconcile();
      scene.apply(size, { key: { namespace: "shop", name: "second" } });
    }
    expect(scene.sent).toEqual(["create"]);
    await scene.pass(30_000);
    expect(scene.state).toBe("WaitingForProject");
    expect(scene.engine.events).toEqual([]);
    await scene.pass(6 * minuteMs);
    const stalled = scene.store.list().filter(({ status }) => conditionOf(status.conditions, "Stalled") !== undefined);
    expect(stalled.map(({ status }) => status.openCreate)).toEqual(["create uid-second"]);
    expect(conditionOf(stalled[0]?.status.conditions, "Stalled")?.reason).toBe("ProjectLocked");
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

/** Waiting changes as `precedence namespace sinceMs`. */
it.each([
  ["a deletion comes before all", ["Other a 1", "OpenCreate a 1", "Deletion b 9"], undefined, 2],
  ["an open create comes after a deletion", ["OpenCreate a 1", "Deletion b 9"], undefined, 1],
  ["an open create comes before others", ["Other a 1", "OpenCreate b 9"], undefined, 1],
  ["namespaces take turns", ["Other a 1", "Other a 2", "Other b 9"], "a", 2],
  ["after the last namespace the first one follows", ["Other a 9", "Other b 1"], "b", 0],
  ["within a namespace the oldest comes first", ["Other a 3", "Other a 2"], "a", 1],
  ["nothing waits", [], "a", undefined],
] as const)("%s", (_, texts, last, first) => {
  const waiting = texts.map((text, at) => {
    const [precedence, namespace, sinceMs] = text.split(" ") as [WaitingChange["precedence"], string, string];
    return { precedence, namespace, sinceMs: Number(sinceMs), uid: `${at}` };
  });
  expect(firstChange(waiting, last)?.uid).toBe(first === undefined ? undefined : `${first}`);
});
