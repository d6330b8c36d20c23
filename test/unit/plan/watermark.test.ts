import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareNewestFirst, type Operation, outcomeOf } from "../../../src/domain/operation.ts";
import type { AttributedOperation } from "../../../src/plan/attribute-operations.ts";
import { advanceWatermark } from "../../../src/plan/watermark.ts";
import type { OperationWatermark } from "../../../src/resource/status-schema.ts";
import { operation, timeAt } from "./builders.ts";

const longAgo = timeAt(-1_000_000_000);

function attributed(operations: readonly Operation[]): readonly AttributedOperation[] {
  return [...operations]
    .sort(compareNewestFirst)
    .map((each) => ({ operation: each, cause: "ControlPlane", outcome: outcomeOf(each) }));
}

/** What each reading counts; the watermark goes through JSON in between, as it does in the cluster. */
function countedBy(readings: readonly (readonly Operation[])[], sinceTime = longAgo): readonly (readonly string[])[] {
  let watermark: OperationWatermark | undefined;
  return readings.map((reading) => {
    const step = advanceWatermark(watermark, attributed(reading), sinceTime);
    watermark = step.watermark && JSON.parse(JSON.stringify(step.watermark));
    return step.ended.map(({ operation: { id } }) => id).sort();
  });
}

const at = (id: string, seconds: number, status: string, failuresCount = 0) =>
  operation({ id, status, failuresCount, createdTime: timeAt(seconds * 1_000) });

describe("an ended operation", () => {
  it("met in the first reading → is counted, and not again", () => {
    const log = [at("a", -9, "finished")];
    expect(countedBy([log, log, log])).toEqual([["a"], [], []]);
  });

  it("met in flight first → is counted when it ends, and not again", () => {
    expect(countedBy([[at("a", -9, "running")], [at("a", -9, "finished")], [at("a", -9, "finished")]])).toEqual([
      [],
      ["a"],
      [],
    ]);
  });

  it("in flight while newer ones end → is counted when it ends", () => {
    const newer = at("b", -5, "finished");
    expect(
      countedBy([[at("a", -9, "running")], [newer, at("a", -9, "running")], [newer, at("a", -9, "failed")]]),
    ).toEqual([[], ["b"], ["a"]]);
  });

  it("a sibling of the same moment shows up later → is counted", () => {
    expect(countedBy([[at("a", -9, "finished")], [at("a", -9, "finished"), at("b", -9, "finished")]])).toEqual([
      ["a"],
      ["b"],
    ]);
  });

  it("out of a reading while unfinished → is counted when it is back", () => {
    expect(countedBy([[at("a", -9, "running")], [at("b", -5, "finished")], [at("a", -9, "finished")]])).toEqual([
      [],
      ["b"],
      ["a"],
    ]);
  });

  it("failed, taken up again by the service, ended again → is counted once", () => {
    expect(
      countedBy([
        [at("a", -9, "failed", 1)],
        [at("a", -9, "running", 1)],
        [at("b", -5, "finished"), at("a", -9, "finished", 1)],
      ]),
    ).toEqual([["a"], [], ["b"]]);
  });

  it("met late and still in flight, below the watermark → is counted when it ends", () => {
    const newer = at("b", -5, "finished");
    expect(countedBy([[newer], [newer, at("a", -9, "running")], [newer, at("a", -9, "finished")]])).toEqual([
      ["b"],
      [],
      ["a"],
    ]);
  });

  it("in a status nobody knows → is counted when it becomes one we know", () => {
    expect(countedBy([[at("a", -9, "levitating")], [at("a", -9, "skipped")]])).toEqual([[], ["a"]]);
  });

  it("ended before the resource existed → is never counted", () => {
    const log = [at("b", -5, "finished"), at("a", -9, "finished")];
    expect(countedBy([log, log], timeAt(-7_000))).toEqual([["b"], []]);
  });

  it("begun before the resource existed and ended after → is counted", () => {
    const late = operation({ id: "a", createdTime: timeAt(-9_000), updatedTime: timeAt(-5_000) });
    expect(countedBy([[late]], timeAt(-7_000))).toEqual([["a"]]);
  });

  it("an empty log → keeps what is known", () => {
    expect(countedBy([[], [at("a", -9, "finished")], [], [at("a", -9, "finished")]])).toEqual([[], ["a"], [], []]);
  });
});

/** The life of one operation: when it begins, at which readings it changes, and whether the service retries it. */
const life = fc.record({
  beginsAt: fc.nat(20),
  endsAfter: fc.nat(6),
  outcome: fc.constantFrom("finished", "failed", "cancelled", "skipped"),
  retriedAfter: fc.option(fc.nat(4), { nil: undefined }),
});

type Life = typeof life extends fc.Arbitrary<infer Value> ? Value : never;

/** Status and failures of an operation of that age. A retried one runs for a while and then ends well. */
function standing({ endsAfter, outcome, retriedAfter }: Life, age: number): readonly [string, number] {
  if (age < endsAfter) {
    return ["running", 0];
  }
  if (outcomeOf({ status: outcome }) !== "Failed") {
    return [outcome, 0];
  }
  const sinceRetry = retriedAfter === undefined ? -1 : age - endsAfter - retriedAfter;
  return [sinceRetry <= 0 ? outcome : sinceRetry <= 2 ? "running" : "finished", 1];
}

/** The log at one moment. Operations that begin at the same moment share their time, as siblings of a request do. */
function logAt(moment: number, lives: readonly Life[]): readonly Operation[] {
  return lives.flatMap((each, index) => {
    const age = moment - each.beginsAt;
    return age < 0 ? [] : [at(`op-${index}`, each.beginsAt - 100, ...standing(each, age))];
  });
}

describe("any log", () => {
  it("every reading complete, any of them skipped → each ended operation is counted exactly once", () => {
    fc.assert(
      fc.property(fc.array(life, { maxLength: 12 }), fc.subarray([...Array(30).keys()]), (lives, moments) => {
        const counted = countedBy([...moments, 60].map((moment) => logAt(moment, lives))).flat();
        expect([...counted].sort()).toEqual(lives.map((_, index) => `op-${index}`).sort());
      }),
      { numRuns: 500 },
    );
  });

  it("readings that overlap at random, show the past or lack operations → none is counted twice", () => {
    const look = fc.record({ moment: fc.nat(60), window: fc.nat(12), hidden: fc.array(fc.nat(11), { maxLength: 4 }) });
    fc.assert(
      fc.property(fc.array(life, { maxLength: 12 }), fc.array(look, { maxLength: 15 }), (lives, looks) => {
        // The view never goes back on what it knows: an ended operation is not shown as running from the past.
        const inOrder = [...looks].sort((a, b) => a.moment - b.moment);
        const counted = countedBy(
          inOrder.map(({ moment, window, hidden }) =>
            [...logAt(moment, lives)]
              .sort(compareNewestFirst)
              .filter(({ id }) => !hidden.some((index) => id === `op-${index}`))
              .slice(0, window),
          ),
        ).flat();
        expect(new Set(counted).size).toBe(counted.length);
      }),
      { numRuns: 500 },
    );
  });

  it("the pass that counted is lost before its watermark was stored → the next one counts the same", () => {
    fc.assert(
      fc.property(fc.array(life, { maxLength: 8 }), fc.nat(40), (lives, moment) => {
        const [first] = countedBy([logAt(moment, lives)]);
        const [again] = countedBy([logAt(moment, lives)]);
        expect(again).toEqual(first);
      }),
    );
  });

  it("more unfinished operations than are kept → the watermark stays bounded", () => {
    const many = Array.from({ length: 300 }, (_, index) => at(`op-${index}`, -300 + index, "running"));
    expect(advanceWatermark(undefined, attributed(many), longAgo).watermark?.unfinishedIds.length).toBe(50);
  });
});
