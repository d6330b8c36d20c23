/** Tests that each operation is counted once: how the watermark moves, and which stored watermarks hold an operation. */
import { describe, expect, it } from "vitest";
import type { AttributedOperation, Operation } from "../../../src/domain/operation.ts";
import type { ResourceEvent } from "../../../src/domain/resource-store.ts";
import { countStored } from "../../../src/engine/store-step.ts";
import { reduceOperations } from "../../../src/operations/reduce-operations.ts";
import { type Watermark, watermarkIn } from "../../../src/resource/bookkeeping.ts";
import { parseComputeEndpoint } from "../../../src/resource/compute-endpoint.ts";
import { ownership } from "../kinds/endpoint/builders.ts";
import { at, begunState, endedIds, operation, snapshot, stored, subject } from "./log-builders.ts";

/** Reduces several reads of the log. As in the operator, a state is stored only if it must be. Returns what is counted. */
function countedIn(...looks: readonly (readonly Operation[])[]): readonly (readonly string[])[] {
  let state = begunState();
  return looks.map((listed) => {
    const step = reduceOperations(state, snapshot(listed), subject());
    state = step.mustStore ? stored(step.state) : state;
    return endedIds(step);
  });
}

const running = (id: string, seconds: number) => operation(id, seconds, { status: "running" });
const [a, aRuns, aUnknown] = [operation("a", 0), running("a", 0), operation("a", 0, { status: "levitating" })];
const b = (seconds: number) => operation("b", seconds);
const many = Array.from({ length: 40 }, (_, n) => operation(`m-${n}`, n));
/** A later operation of another resource moves the floor to the time before it. */
const later = (seconds: number) => operation("z", seconds, { endpointId: "ep-else-2" });

describe("the watermark → counts each operation once", () => {
  it.each<[string, readonly (readonly Operation[])[], readonly (readonly string[])[]]>([
    ["it ended, and is listed again", [[a], [a]], [["a"], []]],
    ["it is listed late, dated nine minutes before others", [[b(540)], [a]], [["b"], ["a"]]],
    ["it runs for an hour", [[aRuns], [aRuns, b(3_600)], [a]], [[], ["b"], ["a"]]],
    ["it is not shown while others end", [[aRuns, b(900)], [operation("c", 901)], [a]], [["b"], ["c"], ["a"]]],
    ["it ended before the floor", [[later(900)], [later(9_000)], [later(99_000)], [a]], [[], [], [], []]],
    ["its status is unknown at first", [[aUnknown], [a]], [[], ["a"]]],
    ["more than 32 above the floor", [many, many], [many.map(({ id }) => id).sort(), []]],
  ])("%s", (_name, looks, want) => {
    expect(countedIn(...looks)).toEqual(want);
  });

  it.each<[string, Parameters<typeof subject>[0], readonly string[]]>([
    ["created → from a minute before its creation", {}, ["b", "c"]],
    ["adopted → only what runs now, or begins later", { ownership: ownership({ origin: "Adopted" }) }, []],
  ])("the log of an endpoint begins, %s", (_name, change, want) => {
    const given = subject({ previousOwnership: undefined, ...change });
    const listed = [operation("a", -3_700), operation("b", -3_650), operation("c", -9), running("d", -99)];
    const step = reduceOperations({}, snapshot(listed), given);
    expect([endedIds(step), watermarkIn(step.state)?.unfinishedIds]).toEqual([want, ["d"]]);
  });
});

const failed: AttributedOperation = {
  ...operation("a", 0, { action: "start_compute", status: "failed", error: "no room" }),
  cause: "SpecChange",
};
const msAt = (seconds: number) => Date.parse(at(seconds));
const metadata = { namespace: "shop", name: "orders", uid: "uid-orders", resourceVersion: "1", generation: 1 };

/** Shows statuses with these watermarks one after the other. Returns the ids that were counted, and the events' texts. */
function countedAfter(...marks: readonly (Partial<Watermark> | undefined)[]) {
  const counted: AttributedOperation[] = [];
  const events: ResourceEvent[] = [];
  const targets = {
    metrics: {
      countEnded: (each: AttributedOperation) => void counted.push(each),
      logCutShort() {},
      usageRead() {},
      forgetResource() {},
    },
    events: { record: (_: unknown, event: ResourceEvent) => void events.push(event) },
  };
  const pending = new Map([["a", failed]]);
  for (const mark of marks) {
    const watermark = mark && { floorMs: msAt(-60), counted: [], unfinishedIds: [], ...mark };
    const status = { bookkeeping: { operationWatermark: JSON.stringify(watermark) } };
    countStored(targets, pending, parseComputeEndpoint({ metadata, status }));
  }
  return [counted.map(({ id }) => id), events.map(({ note }) => note)];
}

const isCounted: Partial<Watermark> = { counted: [["a", msAt(0)]] };
const once = [["a"], ["Operation start_compute failed: no room"]];
const never = [[], []];

describe("a stored status → counts a pending failure once, with an event", () => {
  it.each<[string, readonly (Partial<Watermark> | undefined)[], unknown]>([
    ["it was created at the floor", [{ floorMs: msAt(0) }], once],
    ["it was created after the floor, and is not counted", [{}], never],
    ["its id is counted", [isCounted], once],
    ["it is at the floor, and unfinished", [{ floorMs: msAt(0), unfinishedIds: ["a"] }], never],
    ["its id is counted, and unfinished", [{ ...isCounted, unfinishedIds: ["a"] }], never],
    ["no watermark, or an unreadable floor", [undefined, { floorMs: Number.NaN }], never],
    ["an old status, then the new one twice", [{}, { floorMs: msAt(0) }, { floorMs: msAt(9) }], once],
  ])("%s", (_name, marks, want) => {
    expect(countedAfter(...marks)).toEqual(want);
  });
});
