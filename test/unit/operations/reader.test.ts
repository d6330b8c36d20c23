/** Tests the reader of the operation log. */
import { describe, expect, it } from "vitest";
import { ControlPlaneError } from "../../../src/domain/control-plane-error.ts";
import type { Operation } from "../../../src/domain/operation.ts";
import {
  type OperationLogGap,
  ProjectOperations,
  type ProjectOperationsOptions,
} from "../../../src/operations/reader.ts";
import type { OperationsSnapshot } from "../../../src/operations/snapshot.ts";
import type { HistoryRange } from "../../../src/operations/watermark.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { nowMs, operation as operationAt, project } from "./log-builders.ts";

/** Makes the nth operation of the project, created in minute n. A higher number is a newer operation. */
const nth = (n: number, change: Partial<Operation> = {}) => operationAt(`op-${n}`, n * 60, change);
const many = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => nth(from + index));
const createdMs = (n: number) => nowMs + n * 60_000;
const idsOf = ({ operations }: OperationsSnapshot) => operations.map(({ id }) => id);
const newestFirst = (operations: readonly Operation[]) => [...operations].reverse().map(({ id }) => id);

/** Makes the operation history range of a resource whose watermark is at operation n. */
const range = (n: number, uid = "uid-a", unfinishedIds: readonly string[] = []): HistoryRange => ({
  ...{ uid, unfinishedIds, floorMs: createdMs(n) },
});

/** A project's log, a control plane that pages it, and a reader. */
class Scene {
  readonly clock = new FakeClock();
  readonly gaps: OperationLogGap[] = [];
  readonly lost: string[] = [];
  readonly calls: string[] = [];
  readonly reader: ProjectOperations;
  /** The operations, oldest first. */
  listed: readonly Operation[] = [];
  readonly byId = new Map<string, Operation>();
  ranges: readonly HistoryRange[] = [];
  beforeAnswer: (call: string) => void = () => {};

  constructor(options: Partial<ProjectOperationsOptions> = {}) {
    this.reader = new ProjectOperations({
      ...{ clock: this.clock, pageSize: 10, deepPageSize: 50 },
      onGap: (gap) => void this.gaps.push(gap),
      onLost: (id) => void this.lost.push(id),
      ...options,
    });
  }

  async read(): Promise<OperationsSnapshot> {
    this.calls.length = 0;
    return this.reader.read(this, { projectId: project, ranges: this.ranges });
  }

  /** Reads the log, and notes that every resource has used the snapshot. */
  async reduce(): Promise<OperationsSnapshot> {
    const snapshot = await this.read();
    for (const { uid } of this.ranges) this.reader.noteUsed(uid, snapshot.newestListedMs);
    return snapshot;
  }

  get pages(): number {
    return this.calls.filter((call) => call.startsWith("list")).length;
  }

  get polls(): number {
    return this.calls.filter((call) => call.startsWith("get")).length;
  }

  async listOperations(_projectId: string, { limit, cursor = "0" }: { limit: number; cursor?: string }) {
    this.#answer(`list ${cursor}`);
    const all = [...this.listed].reverse();
    const end = Number(cursor) + limit;
    const next = end < all.length ? `${end}` : undefined;
    return { operations: all.slice(Number(cursor), end), unreadableIds: this.unreadableIds, cursor: next };
  }

  unreadableIds: readonly string[] = [];

  async getOperation(_projectId: string, id: string): Promise<Operation | undefined> {
    this.#answer(`get ${id}`);
    return this.byId.get(id);
  }

  #answer(call: string): void {
    this.calls.push(call);
    this.beforeAnswer(call);
  }
}

const failing = (pattern: RegExp) => (call: string) => {
  if (pattern.test(call)) throw new ControlPlaneError("ServerError", "cannot", { effect: "NotApplied" });
};

describe("a first read", () => {
  it("no resource looks back → one page, newest first", async () => {
    const scene = new Scene();
    scene.listed = many(1, 35);
    expect(idsOf(await scene.read())).toEqual(newestFirst(many(26, 35)));
    expect(scene.pages).toBe(1);
  });
  it("a watermark lies far back → goes back to it in few pages that grow, and no further", async () => {
    const scene = new Scene();
    scene.listed = many(1, 400);
    scene.ranges = [range(300), range(390, "uid-b")];
    const ids = idsOf(await scene.read());
    expect([scene.pages, ids.includes("op-300"), ids.includes("op-250")]).toEqual([4, true, false]);
    expect(scene.gaps).toEqual([]);
  });
  it("a watermark older than the whole log → ends with the list, nothing is missing", async () => {
    const scene = new Scene();
    scene.listed = many(1, 30);
    scene.ranges = [range(-1_000)];
    expect(idsOf(await scene.read())).toHaveLength(30);
    expect(scene.gaps).toEqual([]);
  });

  it("a watermark beyond the bound of pages → reports the gap once, and does not try again", async () => {
    const scene = new Scene({ maxPages: 3 });
    scene.listed = many(1, 400);
    scene.ranges = [range(100)];
    await scene.reduce();
    expect(scene.gaps).toEqual([{ fromMs: createdMs(100), untilMs: createdMs(301) + 10_000 }]);
    scene.listed = many(1, 402);
    await scene.reduce();
    expect([scene.pages, scene.gaps.length]).toEqual([1, 1]);
    expect(idsOf(await scene.reduce()).length).toBeLessThanOrEqual(20 + 10);
  });
});

describe("later reads", () => {
  it("at rest → one page each, however far back the first one went", async () => {
    const scene = new Scene();
    scene.listed = many(1, 400);
    scene.ranges = [range(100)];
    await scene.reduce();
    for (let n = 0; n < 3; n += 1) {
      await scene.clock.advance(30_000);
      await scene.reduce();
      expect(scene.pages).toBe(1);
    }
  });

  it("new operations → back to the first page that reaches what the read before has shown", async () => {
    const scene = new Scene();
    scene.listed = many(1, 12);
    await scene.read();
    scene.listed = many(1, 15);
    await scene.read();
    expect(scene.pages).toBe(1);
    scene.listed = many(1, 45);
    expect(idsOf(await scene.read())).toEqual(expect.arrayContaining(newestFirst(many(3, 45))));
    expect(scene.pages).toBe(2);
  });

  it("more new operations than the bound of pages → a gap, reported once", async () => {
    const scene = new Scene({ maxPages: 2 });
    scene.listed = many(1, 5);
    scene.ranges = [range(0)];
    await scene.reduce();
    scene.listed = many(1, 500);
    await scene.reduce();
    await scene.reduce();
    expect(scene.gaps).toEqual([{ fromMs: createdMs(5), untilMs: createdMs(451) + 10_000 }]);
  });
  it("one of two resources has used it → is kept for the other", async () => {
    const scene = new Scene();
    scene.listed = many(1, 100);
    scene.ranges = [range(50), range(60, "uid-b")];
    await scene.read();
    scene.reader.noteUsed("uid-a", createdMs(100));
    expect(idsOf(await scene.read())).toEqual(expect.arrayContaining(newestFirst(many(60, 100))));
  });
});

describe("asking by id", () => {
  it("an unfinished operation behind the pages → asked for until it has ended", async () => {
    const scene = new Scene();
    const running = nth(1, { status: "running" });
    scene.listed = [running, ...many(2, 5)];
    await scene.read();
    scene.listed = [running, ...many(2, 12)];
    scene.byId.set(running.id, running);
    await scene.read();
    expect(scene.calls).toContain("get op-1");
    scene.byId.set(running.id, { ...running, status: "failed" });
    expect((await scene.read()).byId.get("op-1")?.status).toBe("failed");
    await scene.read();
    expect(scene.polls).toBe(0);
  });

  it("an answer to a write started it → in the next snapshot though the list lags; on the list it is not asked for", async () => {
    const scene = new Scene();
    const started = nth(7, { status: "running" });
    scene.reader.noteAnswer([started]);
    expect(idsOf(await scene.read())).toEqual([started.id]);
    scene.listed = [started];
    await scene.read();
    expect(scene.polls).toBe(0);
  });

  it("in flight for an hour → asked for every few minutes only", async () => {
    const scene = new Scene();
    scene.byId.set("op-9", nth(9, { status: "running" }));
    scene.reader.expect("op-9");
    let polls = 0;
    for (let n = 0; n < 120; n += 1) {
      await scene.read();
      polls += scene.polls;
      await scene.clock.advance(30_000);
    }
    expect(polls).toBeGreaterThan(20);
    expect(polls).toBeLessThan(60);
  });

  it("many → a bounded number in each read, all of them within three reads", async () => {
    const scene = new Scene({ maxPolls: 4 });
    for (const each of many(1, 10)) {
      scene.reader.expect(each.id);
      scene.byId.set(each.id, { ...each, status: "running" });
    }
    for (let n = 0; n < 3; n += 1) {
      await scene.read();
      expect(scene.polls).toBe(4);
    }
    expect(idsOf(await scene.read())).toHaveLength(10);
  });
});

describe("an operation that no read shows", () => {
  const lostAfter = async (scene: Scene) => {
    scene.reader.noteAnswer([nth(9, { status: "running" })]);
    const snapshots: OperationsSnapshot[] = [];
    for (let n = 0; n < 6; n += 1) {
      snapshots.push(await scene.read());
      await scene.clock.advance(20_000);
    }
    return snapshots;
  };

  it("does not exist by id → waited for 60 s, reported once, then nothing waits for it", async () => {
    const scene = new Scene();
    const snapshots = await lostAfter(scene);
    expect(snapshots.map((each) => idsOf(each).length)).toEqual([1, 1, 1, 0, 0, 0]);
    expect(scene.lost).toEqual(["op-9"]);
    scene.ranges = [range(0, "uid-a", ["op-9"])];
    await scene.read();
    expect([scene.lost, idsOf(await scene.read())]).toEqual([["op-9"], []]);
  });

  it("its read by id answers 500 → nothing else fails; after 60 s nothing waits for it; when it works, its end is shown", async () => {
    const scene = new Scene();
    scene.beforeAnswer = failing(/^get/);
    const snapshots = await lostAfter(scene);
    expect(snapshots.map((each) => idsOf(each).length)).toEqual([1, 1, 1, 0, 0, 0]);
    expect(scene.lost).toEqual(["op-9"]);
    scene.beforeAnswer = () => {};
    scene.byId.set("op-9", nth(9, { status: "failed" }));
    await scene.clock.advance(600_000);
    expect(await scene.read()).toMatchObject({ operations: [{ status: "failed" }] });
  });
  it("a page holds nothing readable → the read goes on with the next one", async () => {
    const scene = new Scene();
    const pages = [
      { operations: [], unreadableIds: ["bad"], cursor: "1" },
      { operations: [nth(1)], unreadableIds: [], cursor: undefined },
    ];
    const source = {
      listOperations: async (_projectId: string, { cursor = "0" }: { cursor?: string }) =>
        pages[Number(cursor)] ?? { operations: [], unreadableIds: [], cursor: undefined },
      getOperation: async () => undefined,
    };
    const snapshot = await scene.reader.read(source, { projectId: project, ranges: [] });
    expect(idsOf(snapshot)).toEqual(["op-1"]);
  });
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
  const times = [-100, 0, 100].flatMap((seconds) => cases.map((each) => [...each, seconds] as const));

  it.each(times)("%s, then %s → %s; the time of the later one is %i s off", async (first, later, shown, seconds) => {
    const scene = new Scene();
    scene.listed = [nth(1, { status: first })];
    await scene.read();
    scene.listed = [nth(1, { status: later, updatedTime: nth(1 + seconds).createdTime })];
    expect((await scene.read()).byId.get("op-1")).toMatchObject({ status: shown });
  });
});
