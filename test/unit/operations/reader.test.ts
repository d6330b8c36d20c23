/** Tests the reader of the operation log. */
import { describe, expect, it } from "vitest";
import { ControlPlaneError } from "../../../src/domain/control-plane-error.ts";
import type { Operation } from "../../../src/domain/operation.ts";
import type { OperationsSnapshot } from "../../../src/operations/known-operations.ts";
import {
  type OperationLogGap,
  ProjectOperations,
  type ProjectOperationsOptions,
} from "../../../src/operations/reader.ts";
import type { HistoryRange } from "../../../src/operations/watermark.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { nowMs, operation as operationAt, project } from "./log-builders.ts";

/** Makes the nth operation of the project, created at second n. A higher number is a newer operation. */
const nth = (n: number, change: Partial<Operation> = {}) => operationAt(`op-${n}`, n, change);
const many = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => nth(from + index));
const createdMs = (n: number) => nowMs + n * 1_000;
const idsOf = ({ operations }: OperationsSnapshot) => operations.map(({ id }) => id);
const newestFirst = (operations: readonly Operation[]) => [...operations].reverse().map(({ id }) => id);

/** Makes the operation history range of a resource whose watermark is at operation n. */
const range = (n: number, uid = "uid-a", unfinishedIds: readonly string[] = []): HistoryRange => ({
  ...{ uid, unfinishedIds, sinceMs: createdMs(n), certainMs: createdMs(n) },
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
  serviceTimeMs: number | undefined;
  beforeAnswer: (call: string) => void = () => {};

  constructor(options: Partial<ProjectOperationsOptions> = {}) {
    this.reader = new ProjectOperations({
      ...{ clock: this.clock, pageSize: 10, deepPageSize: 50, windowSize: 20 },
      onGap: (gap) => void this.gaps.push(gap),
      onLost: (id) => void this.lost.push(id),
      ...options,
    });
  }

  async read(): Promise<OperationsSnapshot> {
    this.calls.length = 0;
    const { ranges, serviceTimeMs } = this;
    return this.reader.read(this, { projectId: project, ranges, serviceTimeMs });
  }

  /** Reads the log, and notes that every resource has used the snapshot. */
  async reduce(): Promise<OperationsSnapshot> {
    const snapshot = await this.read();
    for (const each of this.ranges) this.reader.noteUsed(each, snapshot);
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

  it("its oldest operation is unfinished → further pages until one is not", async () => {
    const scene = new Scene();
    scene.listed = many(1, 35).map((each) => (each.id === "op-26" ? { ...each, status: "running" } : each));
    await scene.read();
    expect(scene.pages).toBe(2);
  });

  it("a watermark lies far back → goes back to it in few pages that grow, and no further", async () => {
    const scene = new Scene();
    scene.listed = many(1, 400);
    scene.ranges = [range(300), range(390, "uid-b")];
    const ids = idsOf(await scene.read());
    expect([scene.pages, ids.includes("op-300"), ids.includes("op-250")]).toEqual([4, true, false]);
    expect(scene.gaps).toEqual([]);
  });

  it("an operation of the watermark's very moment → is shown, its sibling may not have been", async () => {
    const scene = new Scene();
    scene.listed = [...many(1, 30), { ...nth(30), id: "op-twin" }, ...many(31, 39)];
    scene.ranges = [range(30)];
    expect(idsOf(await scene.read())).toEqual(expect.arrayContaining(["op-30", "op-twin"]));
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
    expect(scene.gaps).toEqual([{ fromMs: createdMs(100), untilMs: createdMs(301) + 1 }]);
    scene.listed = many(1, 402);
    await scene.reduce();
    expect([scene.pages, scene.gaps.length]).toEqual([1, 1]);
    expect(idsOf(await scene.reduce()).length).toBeLessThanOrEqual(20 + 10);
  });

  it("only the part that allows for a clock that stepped back is beyond the bound → no gap", async () => {
    const scene = new Scene({ maxPages: 3 });
    scene.listed = many(1, 400);
    scene.ranges = [{ ...range(100), certainMs: createdMs(390) }];
    await scene.reduce();
    expect(scene.gaps).toEqual([]);
  });

  it("the list has no end → stops at the bound of pages", async () => {
    const scene = new Scene({ maxPages: 4 });
    const endless = {
      getOperation: async () => undefined,
      listOperations: async (_projectId: string, { cursor = "0" }: { cursor?: string }) => {
        scene.calls.push("list");
        return { operations: [nth(0)], unreadableIds: [], cursor: `${Number(cursor) + 1}` };
      },
    };
    await scene.reader.read(endless, { projectId: project, ranges: [range(-9)], serviceTimeMs: undefined });
    expect(scene.pages).toBe(4);
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
      scene.serviceTimeMs = createdMs(500 + n * 30);
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

  it("the first list was empty, then many at once → all of them are read", async () => {
    const scene = new Scene();
    await scene.read();
    scene.listed = many(1, 25);
    expect(idsOf(await scene.read())).toHaveLength(25);
  });

  it("a read fails between two pages → leaves no gap in the next one", async () => {
    const scene = new Scene();
    scene.listed = many(1, 5);
    await scene.read();
    scene.listed = many(1, 60);
    scene.beforeAnswer = failing(/^list 10$/);
    await expect(scene.read()).rejects.toThrow("cannot");
    scene.beforeAnswer = () => {};
    expect(idsOf(await scene.read())).toHaveLength(60);
  });

  it("an answer named an operation newer than all that is known → the list is still read back", async () => {
    const scene = new Scene();
    scene.listed = many(1, 5);
    await scene.read();
    scene.listed = many(1, 45);
    scene.reader.noteAnswer([nth(45)]);
    expect(idsOf(await scene.read())).toHaveLength(45);
  });

  it("more new operations than the bound of pages → a gap, reported once", async () => {
    const scene = new Scene({ maxPages: 2 });
    scene.listed = many(1, 5);
    scene.ranges = [range(0)];
    await scene.reduce();
    scene.listed = many(1, 500);
    await scene.reduce();
    await scene.reduce();
    expect(scene.gaps).toEqual([{ fromMs: createdMs(5), untilMs: createdMs(451) + 1 }]);
  });

  it("a resource with an older watermark comes → one read goes back to it", async () => {
    const scene = new Scene();
    scene.listed = many(1, 400);
    await scene.reduce();
    scene.ranges = [range(370)];
    expect(idsOf(await scene.reduce())).toContain("op-370");
    await scene.reduce();
    expect(scene.pages).toBe(1);
  });

  it("a resource's watermark goes back, as after a restored backup → one read goes back to it", async () => {
    const scene = new Scene();
    scene.listed = many(1, 400);
    scene.ranges = [range(395)];
    await scene.reduce();
    scene.ranges = [range(370)];
    expect(idsOf(await scene.reduce())).toContain("op-370");
  });

  it("an operation dated ahead stands first → new ones beyond the first page are still read", async () => {
    const scene = new Scene();
    const ahead = nth(1_000_000);
    scene.listed = [...many(1, 30), ahead];
    await scene.read();
    scene.listed = [...many(1, 45), ahead];
    expect(idsOf(await scene.read())).toEqual(expect.arrayContaining(newestFirst(many(31, 45))));
  });

  it("an operation dated ahead has left the memory → the snapshot does not claim to begin with it", async () => {
    const scene = new Scene({ windowSize: 10 });
    for (let last = 10; last <= 40; last += 10) {
      scene.listed = [...many(1, last), nth(1_000_000)];
      await scene.read();
    }
    expect((await scene.read()).reachMs).toBeLessThanOrEqual(createdMs(40));
  });

  it("the clock steps back by an hour → what is new is read, though it stands far below the first page", async () => {
    const scene = new Scene();
    scene.listed = many(3_500, 3_600);
    scene.serviceTimeMs = createdMs(3_600);
    await scene.read();
    await scene.clock.advance(30_000);
    await scene.read();
    await scene.clock.advance(30_000);
    scene.serviceTimeMs = createdMs(15);
    scene.listed = [nth(5), nth(10), ...many(3_500, 3_600)];
    expect(idsOf(await scene.read())).toEqual(expect.arrayContaining(["op-5", "op-10"]));
  });
});

describe("what is kept", () => {
  it("a resource has not used it yet → is shown again; once used, the window alone", async () => {
    const scene = new Scene();
    scene.listed = many(1, 400);
    scene.ranges = [range(300)];
    await scene.read();
    expect(idsOf(await scene.reduce())).toContain("op-300");
    expect(idsOf(await scene.reduce()).length).toBeLessThanOrEqual(20 + 10);
  });

  it("one of two resources has used it → is kept for the other", async () => {
    const scene = new Scene();
    scene.listed = many(1, 100);
    scene.ranges = [range(50), range(60, "uid-b")];
    const first = await scene.read();
    scene.reader.noteUsed(range(50), first);
    expect(idsOf(await scene.read())).toEqual(expect.arrayContaining(newestFirst(many(60, 100))));
  });

  it("long in flight, ended now, many newer ones → is shown as ended until the resource has used it", async () => {
    const scene = new Scene();
    const long = nth(1, { status: "running" });
    scene.byId.set(long.id, long);
    scene.listed = [long, ...many(2, 100)];
    scene.ranges = [range(0)];
    await scene.reduce();
    await scene.reduce();
    scene.byId.set(long.id, { ...long, status: "failed" });
    await scene.read();
    scene.listed = [long, ...many(2, 130)];
    expect((await scene.read()).byId.get(long.id)?.status).toBe("failed");
  });

  it("a resource never reduces → a bound, and what goes is reported as a gap", async () => {
    const scene = new Scene({ mostKept: 60 });
    scene.ranges = [range(0)];
    await scene.reduce();
    for (let last = 20; last <= 200; last += 20) {
      scene.listed = many(1, last);
      expect(idsOf(await scene.read()).length).toBeLessThanOrEqual(60 + 50);
    }
    expect(scene.gaps.length).toBeGreaterThan(0);
  });

  it("a long life → the window and everything unfinished", async () => {
    const scene = new Scene();
    const running = nth(0, { status: "running" });
    scene.byId.set(running.id, running);
    for (let last = 8; last <= 80; last += 8) {
      scene.listed = [running, ...many(1, last)];
      await scene.read();
    }
    const snapshot = await scene.read();
    expect(idsOf(snapshot)).toContain("op-0");
    expect(snapshot.operations.length).toBeLessThanOrEqual(20 + 10 + 1);
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

  it("a watermark waits for it → asked for until it has ended", async () => {
    const scene = new Scene();
    scene.ranges = [range(0, "uid-a", ["op-9"])];
    scene.byId.set("op-9", nth(9, { status: "scheduling" }));
    expect(await scene.read()).toMatchObject({ operations: [{ id: "op-9", status: "scheduling" }] });
    scene.byId.set("op-9", nth(9));
    expect(await scene.read()).toMatchObject({ operations: [{ status: "finished" }] });
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

  it("an unknown status → shown, and not asked for", async () => {
    const scene = new Scene({ pageSize: 2, windowSize: 2 });
    scene.listed = [nth(1, { status: "pondering" })];
    await scene.read();
    scene.listed = [...scene.listed, ...many(2, 3)];
    expect(idsOf(await scene.read())).toContain("op-1");
    expect(scene.polls).toBe(0);
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

  it("does not exist by id → waited for 60 s, reported once, then it is gone", async () => {
    const scene = new Scene();
    const snapshots = await lostAfter(scene);
    expect(snapshots.map((each) => idsOf(each).length)).toEqual([1, 1, 1, 0, 0, 0]);
    expect(scene.lost).toEqual(["op-9"]);
    scene.ranges = [range(0, "uid-a", ["op-9"])];
    await scene.read();
    expect(scene.polls).toBe(0);
  });

  it("its read by id answers 500 → nothing else fails; after 60 s nothing waits for it, and it still is no absence", async () => {
    const scene = new Scene();
    scene.beforeAnswer = failing(/^get/);
    const snapshots = await lostAfter(scene);
    expect(snapshots.map(({ lostIds }) => lostIds.size)).toEqual([0, 0, 0, 1, 1, 1]);
    expect(snapshots.map(({ unreadableIds }) => unreadableIds)).toEqual(Array(6).fill(["op-9"]));
    expect(idsOf(snapshots[5] as OperationsSnapshot)).toEqual(["op-9"]);
    expect(scene.lost).toEqual(["op-9"]);
  });

  it("its read works again → is shown with its end", async () => {
    const scene = new Scene();
    scene.beforeAnswer = failing(/^get/);
    await lostAfter(scene);
    scene.beforeAnswer = () => {};
    scene.byId.set("op-9", nth(9, { status: "failed" }));
    await scene.clock.advance(600_000);
    expect(await scene.read()).toMatchObject({ operations: [{ status: "failed" }], unreadableIds: [] });
  });

  it("only its id is known and its read fails → named as unseen, for status keeps showing it", async () => {
    const scene = new Scene();
    scene.beforeAnswer = failing(/^get/);
    scene.reader.expect("op-9");
    expect([...(await scene.read()).unseenIds]).toEqual(["op-9"]);
  });

  it("a list shows it after all → is known again, and asked for when it leaves the page", async () => {
    const scene = new Scene({ pageSize: 1 });
    await lostAfter(scene);
    scene.listed = [nth(9, { status: "running" })];
    await scene.read();
    scene.listed = [...scene.listed, ...many(10, 11)];
    await scene.read();
    await scene.read();
    expect(scene.calls).toContain("get op-9");
  });

  it("a list entry cannot be read → the others are shown, and its id is reported", async () => {
    const scene = new Scene();
    scene.listed = many(1, 3);
    scene.unreadableIds = ["op-bad", ""];
    expect(await scene.read()).toMatchObject({ operations: [{}, {}, {}], unreadableIds: ["op-bad"] });
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
    const snapshot = await scene.reader.read(source, { projectId: project, ranges: [], serviceTimeMs: undefined });
    expect(idsOf(snapshot)).toEqual(["op-1"]);
  });
});

describe("two answers that differ", () => {
  const seenOf = async (scene: Scene, listed: Operation) => {
    scene.listed = [listed];
    return (await scene.read()).byId.get("op-1");
  };

  it.each([-100, 100])("ended, then in flight with a time %i s off → stays ended", async (seconds) => {
    const scene = new Scene();
    await seenOf(scene, nth(1));
    const running = nth(1, { status: "running", updatedTime: nth(1 + seconds).createdTime });
    await scene.clock.advance(60_000);
    expect(await seenOf(scene, running)).toMatchObject({ status: "finished" });
  });

  it.each([-100, 100])("in flight, then ended with a time %i s off → has ended at once", async (seconds) => {
    const scene = new Scene();
    await seenOf(scene, nth(1, { status: "running" }));
    const ended = nth(1, { status: "failed", updatedTime: nth(1 + seconds).createdTime });
    expect(await seenOf(scene, ended)).toMatchObject({ status: "failed" });
  });

  it("failed, then finished with an earlier time → ignored for 30 s, then believed", async () => {
    const scene = new Scene();
    await seenOf(scene, nth(1, { status: "failed" }));
    const retried = nth(1, { updatedTime: nth(-9).createdTime });
    await scene.clock.advance(29_000);
    expect(await seenOf(scene, retried)).toMatchObject({ status: "failed" });
    await scene.clock.advance(1_000);
    expect(await seenOf(scene, retried)).toMatchObject({ status: "finished" });
  });
});

describe("the newest operation that a list has shown", () => {
  it("none yet → undefined, also when an answer has named one", async () => {
    const scene = new Scene();
    scene.reader.noteAnswer([nth(7)]);
    expect((await scene.read()).newestListedTime).toBeUndefined();
  });

  it("an answer names a newer one → that of the list; a list that lags → does not go back", async () => {
    const scene = new Scene();
    scene.listed = many(1, 5);
    scene.reader.noteAnswer([nth(7)]);
    expect((await scene.read()).newestListedTime).toBe(nth(5).createdTime);
    scene.listed = many(1, 3);
    expect((await scene.read()).newestListedTime).toBe(nth(5).createdTime);
  });
});
