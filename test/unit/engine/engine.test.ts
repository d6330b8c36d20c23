/** Tests what the engine gives to every kind, by a kind that has none of it. */
import { describe, expect, it, test } from "vitest";
import { ControlPlaneError } from "../../../src/domain/control-plane-error.ts";
import { KubernetesError } from "../../../src/domain/resource-store.ts";
import { fullGrant, noGrant } from "../../../src/engine/grant.ts";
import { projectId } from "../../support/fakes/fake-service.ts";
import { SilentToyKind, toyFinalizer } from "./toy-kind.ts";
import { ToyScene, toyStore } from "./toy-scene.ts";

const minuteMs = 60_000;

test("annotations that mean nothing → the message of Ready names them, with one Warning; taken away → it does not", async () => {
  const scene = new ToyScene();
  scene.apply(1, {
    annotations: {
      "endpoint-operator.dev/pausd": "true",
      "endpoint-operator.dev/paused": "yes",
      "endpoint-operator.dev/rotate-requested-at": "now",
    },
  });
  await scene.pass(minuteMs, 5_000);
  const text = 'The operator ignores these annotations: pausd="true", paused="yes", rotate-requested-at="now".';
  const messageNow = () => scene.toy?.status.conditions?.find(({ type }) => type === "Ready")?.message;
  expect(messageNow()).toBe(`The object exists. ${text}`);
  const before = scene.steps.length;
  await scene.pass(30 * minuteMs, 5_000);
  expect(scene.steps.slice(before)).toEqual([]);
  const warnings = scene.engine.events.filter((event) => event.includes("AnnotationIgnored"));
  expect(warnings).toEqual([expect.stringContaining(text)]);
  scene.store.edit({ namespace: "shop", name: "toy" }, () => ({ annotations: {} }));
  await scene.pass(minuteMs, 5_000);
  expect(messageNow()).toBe("The object exists.");
});

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

  test.each([
    ["nothing else keeps the toy → its metrics go too", [], [{ namespace: "shop", name: "toy" }]],
    ["another controller keeps the toy → its metrics stay", ["example.com/other"], []],
  ])("a deletion ends, and %s", async (_, others, forgotten) => {
    const scene = await ToyScene.ready();
    scene.store.edit({ namespace: "shop", name: "toy" }, () => ({ finalizers: [toyFinalizer, ...others] }));
    scene.delete();
    await scene.pass(5_000);
    expect([scene.sent, scene.engine.forgotten]).toEqual([["create", "delete"], forgotten]);
  });

  test.each([
    ["counts operations → its metrics go", "Counting", [{ namespace: "shop", name: "toy" }]],
    ["counts none → the metrics of the other one stay", "Silent", []],
  ] as const)("two kinds have a toy of one name, and the toy goes that %s", async (_, gone, forgotten) => {
    const silent = new SilentToyKind(toyStore());
    const scene = new ToyScene([silent]);
    scene.apply(1);
    for (const toy of scene.store.list()) silent.store.put({ ...toy, uid: "uid-silent" });
    await scene.pass(10_000);
    (gone === "Counting" ? scene.store : silent.store).delete({ namespace: "shop", name: "toy" });
    await scene.pass(10_000);
    expect([...scene.store.list(), ...silent.store.list()]).toHaveLength(1);
    expect(scene.engine.forgotten).toEqual(forgotten);
  });

  test("a deletion, and only the finalizer of another controller is left → the object stays, and so does the finalizer", async () => {
    const scene = await ToyScene.ready();
    scene.store.edit({ namespace: "shop", name: "toy" }, () => ({ finalizers: ["example.com/other"] }));
    scene.delete();
    const before = scene.steps.length;
    await scene.pass(2 * minuteMs);
    expect(scene.steps.slice(before).filter((step) => step !== "patchStatus")).toEqual([]);
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

test("a create without an answer, then a refusal of the next try → the first one may still take effect", async () => {
  const scene = new ToyScene();
  const lost = new ControlPlaneError("ConnectionLost", "the connection broke", { effect: "Unknown" });
  const refused = new ControlPlaneError("Throttled", "no", { effect: "NotApplied" });
  scene.service.aroundChange = (_change, at) => (at === "Before" ? lost : undefined);
  scene.apply(1);
  await scene.pass(2_000);
  const posts = () => scene.engine.projects.of(projectId).resources.get("uid-toy")?.memory.posts;
  const first = posts();
  scene.service.aroundChange = (_change, at) => (at === "Before" ? refused : undefined);
  await scene.pass(60_000);
  expect(scene.sent.length).toBeGreaterThan(1);
  expect([first?.isUnresolved, posts()]).toEqual([true, first]);
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

  it.each([
    ["note of a create", 0],
    ["answer to a create", 1],
  ])("the %s gets a conflict → decided on the newest version, one create", async (_, changes) => {
    const scene = new ToyScene();
    scene.apply(1);
    editBeforePatch(scene, changes, () => scene.apply(7));
    await scene.reconcile();
    // The answer is stored at once, on the version that the person made.
    expect(scene.toy?.status.objectId).toBe(scene.object?.id);
    await scene.pass(10_000);
    expect(scene.sent.filter((change) => change === "create")).toHaveLength(1);
    expect([scene.state, scene.object?.maxUnits, scene.service.objects.size]).toEqual(["UpToDate", 7, 1]);
  });

  test("a person replaces the resource while the answer is stored → the other resource does not get it", async () => {
    const scene = new ToyScene();
    scene.apply(1);
    editBeforePatch(scene, 1, () => scene.apply(1, { uid: "uid-other", status: {}, finalizers: [] }));
    await scene.reconcile();
    expect([scene.sent, scene.toy?.uid, scene.toy?.status]).toEqual([["create"], "uid-other", {}]);
  });

  it.each([
    ["pauses it", (scene: ToyScene) => scene.annotate("paused", "true"), 1],
    ["deletes it", (scene: ToyScene) => scene.delete(), 0],
    ["replaces it", (scene: ToyScene) => scene.apply(1, { uid: "uid-other", status: {}, finalizers: [] }), 1],
    ["edits it", (scene: ToyScene) => scene.apply(1), 1],
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
    expect(scene.service.objects.size).toBe(scene.state === "UpToDate" ? 1 : 0);
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
    expect(await scene.engine.dryRun(projectId, "uid-toy")).toMatchObject({ plan, afterOperation: undefined });
    expect(scene.steps.slice(before)).toEqual([]);
  });

  test("an operation locks the project → says which one must end before", async () => {
    const scene = await ToyScene.ready();
    scene.service.operationStatus = "running";
    const id = scene.service.start();
    scene.apply(3);
    expect(await scene.engine.dryRun(projectId, "uid-toy")).toMatchObject({ afterOperation: id });
  });
});

describe("what needs no kind", () => {
  const problem = { reason: "ControlPlaneNotFound", message: "There is none." } as const;

  it("the grant comes while the status is stored → due again at once", async () => {
    const scene = new ToyScene();
    let grant = noGrant;
    scene.engine.unit = { grantOf: () => grant };
    scene.store.beforeWrite = (write) => {
      if (write === "patchStatus") grant = fullGrant;
    };
    scene.apply(1);
    await scene.pass(10_000);
    expect(scene.state).toBe("UpToDate");
  });

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
});
