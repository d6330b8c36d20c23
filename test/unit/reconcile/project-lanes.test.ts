import { beforeEach, describe, expect, it } from "vitest";
import type { Operation } from "../../../src/domain/operation.ts";
import type { ProjectReading } from "../../../src/domain/project-view.ts";
import type { ResourceKey } from "../../../src/domain/resource-store.ts";
import { ProjectLanes } from "../../../src/reconcile/project-lanes.ts";
import { FakeClock } from "../../support/fake-clock.ts";

let clock: FakeClock;
let woken: string[];
let lanes: ProjectLanes;

beforeEach(() => {
  clock = new FakeClock();
  woken = [];
  lanes = new ProjectLanes({ clock, wake: ({ name }: ResourceKey) => void woken.push(name) });
});

const entrant = (uid: string, isDeletion = false, projectId = "p") => ({
  key: { namespace: "shop", name: uid },
  uid,
  projectId,
  isDeletion,
});

function operation(id: string, change: Partial<Operation> = {}): Operation {
  const time = new Date(clock.nowMs()).toISOString();
  return {
    id,
    projectId: "p",
    branchId: "b",
    endpointId: "e",
    action: "apply_config",
    status: "running",
    failuresCount: 0,
    createdTime: time,
    updatedTime: time,
    totalDurationMs: undefined,
    error: undefined,
    ...change,
  };
}

const reading = (...operations: readonly Operation[]): ProjectReading => ({
  projectId: "p",
  asOfMs: clock.monotonicMs(),
  endpoints: [],
  unreadableEndpointIds: [],
  operations,
  newestListedTime: undefined,
  echoesNames: false,
});

const enter = (uid: string, isDeletion = false, seen = reading()) => lanes.enter(entrant(uid, isDeletion), seen).kind;

describe("one change in flight per project", () => {
  it("free → granted; the next one waits", () => {
    expect(enter("a")).toBe("Granted");
    expect(enter("b")).toBe("Queued");
  });

  it("another project → is free", () => {
    enter("a");
    expect(lanes.enter(entrant("b", false, "q"), { ...reading(), projectId: "q" }).kind).toBe("Granted");
  });

  it("the holder asks again before it sent anything → still granted", () => {
    enter("a");
    enter("b");
    expect(enter("a")).toBe("Granted");
  });

  it("somebody else's operation locks the project → queued", () => {
    expect(enter("a", false, reading(operation("o")))).toBe("Queued");
  });

  it("an availability check runs → granted: it holds no lock", () => {
    expect(enter("a", false, reading(operation("o", { action: "check_availability" })))).toBe("Granted");
  });

  it("an operation in a status nobody knows → granted: it is never waited for", () => {
    expect(enter("a", false, reading(operation("o", { status: "levitating" })))).toBe("Granted");
  });

  it("an operation that seems never to end → after ten minutes the service itself is asked", async () => {
    const stuck = operation("o");
    await clock.advance(10 * 60_000 - 1);
    expect(enter("a", true, reading(stuck))).toBe("Queued");
    await clock.advance(1);
    expect(enter("a", true, reading(stuck))).toBe("Granted");
  });
});

describe("the queue", () => {
  it("first come, first served", async () => {
    enter("a");
    enter("c");
    await clock.advance(1);
    enter("b");
    lanes.leave("p", "a", []);
    expect(woken).toEqual(["c"]);
    expect(enter("b")).toBe("Queued");
    expect(enter("c")).toBe("Granted");
  });

  it("deletions first", async () => {
    enter("a");
    enter("b");
    await clock.advance(1);
    enter("c", true);
    lanes.leave("p", "a", []);
    expect(woken).toEqual(["c"]);
    expect(enter("b")).toBe("Queued");
    expect(enter("c", true)).toBe("Granted");
  });

  it("one that waits becomes a deletion → comes first, with the time it has waited", async () => {
    enter("a");
    enter("b");
    await clock.advance(1_000);
    enter("c");
    enter("c", true);
    await clock.advance(1_000);
    expect(lanes.enter(entrant("c", true), reading())).toMatchObject({ waitedMs: 1_000, isFirst: true });
    lanes.leave("p", "a", []);
    expect(woken).toEqual(["c"]);
  });

  it("waiting → says for how long, and who is first", async () => {
    enter("a");
    enter("b");
    enter("c");
    await clock.advance(3_000);
    const waited = { kind: "Queued", waitedMs: 3_000, stillMs: 3_000 };
    expect(lanes.enter(entrant("b"), reading())).toEqual({ ...waited, isFirst: true });
    expect(lanes.enter(entrant("c"), reading())).toEqual({ ...waited, isFirst: false });
  });

  it("turns that come and go meanwhile → the wait goes on, and it is no still one", async () => {
    enter("a");
    enter("b");
    enter("c");
    await clock.advance(3_000);
    lanes.leave("p", "a", []);
    await clock.advance(1_000);
    expect(lanes.enter(entrant("c"), reading())).toMatchObject({ waitedMs: 4_000, stillMs: 1_000 });
    enter("b");
    await clock.advance(2_000);
    expect(lanes.enter(entrant("c"), reading())).toMatchObject({ waitedMs: 6_000, stillMs: 3_000 });
  });

  it("turned away by the service again and again → that is no turn that ended", async () => {
    enter("a");
    await clock.advance(1);
    enter("b");
    await clock.advance(3_000);
    lanes.close("p", "a", 0);
    expect(enter("a")).toBe("Granted");
    await clock.advance(1_000);
    expect(lanes.enter(entrant("b"), reading())).toMatchObject({ stillMs: 4_000 });
  });

  it.each([
    ["the holder has", ["a", "b"]],
    ["the first who waits has", ["a", "gone", "b"]],
  ])("%s not asked for a minute → an outlook is what entering then finds", async (_who, names) => {
    for (const name of names) {
      enter(name);
      await clock.advance(1);
    }
    if (names.includes("gone")) lanes.leave("p", "a", []);
    await clock.advance(60_000);
    const before = [lanes.outlook("p", "b", reading()), lanes.outlook("p", "b", reading())];
    expect([...before, enter("b")]).toEqual(["Free", "Free", "Granted"]);
  });

  it("an outlook → what stands in the way, and asking for it takes no place", async () => {
    const outlook = (name: string, seen = reading()) => lanes.outlook("p", entrant(name).uid, seen);
    expect(outlook("a")).toBe("Free");
    expect(outlook("a", reading(operation("op-0")))).toBe("Locked");
    enter("a");
    expect([outlook("a"), outlook("b")]).toEqual(["Free", "Next"]);
    enter("b");
    expect([outlook("b"), outlook("c")]).toEqual(["Next", "Behind"]);
    lanes.leave("p", "a", ["op-1"]);
    expect([outlook("a"), outlook("b")]).toEqual(["Behind", "Next"]);
    lanes.withdraw("p", "b");
    expect(enter("c")).toBe("Queued");
  });

  it("one that has not asked for a minute → is forgotten", async () => {
    enter("a");
    enter("gone");
    await clock.advance(1);
    enter("b");
    lanes.leave("p", "a", []);
    await clock.advance(60_001);
    expect(enter("b")).toBe("Granted");
  });

  it("a holder that never sent anything → is forgotten after a minute", async () => {
    enter("gone");
    await clock.advance(60_001);
    expect(enter("b")).toBe("Granted");
  });

  it("a waiting one withdraws → the next is first", () => {
    enter("a");
    enter("b");
    enter("c");
    lanes.withdraw("p", "b");
    lanes.leave("p", "a", []);
    expect(woken).toEqual(["c"]);
  });

  it("the first withdraws from a free lane → the next is told", () => {
    enter("a");
    enter("b");
    lanes.leave("p", "a", []);
    woken.length = 0;
    enter("c");
    lanes.withdraw("p", "b");
    expect(woken).toEqual(["c"]);
  });
});

describe("operations of the change", () => {
  it("run → the lane is held until they have ended, then the next is woken", async () => {
    enter("a");
    lanes.leave("p", "a", ["o1", "o2"]);
    enter("b");
    await clock.advance(1_000);
    lanes.observe(reading(operation("o1", { status: "finished" }), operation("o2")));
    expect(woken).toEqual([]);
    expect(enter("a")).toBe("Queued");
    lanes.observe(reading(operation("o1", { status: "finished" }), operation("o2", { status: "failed" })));
    expect(woken).toEqual(["b"]);
    expect(enter("b")).toBe("Granted");
  });

  it("are not in a reading from before the change → prove nothing", async () => {
    const before = reading();
    await clock.advance(10);
    enter("a");
    lanes.leave("p", "a", ["o1"]);
    enter("b");
    lanes.observe(before);
    expect(woken).toEqual([]);
  });

  it("never end → the lane is free after ten minutes", async () => {
    enter("a");
    lanes.leave("p", "a", ["o1"]);
    enter("b");
    await clock.advance(10 * 60_000 + 1);
    lanes.observe(reading(operation("o1")));
    expect(woken).toEqual(["b"]);
  });

  it("the resource wants nothing more → they hold the lane all the same", () => {
    enter("a");
    lanes.leave("p", "a", ["o1"]);
    lanes.withdraw("p", "a");
    expect(enter("b")).toBe("Queued");
  });
});

describe("a resource that is gone", () => {
  const abandonGone = (name: string, liveUid?: string) => lanes.abandonGone({ namespace: "shop", name }, liveUid);

  it("waited → loses its place; one that lives keeps it", () => {
    enter("a");
    enter("b");
    enter("c");
    for (const name of ["a", "b", "c"]) abandonGone(name, name);
    abandonGone("b");
    lanes.leave("p", "a", []);
    expect(woken).toEqual(["c"]);
  });

  it("held the lane and had sent nothing → the next is woken", () => {
    enter("a");
    enter("b");
    abandonGone("a");
    expect(woken).toEqual(["b"]);
    expect(enter("b")).toBe("Granted");
  });

  it("its operations still run → they hold the lane, and the next looks for their end", () => {
    enter("a");
    lanes.leave("p", "a", ["o1"]);
    enter("b");
    abandonGone("a", "another uid of that name");
    expect(woken).toEqual(["b"]);
    expect(enter("b")).toBe("Queued");
  });

  it("had left the lane and entered again → is still found", () => {
    enter("a");
    lanes.leave("p", "a", []);
    abandonGone("a", "a");
    enter("a");
    enter("b");
    abandonGone("a");
    expect(woken).toEqual(["b"]);
  });
});

describe("423", () => {
  it("nobody tries for a while, and the place is kept", async () => {
    enter("a");
    await clock.advance(10);
    enter("b");
    lanes.close("p", "a", 500);
    lanes.leave("p", "a", []);
    expect(enter("a")).toBe("Queued");
    expect(enter("b")).toBe("Queued");
    await clock.advance(500);
    expect(enter("b")).toBe("Queued");
    expect(enter("a")).toBe("Granted");
  });

  it("told by one who does not hold the lane → changes nothing", () => {
    enter("a");
    lanes.close("p", "b", 500);
    expect(enter("a")).toBe("Granted");
  });

  it("leaving or withdrawing from a project nobody is in → does nothing", () => {
    lanes.leave("nowhere", "a", []);
    lanes.withdraw("nowhere", "a");
    lanes.close("nowhere", "a", 1);
    lanes.observe({ ...reading(), projectId: "nowhere" });
    expect(woken).toEqual([]);
  });
});
