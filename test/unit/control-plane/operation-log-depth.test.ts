import { describe, expect, test } from "vitest";
import { createProjectView, type ProjectViewOptions } from "../../../src/control-plane/create-project-view.ts";
import type { OperationLogGap } from "../../../src/control-plane/operation-memory.ts";
import type { ProjectReading } from "../../../src/domain/project-view.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { endpoint, FakeControlPlane, operation, operations, project } from "./fake-control-plane.ts";

/** When the nth operation was created. */
const createdMs = (n: number) => Date.parse(operation(n).createdTime);

function startView(options: Partial<ProjectViewOptions> = {}) {
  const clock = new FakeClock();
  const controlPlane = new FakeControlPlane();
  const gaps: OperationLogGap[] = [];
  const scene = {
    controlPlane,
    gaps,
    neededMs: undefined as number | undefined,
    /** A new reading, and how many pages it took. */
    async read(): Promise<{ readonly reading: ProjectReading; readonly pages: number }> {
      await clock.advance(1);
      const before = controlPlane.countOf("listOperations");
      const reading = await view.read(project, clock.monotonicMs());
      return { reading, pages: controlPlane.countOf("listOperations") - before };
    },
  };
  const view = createProjectView({
    controlPlane,
    clock,
    pageSize: 10,
    deepPageSize: 50,
    windowSize: 20,
    neededSinceMs: () => scene.neededMs,
    onGap: (_projectId, gap) => void gaps.push(gap),
    ...options,
  });
  return { ...scene, scene, view };
}

const shows = ({ reading }: { readonly reading: ProjectReading }, n: number) =>
  reading.operations.some(({ id }) => id === `op-${n}`);

describe("a first reading", () => {
  test("somebody has counted until long ago → goes back to then, in few pages, and no further", async () => {
    const { scene, controlPlane, gaps, read } = startView();
    controlPlane.listed = operations(1, 400);
    scene.neededMs = createdMs(300);
    const first = await read();
    expect([first.pages, shows(first, 300), shows(first, 250)]).toEqual([3, true, false]);
    expect(gaps).toEqual([]);
  });

  test("a long log that all have counted since → the very next reading shows the window alone", async () => {
    const { scene, controlPlane, gaps, read } = startView();
    controlPlane.listed = operations(1, 100);
    scene.neededMs = createdMs(1);
    expect((await read()).reading.operations).toHaveLength(100);
    scene.neededMs = createdMs(100);
    expect((await read()).reading.operations).toHaveLength(20);
    expect(gaps).toEqual([]);
  });

  test("an operation of the very moment until which was counted → is shown, its sibling may not have been", async () => {
    const { scene, controlPlane, read } = startView();
    const twin = { ...operation(30), id: "op-twin" };
    controlPlane.listed = [...operations(1, 30), twin, ...operations(31, 39)];
    scene.neededMs = createdMs(30);
    const { reading } = await read();
    expect(reading.operations.filter(({ createdTime }) => createdTime === twin.createdTime)).toHaveLength(2);
  });

  test("needed since before the oldest operation there is → ends with the list, nothing is missing", async () => {
    const { scene, controlPlane, gaps, read } = startView();
    controlPlane.listed = operations(1, 30);
    scene.neededMs = createdMs(-1_000);
    expect(await read()).toMatchObject({ pages: 2 });
    expect(gaps).toEqual([]);
  });

  test("needed from further back than the bound of pages → says what is missing, once, and does not try again", async () => {
    const { scene, controlPlane, gaps, read } = startView({ maxPages: 3 });
    controlPlane.listed = operations(1, 400);
    scene.neededMs = createdMs(100);
    expect(await read()).toMatchObject({ pages: 3 });
    expect(gaps).toEqual([{ fromMs: createdMs(100), untilMs: createdMs(291) + 1 }]);
    controlPlane.listed = operations(1, 402);
    expect(await read()).toMatchObject({ pages: 1 });
    expect(gaps).toHaveLength(1);
  });

  test("nobody needs what is beyond the bound → nothing is missing", async () => {
    const { controlPlane, gaps, read } = startView({ maxPages: 1 });
    controlPlane.listed = operations(1, 400);
    await read();
    controlPlane.listed = operations(1, 500);
    await read();
    expect(gaps).toEqual([]);
  });
});

describe("later readings", () => {
  test("at rest → one page each, however far back the first one went", async () => {
    const { scene, controlPlane, read } = startView();
    controlPlane.listed = operations(1, 400);
    scene.neededMs = createdMs(100);
    await read();
    scene.neededMs = createdMs(400);
    expect([await read(), await read()]).toMatchObject([{ pages: 1 }, { pages: 1 }]);
  });

  test("somebody has not counted yet → what the first reading met is still shown; once counted, it goes", async () => {
    const { scene, controlPlane, read } = startView();
    controlPlane.listed = operations(1, 400);
    scene.neededMs = createdMs(300);
    await read();
    const second = await read();
    expect([second.pages, shows(second, 300)]).toEqual([1, true]);
    scene.neededMs = createdMs(400);
    await read();
    expect(shows(await read(), 300)).toBe(false);
  });

  test("a resource comes whose log reaches back further than anybody's → one reading goes back to it", async () => {
    const { scene, controlPlane, read } = startView();
    controlPlane.listed = operations(1, 400);
    await read();
    scene.neededMs = createdMs(350);
    const deep = await read();
    expect([deep.pages, shows(deep, 350)]).toEqual([2, true]);
    expect(await read()).toMatchObject({ pages: 1 });
  });

  test("many operations while the service could not be read → all since the last count, not further", async () => {
    const { scene, controlPlane, gaps, read } = startView();
    controlPlane.listed = operations(1, 20);
    await read();
    scene.neededMs = createdMs(15);
    controlPlane.listed = operations(1, 60);
    const after = await read();
    expect([after.pages, shows(after, 16)]).toEqual([2, true]);
    expect(gaps).toEqual([]);
  });

  test("somebody never counts → what is kept for it has a bound, and what goes is said once", async () => {
    const { scene, controlPlane, gaps, read } = startView({ mostKept: 60, deepPageSize: 20 });
    scene.neededMs = createdMs(0);
    for (let last = 20; last <= 200; last += 20) {
      controlPlane.listed = operations(1, last);
      await read();
    }
    const { reading } = await read();
    expect(reading.operations.length).toBeLessThanOrEqual(60 + 20);
    expect(gaps.length).toBeGreaterThan(0);
    const spans = gaps.map(({ fromMs, untilMs }) => untilMs - fromMs);
    expect(Math.min(...spans), "each part is told of once").toBeGreaterThan(0);
  });

  test("long in flight, ended now, many newer ones → is shown as ended until the one who waits has counted", async () => {
    const { scene, controlPlane, read } = startView();
    const long = operation(1, { status: "running" });
    controlPlane.listed = [long];
    controlPlane.byId.set(long.id, long);
    await read();
    controlPlane.listed = [long, ...operations(2, 100)];
    scene.neededMs = createdMs(90);
    await read();
    const ended = { ...long, status: "failed", updatedTime: operation(100).createdTime };
    controlPlane.byId.set(long.id, ended);
    await read();
    expect((await read()).reading.operations.find(({ id }) => id === long.id)).toMatchObject({ status: "failed" });
  });
});

test("long in flight, ended now, more newer ones than are kept → is kept: whoever shows it is woken by its end", async () => {
  const { controlPlane, read } = startView();
  const long = operation(1, { status: "running" });
  controlPlane.listed = [long];
  controlPlane.byId.set(long.id, long);
  await read();
  controlPlane.listed = [long, ...operations(2, 60)];
  await read();
  controlPlane.byId.set(long.id, { ...long, status: "finished", updatedTime: operation(60).createdTime });
  await read();
  expect(shows(await read(), 1)).toBe(true);
});

describe("the newest operation that a list has shown", () => {
  test("none yet → undefined, also when an answer has named one", async () => {
    const { view, read } = startView();
    view.noteWrite(project, { endpoint: endpoint(), operations: [operation(7)] });
    expect((await read()).reading.newestListedTime).toBeUndefined();
  });

  test("an answer names a newer one → that of the list; a list that shows the past → does not go back", async () => {
    const { controlPlane, view, read } = startView();
    controlPlane.listed = operations(1, 5);
    view.noteWrite(project, { endpoint: endpoint(), operations: [operation(7)] });
    expect((await read()).reading.newestListedTime).toBe(operation(5).createdTime);
    controlPlane.listed = operations(1, 3);
    expect((await read()).reading.newestListedTime).toBe(operation(5).createdTime);
  });
});

test("a watched id that nobody can find, given up → is not asked for again by whoever still waits for it", async () => {
  const { controlPlane, view, read } = startView({ missingGraceMs: 0 });
  for (const _ of [1, 2, 3]) {
    view.watchOperation(project, "op-9");
    await read();
  }
  expect(controlPlane.countOf("getOperation")).toBe(1);
});
