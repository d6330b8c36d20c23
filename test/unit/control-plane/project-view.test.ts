import { describe, expect, test } from "vitest";
import { createProjectView, type ProjectViewOptions } from "../../../src/control-plane/create-project-view.ts";
import { ControlPlaneError } from "../../../src/domain/control-plane-error.ts";
import { FakeClock, settlePromises } from "../../support/fake-clock.ts";
import { door, endpoint, FakeControlPlane, operation, operations, project } from "./fake-control-plane.ts";

function startView(options: Partial<ProjectViewOptions> = {}) {
  const clock = new FakeClock();
  const controlPlane = new FakeControlPlane();
  // Pages of one size, so that their number can be told from the number of operations.
  const view = createProjectView({ controlPlane, clock, deepPageSize: options.pageSize ?? 100, ...options });
  return { clock, controlPlane, view };
}

const idsOf = (reading: { readonly operations: readonly { readonly id: string }[] }) =>
  reading.operations.map(({ id }) => id);

describe("sharing readings", () => {
  test("a hundred callers at once → one list each of operations and endpoints", async () => {
    const { clock, controlPlane, view } = startView();
    const nowMs = clock.monotonicMs();
    const readings = await Promise.all(Array.from({ length: 100 }, () => view.read(project, nowMs)));
    expect(new Set(readings).size).toBe(1);
    expect(controlPlane.calls).toEqual([`listOperations ${project} first`, `listEndpoints ${project}`]);
  });

  test("a cached reading that is new enough → answered without a call; an older one → a new reading", async () => {
    const { clock, controlPlane, view } = startView();
    const first = await view.read(project, clock.monotonicMs());
    await clock.advance(1_000);
    expect(await view.read(project, first.asOfMs)).toBe(first);
    const second = await view.read(project, first.asOfMs + 1);
    expect(second.asOfMs).toBe(clock.monotonicMs());
    expect(controlPlane.countOf("listEndpoints")).toBe(2);
  });

  test("callers who need newer facts than the reading under way → all share the one that follows", async () => {
    const { clock, controlPlane, view } = startView();
    const gate = door();
    controlPlane.beforeAnswer = () => gate.passed;
    const early = view.read(project, clock.monotonicMs());
    await clock.advance(10);
    const late = Array.from({ length: 50 }, () => view.read(project, clock.monotonicMs()));
    const content = view.read(project, 0);
    await settlePromises();
    expect(controlPlane.countOf("listOperations")).toBe(1);
    gate.open();
    const [earlyReading, contentReading, ...lateReadings] = await Promise.all([early, content, ...late]);
    expect(contentReading).toBe(earlyReading);
    expect(new Set(lateReadings).size).toBe(1);
    expect(lateReadings[0]?.asOfMs).toBeGreaterThanOrEqual(earlyReading.asOfMs + 10);
    expect(controlPlane.countOf("listEndpoints")).toBe(2);
  });

  test("any callers at any times → never two readings of a project at once, never one older than asked for", async () => {
    const { clock, controlPlane, view } = startView();
    let underWay = 0;
    let gate = door();
    controlPlane.beforeAnswer = async (call) => {
      underWay += call.startsWith("listOperations") ? 1 : 0;
      expect(underWay).toBe(1);
      await gate.passed;
      underWay -= call.startsWith("listEndpoints") ? 1 : 0;
    };
    const asked: Promise<void>[] = [];
    for (let round = 0; round < 30; round++) {
      for (let caller = 0; caller < 3; caller++) {
        const notOlderThanMs = clock.monotonicMs() - caller * 7;
        asked.push(
          view
            .read(project, notOlderThanMs)
            .then(({ asOfMs }) => expect(asOfMs).toBeGreaterThanOrEqual(notOlderThanMs)),
        );
      }
      await clock.advance(5);
      if (round % 3 === 0) {
        gate.open();
        await settlePromises();
        gate = door();
      }
    }
    gate.open();
    await Promise.all(asked);
  });

  test("a failed reading → rejects all who waited for it, and the next caller gets a new one", async () => {
    const { clock, controlPlane, view } = startView();
    await view.read(project, 0);
    await clock.advance(10);
    const failure = new ControlPlaneError("Unavailable", "cannot", { effect: "NotApplied" });
    controlPlane.beforeAnswer = () => Promise.reject(failure);
    const failed = await Promise.allSettled([1, 2, 3].map(() => view.read(project, clock.monotonicMs())));
    expect(failed.map((result) => result.status === "rejected" && result.reason)).toEqual([failure, failure, failure]);
    expect(controlPlane.countOf("listOperations")).toBe(2);
    controlPlane.beforeAnswer = async () => undefined;
    const next = await view.read(project, 0);
    expect(next.asOfMs, "what was good before the failure is not answered any more").toBe(clock.monotonicMs());
  });

  test("the reading under way fails → those who wait for the next one still get it", async () => {
    const { clock, controlPlane, view } = startView();
    const gate = door();
    controlPlane.beforeAnswer = async () => {
      await gate.passed;
      controlPlane.beforeAnswer = async () => undefined;
      throw new ControlPlaneError("Unavailable", "cannot", { effect: "NotApplied" });
    };
    const early = view.read(project, clock.monotonicMs());
    await clock.advance(10);
    const late = view.read(project, clock.monotonicMs());
    gate.open();
    await expect(early).rejects.toThrow("cannot");
    expect((await late).endpoints).toHaveLength(1);
  });

  test("a caller in any moment between one reading's end and the next one's begin → shares the next one", async () => {
    const { clock, controlPlane, view } = startView();
    let underWay = 0;
    let most = 0;
    const gate = door();
    controlPlane.beforeAnswer = async (call) => {
      underWay += call.startsWith("listOperations") ? 1 : 0;
      most = Math.max(most, underWay);
      await gate.passed;
      underWay -= call.startsWith("listEndpoints") ? 1 : 0;
    };
    const readings = [view.read(project, clock.monotonicMs())];
    await clock.advance(1);
    const nowMs = clock.monotonicMs();
    readings.push(view.read(project, nowMs));
    gate.open();
    for (let tick = 0; tick < 60; tick++) {
      readings.push(view.read(project, nowMs));
      await null;
    }
    await Promise.all(readings);
    expect(most).toBe(1);
    expect(controlPlane.countOf("listOperations")).toBe(2);
  });

  test("two projects → two readings, side by side", async () => {
    const { controlPlane, view } = startView();
    await Promise.all([view.read("project-a", 0), view.read("project-b", 0)]);
    expect(controlPlane.calls).toHaveLength(4);
  });
});

describe("operations", () => {
  test("first reading → one page, newest first", async () => {
    const { controlPlane, view } = startView({ pageSize: 10 });
    controlPlane.listed = operations(1, 35);
    const reading = await view.read(project, 0);
    expect(controlPlane.countOf("listOperations")).toBe(1);
    expect(idsOf(reading)).toEqual(
      operations(26, 35)
        .map(({ id }) => id)
        .reverse(),
    );
  });

  test("first reading whose oldest operation is unfinished → further pages until one is not", async () => {
    const { controlPlane, view } = startView({ pageSize: 10 });
    controlPlane.listed = operations(1, 35).map((each, index) =>
      index === 25 ? { ...each, status: "running" } : each,
    );
    const reading = await view.read(project, 0);
    expect(controlPlane.countOf("listOperations")).toBe(2);
    expect(reading.operations).toHaveLength(20);
  });

  test("later readings → read back to the first page that holds a known one", async () => {
    const { clock, controlPlane, view } = startView({ pageSize: 10 });
    controlPlane.listed = operations(1, 5);
    await view.read(project, 0);
    await clock.advance(1);
    controlPlane.listed = operations(1, 8);
    await view.read(project, clock.monotonicMs());
    expect(controlPlane.countOf("listOperations")).toBe(2);
    await clock.advance(1);
    controlPlane.listed = operations(1, 31);
    const reading = await view.read(project, clock.monotonicMs());
    expect(controlPlane.countOf("listOperations")).toBe(5);
    expect(idsOf(reading)).toEqual(
      operations(1, 31)
        .map(({ id }) => id)
        .reverse(),
    );
  });

  test("the first list was empty, then many at once → all of them are read", async () => {
    const { clock, controlPlane, view } = startView({ pageSize: 10 });
    await view.read(project, 0);
    await clock.advance(1);
    controlPlane.listed = operations(1, 25);
    expect((await view.read(project, clock.monotonicMs())).operations).toHaveLength(25);
  });

  test("more new operations than the bound of pages → stops there", async () => {
    const { clock, controlPlane, view } = startView({ pageSize: 10, maxPages: 3 });
    controlPlane.listed = operations(1, 5);
    await view.read(project, 0);
    await clock.advance(1);
    controlPlane.listed = operations(1, 500);
    await view.read(project, clock.monotonicMs());
    expect(controlPlane.countOf("listOperations")).toBe(4);
  });

  test("an operation whose read by id is answered with 500 → the project is read all the same", async () => {
    const { controlPlane, view } = startView();
    controlPlane.listed = operations(1, 2);
    view.watchOperation(project, "op-odd");
    controlPlane.beforeAnswer = async (call) => {
      if (call.endsWith(" op-odd")) throw new ControlPlaneError("ServerError", "cannot", { effect: "NotApplied" });
    };
    expect(idsOf(await view.read(project, 0))).toEqual(["op-2", "op-1"]);
    expect(controlPlane.countOf("getOperation")).toBe(1);
  });

  test("a reading that fails between two pages → leaves no gap in the next one", async () => {
    const { clock, controlPlane, view } = startView({ pageSize: 10 });
    controlPlane.listed = operations(1, 5);
    await view.read(project, 0);
    await clock.advance(1);
    controlPlane.listed = operations(1, 35);
    controlPlane.beforeAnswer = async (call) => {
      if (call.endsWith(" 20")) throw new ControlPlaneError("TimedOut", "cannot", { effect: "NotApplied" });
    };
    await expect(view.read(project, clock.monotonicMs())).rejects.toThrow();
    controlPlane.beforeAnswer = async () => undefined;
    expect((await view.read(project, clock.monotonicMs())).operations).toHaveLength(35);
  });

  test("an unfinished operation behind the pages read → asked for by id until it has ended", async () => {
    const { clock, controlPlane, view } = startView({ pageSize: 10 });
    const running = operation(1, { status: "running" });
    controlPlane.listed = [running, ...operations(2, 5)];
    await view.read(project, 0);
    controlPlane.listed = [running, ...operations(2, 12)];
    controlPlane.byId.set(running.id, running);
    await clock.advance(1);
    await view.read(project, clock.monotonicMs());
    expect(controlPlane.countOf("getOperation")).toBe(1);
    controlPlane.byId.set(running.id, { ...running, status: "failed", updatedTime: "2026-11-20T11:00:00Z" });
    await clock.advance(1);
    const reading = await view.read(project, clock.monotonicMs());
    expect(reading.operations.find(({ id }) => id === running.id)?.status).toBe("failed");
    await clock.advance(1);
    await view.read(project, clock.monotonicMs());
    expect(controlPlane.countOf("getOperation")).toBe(2);
  });

  test("what an answer to a write started → in the next reading, though the list lags, and polled until it ended", async () => {
    const { clock, controlPlane, view } = startView();
    const started = operation(7, { status: "running" });
    view.noteWrite(project, { endpoint: endpoint(), operations: [started] });
    controlPlane.byId.set(started.id, started);
    expect(idsOf(await view.read(project, 0))).toEqual([started.id]);
    await clock.advance(1);
    controlPlane.listed = [started];
    await view.read(project, clock.monotonicMs());
    expect(controlPlane.countOf("getOperation")).toBe(1);
  });

  test("an answered operation newer than all that is known → is no proof that the list has been read back", async () => {
    const { clock, controlPlane, view } = startView({ pageSize: 10 });
    controlPlane.listed = operations(1, 5);
    await view.read(project, 0);
    await clock.advance(1);
    controlPlane.listed = operations(1, 25);
    view.noteWrite(project, { endpoint: endpoint(), operations: [operation(25)] });
    expect((await view.read(project, clock.monotonicMs())).operations).toHaveLength(25);
  });

  test("a watched id → polled until it has ended or a list shows it", async () => {
    const { clock, controlPlane, view } = startView();
    view.watchOperation(project, "op-9");
    controlPlane.byId.set("op-9", operation(9, { status: "scheduling" }));
    expect((await view.read(project, 0)).operations).toMatchObject([{ id: "op-9", status: "scheduling" }]);
    controlPlane.byId.set("op-9", operation(9));
    await clock.advance(1);
    expect((await view.read(project, clock.monotonicMs())).operations).toMatchObject([{ status: "finished" }]);
    await clock.advance(1);
    await view.read(project, clock.monotonicMs());
    expect(controlPlane.countOf("getOperation")).toBe(2);
  });

  test("a watched id that nobody can find → given up after the grace time, not at once", async () => {
    const { clock, controlPlane, view } = startView({ missingGraceMs: 100 });
    view.watchOperation(project, "op-9");
    for (const _ of [1, 2, 3, 4]) {
      await view.read(project, clock.monotonicMs());
      await clock.advance(60);
    }
    expect(controlPlane.countOf("getOperation")).toBe(3);
  });

  test("many to be asked for → a bounded number in each reading, all of them in turn", async () => {
    const { clock, controlPlane, view } = startView({ maxPolls: 4 });
    for (const { id } of operations(1, 10)) {
      view.watchOperation(project, id);
      controlPlane.byId.set(id, operation(Number(id.slice(3)), { status: "running" }));
    }
    for (const _ of [1, 2, 3]) {
      await view.read(project, clock.monotonicMs());
      await clock.advance(1);
    }
    expect(controlPlane.countOf("getOperation")).toBe(12);
    expect((await view.read(project, 0)).operations).toHaveLength(10);
  });

  test("a list that lags behind what is known → knowledge does not go back", async () => {
    const { clock, controlPlane, view } = startView();
    controlPlane.listed = [operation(1, { status: "finished", updatedTime: "2026-11-20T12:00:00Z" })];
    await view.read(project, 0);
    await clock.advance(1);
    controlPlane.listed = [operation(1, { status: "running" })];
    expect((await view.read(project, clock.monotonicMs())).operations).toMatchObject([{ status: "finished" }]);
    await clock.advance(1);
    controlPlane.listed = [operation(1, { status: "running", updatedTime: "2026-11-20T13:00:00Z" })];
    expect((await view.read(project, clock.monotonicMs())).operations).toMatchObject([{ status: "running" }]);
  });

  test("an operation with a status nobody knows → shown, and not polled", async () => {
    const { clock, controlPlane, view } = startView({ pageSize: 2 });
    controlPlane.listed = [operation(1, { status: "pondering" })];
    await view.read(project, 0);
    await clock.advance(1);
    controlPlane.listed = [...controlPlane.listed, ...operations(2, 4)];
    await view.read(project, clock.monotonicMs());
    expect(controlPlane.countOf("getOperation")).toBe(0);
  });

  test("a long life → memory keeps the window and all that is unfinished", async () => {
    const { clock, controlPlane, view } = startView({ pageSize: 10, windowSize: 20 });
    const running = operation(0, { status: "running" });
    controlPlane.byId.set(running.id, running);
    controlPlane.listed = [running];
    for (let last = 8; last <= 80; last += 8) {
      await view.read(project, clock.monotonicMs());
      await clock.advance(1);
      controlPlane.listed = [running, ...operations(1, last)];
    }
    const reading = await view.read(project, clock.monotonicMs());
    expect(idsOf(reading)).toContain("op-0");
    expect(reading.operations.length).toBeLessThanOrEqual(20 + 10 + 1);
  });
});

describe("what a reading says of names", () => {
  test("no name seen → not echoed; one name in a list → echoed from then on, in every project", async () => {
    const { clock, controlPlane, view } = startView();
    expect((await view.read(project, 0)).echoesNames).toBe(false);
    await clock.advance(1);
    controlPlane.endpoints = [endpoint(), endpoint({ id: "ep-two-2", name: "two" })];
    expect((await view.read(project, clock.monotonicMs())).echoesNames).toBe(true);
    controlPlane.endpoints = [];
    expect((await view.read("project-b", 0)).echoesNames).toBe(true);
  });

  test("a name in the answer to a write → echoed; none there → proves nothing", async () => {
    const { clock, controlPlane, view } = startView();
    view.noteWrite(project, { endpoint: endpoint(), operations: [] });
    expect((await view.read(project, 0)).echoesNames).toBe(false);
    await clock.advance(1);
    view.noteWrite(project, { endpoint: endpoint({ name: "n" }), operations: [] });
    controlPlane.endpoints = [];
    expect((await view.read(project, clock.monotonicMs())).echoesNames).toBe(true);
  });
});

describe("forgetting", () => {
  test("forget → nothing is remembered", async () => {
    const { controlPlane, view } = startView();
    await view.read(project, 0);
    view.forget(project);
    await view.read(project, 0);
    expect(controlPlane.countOf("listEndpoints")).toBe(2);
  });

  test("a project that nobody reads for long → dropped when another one comes", async () => {
    const { clock, controlPlane, view } = startView({ idleMs: 100 });
    await view.read("project-a", 0);
    await clock.advance(60);
    await view.read("project-b", 0);
    await clock.advance(60);
    await view.read("project-c", 0);
    const before = controlPlane.countOf("listEndpoints");
    await view.read("project-b", 0);
    expect(controlPlane.countOf("listEndpoints"), "project-b is remembered").toBe(before);
    await view.read("project-a", 0);
    expect(controlPlane.countOf("listEndpoints"), "project-a is not").toBe(before + 1);
  });
});
