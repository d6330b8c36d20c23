/** Tests the reader of the operation log. */
import { describe, expect, it } from "vitest";
import { ControlPlaneError } from "../../../src/domain/control-plane-error.ts";
import type { Operation } from "../../../src/domain/operation.ts";
import {
  type HistoryRange,
  type OperationsSnapshot,
  ProjectOperations,
  type ProjectOperationsOptions,
} from "../../../src/operations/reader.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { nowMs, project } from "../kinds/endpoint/builders.ts";
import { operation as operationAt } from "./log-builders.ts";

/** Makes the nth operation of the project, created in minute n. A higher number is a newer operation. */
const nth = (n: number, change: Partial<Operation> = {}) => operationAt(`op-${n}`, n * 60, change);
const many = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => nth(from + index));
const createdMs = (n: number) => nowMs + n * 60_000;
const idsOf = ({ operations }: OperationsSnapshot) => operations.map(({ id }) => id);
const newestFirst = (operations: readonly Operation[]) => [...operations].reverse().map(({ id }) => id);

/** Makes the operation history range of a resource whose watermark is at operation n. */
const range = (n: number, unfinishedIds: readonly string[] = []): HistoryRange => ({
  unfinishedIds,
  floorMs: createdMs(n),
});

/** A project's log, a control plane that pages it, and a reader. */
class Scene {
  readonly clock = new FakeClock();
  readonly gaps: unknown[] = [];
  readonly calls: string[] = [];
  readonly reader: ProjectOperations;
  /** The operations, oldest first. */
  listed: readonly Operation[] = [];
  readonly byId = new Map<string, Operation>();
  ranges: readonly HistoryRange[] = [];
  /** Calls that fail. */
  failing: RegExp | undefined;

  constructor(options: Partial<ProjectOperationsOptions> = {}) {
    const onGap = (gap: unknown) => void this.gaps.push(gap);
    this.reader = new ProjectOperations({ clock: this.clock, pageSize: 10, onGap, ...options });
  }

  async read(listed = this.listed): Promise<OperationsSnapshot> {
    this.listed = listed;
    this.calls.length = 0;
    return this.reader.read(this, project, this.ranges);
  }

  calledTo(verb: "list" | "get"): number {
    return this.calls.filter((call) => call.startsWith(verb)).length;
  }

  async listOperations(_projectId: string, { limit, cursor = "0" }: { limit: number; cursor?: string }) {
    this.#answer(`list ${cursor}`);
    const all = [...this.listed].reverse();
    const end = Number(cursor) + limit;
    const next = end < all.length ? `${end}` : undefined;
    return { operations: all.slice(Number(cursor), end), unreadableIds: [], cursor: next };
  }

  async getOperation(_projectId: string, id: string): Promise<Operation | undefined> {
    this.#answer(`get ${id}`);
    return this.byId.get(id);
  }

  #answer(call: string): void {
    this.calls.push(call);
    if (this.failing?.test(call) === true) {
      throw new ControlPlaneError("ServerError", "cannot", { effect: "NotApplied" });
    }
  }
}

describe("a first read", () => {
  const cases = [
    { name: "no resource looks back → one page", log: [1, 35], ranges: [], pages: 1, oldest: 26 },
    {
      name: "two floors → back to the lower one",
      log: [1, 400],
      ranges: [range(300), range(390)],
      pages: 3,
      oldest: 191,
    },
    { name: "a floor below the whole log → all of it", log: [1, 30], ranges: [range(-1_000)], pages: 2, oldest: 1 },
  ] as const;

  it.each(cases)("$name, newest first, without a gap", async ({ log: [from, to], ranges, pages, oldest }) => {
    const scene = new Scene();
    scene.ranges = ranges;
    expect(idsOf(await scene.read(many(from, to)))).toEqual(newestFirst(many(oldest, to)));
    expect([scene.calledTo("list"), scene.gaps]).toEqual([pages, []]);
  });

  it("a floor beyond the bound of pages → the gap is reported once, and not tried again", async () => {
    const scene = new Scene({ maxPages: 3 });
    scene.ranges = [range(100)];
    await scene.read(many(1, 400));
    await scene.read(many(1, 402));
    expect(scene.gaps).toEqual([{ fromMs: createdMs(100), untilMs: createdMs(191) + 10_000 }]);
    expect(scene.calledTo("list")).toBe(1);
  });
});

describe("later reads", () => {
  it("new operations → back to the first page that reaches what the read before has shown", async () => {
    const scene = new Scene();
    await scene.read(many(1, 12));
    await scene.read(many(1, 15));
    expect(scene.calledTo("list")).toBe(1);
    expect(idsOf(await scene.read(many(1, 45)))).toEqual(expect.arrayContaining(newestFirst(many(3, 45))));
    expect(scene.calledTo("list")).toBe(2);
  });

  it("the stored floors rise → what is below the lowest one is forgotten", async () => {
    const scene = new Scene();
    scene.ranges = [range(50)];
    await scene.read(many(1, 100));
    scene.ranges = [range(60), range(95)];
    await scene.read();
    expect(idsOf(await scene.read())).toEqual(newestFirst(many(61, 100)));
  });

  it("a page cannot be read → nothing of the run is used, and the next read goes back as far", async () => {
    const scene = new Scene();
    scene.ranges = [range(1)];
    scene.failing = /^list 10/;
    await expect(scene.read(many(1, 30))).rejects.toThrow("cannot");
    scene.failing = undefined;
    expect(idsOf(await scene.read())).toHaveLength(30);
  });

  it("a page holds nothing readable → the read goes on with the next one", async () => {
    const pages = [
      { operations: [], unreadableIds: ["bad"], cursor: "1" },
      { operations: [nth(1)], unreadableIds: [], cursor: undefined },
    ];
    const source = {
      listOperations: async (_projectId: string, { cursor = "0" }: { cursor?: string }) =>
        pages[Number(cursor)] ?? { operations: [], unreadableIds: [], cursor: undefined },
      getOperation: async () => undefined,
    };
    expect(idsOf(await new Scene().reader.read(source, project, []))).toEqual(["op-1"]);
  });
});

describe("asking by id", () => {
  it("an unfinished operation behind the pages → asked for until it has ended", async () => {
    const scene = new Scene();
    const running = nth(1, { status: "running" });
    await scene.read([running, ...many(2, 5)]);
    scene.byId.set(running.id, running);
    await scene.read([running, ...many(2, 12)]);
    expect(scene.calls).toContain("get op-1");
    scene.byId.set(running.id, { ...running, status: "failed" });
    expect((await scene.read()).byId.get("op-1")?.status).toBe("failed");
    await scene.read();
    expect(scene.calledTo("get")).toBe(0);
  });

  it("an answer to a write started it → in the next snapshot though the list lags; on the list it is not asked for", async () => {
    const scene = new Scene();
    const started = nth(7, { status: "running" });
    scene.reader.noteAnswer([started]);
    expect(idsOf(scene.reader.snapshot())).toEqual([started.id]);
    expect(idsOf(await scene.read())).toEqual([started.id]);
    await scene.read([started]);
    expect(scene.calledTo("get")).toBe(0);
  });

  it("one that never ends → asked for ever more rarely", async () => {
    const scene = new Scene();
    scene.byId.set("op-9", nth(9, { status: "running" }));
    scene.ranges = [range(0, ["op-9"])];
    let polls = 0;
    for (let n = 0; n < 120; n += 1) {
      await scene.read();
      polls += scene.calledTo("get");
      await scene.clock.advance(30_000);
    }
    expect(polls).toBeGreaterThan(20);
    expect(polls).toBeLessThan(60);
  });
});

describe("an operation that no read shows", () => {
  it.each([
    ["does not exist by id", undefined],
    ["cannot be read by id", /^get/],
  ])(
    "%s → waited for 60 s, then nothing waits for it; nothing else fails; a later read shows its end",
    async (_, failing) => {
      const scene = new Scene();
      scene.failing = failing;
      scene.reader.noteAnswer([nth(9, { status: "running" })]);
      const shown: number[] = [];
      for (let n = 0; n < 6; n += 1) {
        shown.push(idsOf(await scene.read()).length);
        await scene.clock.advance(20_000);
      }
      expect(shown).toEqual([1, 1, 1, 0, 0, 0]);
      scene.failing = undefined;
      scene.byId.set("op-9", nth(9, { status: "failed" }));
      await scene.clock.advance(600_000);
      expect(await scene.read()).toMatchObject({ operations: [{ status: "failed" }] });
    },
  );
});

describe("two reads of one operation", () => {
  const cases = [
    ["finished", "running", "finished"],
    ["finished", "failed", "finished"],
    ["failed", "running", "failed"],
    ["failed", "finished", "finished"],
    ["running", "failed", "failed"],
    ["running", "scheduling", "scheduling"],
  ] as const;

  it.each(cases)("%s, then %s → %s, whatever the time of change is", async (first, later, shown) => {
    for (const seconds of [-100, 0, 100]) {
      const scene = new Scene();
      await scene.read([nth(1, { status: first })]);
      const snapshot = await scene.read([nth(1, { status: later, updatedTime: nth(1 + seconds).createdTime })]);
      expect(snapshot.byId.get("op-1")).toMatchObject({ status: shown });
    }
  });
});
