import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareNewestFirst, type Operation, outcomeOf } from "../../../src/domain/operation.ts";
import type { AttributedOperation } from "../../../src/plan/attribute-operations.ts";
import { advanceWatermark, beginWatermark, moveWatermark } from "../../../src/plan/watermark.ts";
import type { OperationWatermark } from "../../../src/resource/status-schema.ts";
import { branch, endpoint, operation, otherBranch, timeAt } from "./builders.ts";

/** The log of an endpoint that we made before everything that these tests let happen. */
const { watermark: begun } = beginWatermark({
  origin: "Created",
  endpoint: endpoint({ createdTime: timeAt(-1_000_000_000) }),
  previous: undefined,
  operations: [],
  newestListedTime: undefined,
});

function attributed(operations: readonly Operation[]): readonly AttributedOperation[] {
  return [...operations]
    .sort(compareNewestFirst)
    .map((each) => ({ operation: each, cause: "ControlPlane", outcome: outcomeOf(each) }));
}

/** One reading: what lists have shown, and beside it what is known from answers only. */
interface Look {
  readonly listed: readonly Operation[];
  readonly answered?: readonly Operation[];
}

/** What each reading counts; the watermark goes through JSON in between, as it does in the cluster. */
function countedIn(looks: readonly Look[], from: OperationWatermark = begun): readonly (readonly string[])[] {
  let watermark = from;
  return looks.map(({ listed, answered = [] }) => {
    const newestListedTime = attributed(listed)[0]?.operation.createdTime;
    const step = advanceWatermark(watermark, { operations: attributed([...listed, ...answered]), newestListedTime });
    watermark = JSON.parse(JSON.stringify(step.watermark));
    return step.ended.map(({ operation: { id } }) => id).sort();
  });
}

function countedBy(readings: readonly (readonly Operation[])[], from?: OperationWatermark) {
  return countedIn(
    readings.map((listed) => ({ listed })),
    from,
  );
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

  it("counted, then shown as running by a list that shows the past to the next process → is not counted again", () => {
    const looks = [at("a", -9, "finished"), at("a", -9, "running"), at("a", -9, "finished")];
    expect(countedBy(looks.map((look) => [look]))).toEqual([["a"], [], []]);
  });

  it("in a status nobody knows → is counted when it becomes one we know", () => {
    expect(countedBy([[at("a", -9, "levitating")], [at("a", -9, "skipped")]])).toEqual([[], ["a"]]);
  });

  it("for long in a status nobody knows → is waited for no more; one in flight is, however long", () => {
    const unknown = operation({ id: "a", status: "levitating", createdTime: timeAt(0), updatedTime: timeAt(0) });
    const running = operation({ id: "b", status: "running", createdTime: timeAt(1), updatedTime: timeAt(1) });
    const waitedFor = (seconds: number) => {
      const operations = attributed([unknown, running, at("c", seconds, "finished")]);
      return advanceWatermark(begun, { operations, newestListedTime: timeAt(seconds * 1_000) }).watermark.unfinishedIds;
    };
    expect(waitedFor(3_600)).toEqual(["a", "b"]);
    expect(waitedFor(3_601)).toEqual(["b"]);
  });

  it("known from an answer only, ended → is counted when a list shows it, and what the list shows below it too", () => {
    const own = at("c", -5, "finished");
    const foreign = at("b", -6, "finished");
    const older = at("a", -9, "finished");
    const looks = [{ listed: [older], answered: [own] }, { listed: [own, foreign, older] }, { listed: [own, foreign] }];
    expect(countedIn(looks)).toEqual([["a"], ["b", "c"], []]);
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
        const counted = countedBy(
          looks.map(({ moment, window, hidden }) =>
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
});

describe("where the log begins", () => {
  const log = [at("c", -3, "running"), at("b", -5, "finished"), at("a", -9, "failed")];
  const adopting = (newestListedTime: string | undefined, operations: readonly Operation[]) =>
    beginWatermark({
      origin: "Adopted",
      endpoint: endpoint(),
      previous: undefined,
      operations: attributed(operations),
      newestListedTime,
    }).watermark;

  it("adopted → what had ended is never counted, what had not is, whatever the clocks say", () => {
    const ended = at("c", -3, "finished");
    const later = at("d", -3, "finished");
    expect(countedBy([log, [ended, ...log.slice(1)], [later, ended]], adopting(timeAt(-3_000), log))).toEqual([
      [],
      ["c"],
      ["d"],
    ]);
  });

  it("adopted in a project without operations → everything that comes is counted", () => {
    expect(countedBy([[at("a", -9, "finished")]], adopting(undefined, []))).toEqual([["a"]]);
  });

  it("made by us → everything is counted, also a start that the service dates a moment before the endpoint", () => {
    const made = (offsetMs: number) => operation({ id: "a", createdTime: timeAt(-3_600_000 + offsetMs) });
    const { watermark: from } = beginWatermark({
      origin: "Presumed",
      endpoint: endpoint(),
      previous: undefined,
      operations: [],
      newestListedTime: timeAt(0),
    });
    expect(countedBy([[made(-1_500)], [made(-1_500)]], from)).toEqual([["a"], []]);
  });

  it.each(["Created", "Adopted"] as const)(
    "%s in place of another one → what that left unfinished is waited for",
    (origin) => {
      const previous = { ...begun, unfinishedIds: ["z"] };
      const { watermark: from } = beginWatermark({
        origin,
        endpoint: endpoint(),
        previous,
        operations: [],
        newestListedTime: undefined,
      });
      expect(countedBy([[at("z", -9_000, "failed")]], from)).toEqual([["z"]]);
    },
  );
});

describe("the branch whose operations count", () => {
  const newest = timeAt(-1_000);

  it("the endpoint is seen on another one → that one's, from what the lists have shown until then", () => {
    const moved = moveWatermark({ ...begun }, endpoint({ branchId: otherBranch }), newest);
    expect(moved).toEqual({ ...begun, branch: { id: otherBranch, sinceTime: newest } });
  });

  it.each([
    ["seen where it was", endpoint()],
    ["not seen", undefined],
    ["a replica", endpoint({ type: "ReadOnly", branchId: otherBranch })],
  ])("%s → the same", (_name, seen) => {
    expect(moveWatermark(begun, seen, newest)).toEqual(begun);
    expect(begun.branch?.id).toBe(branch);
  });
});

describe("how far the next process has to read back", () => {
  it("nothing of the resource's own for long → not further than a minute behind what the lists have shown", () => {
    const { watermark } = advanceWatermark(begun, { operations: [], newestListedTime: timeAt(0) });
    expect(watermark.createdTime).toBe(timeAt(-60_000));
  });

  it("an own operation since → to that one", () => {
    const reading = { operations: attributed([at("a", -9, "finished")]), newestListedTime: timeAt(0) };
    expect(advanceWatermark(begun, reading).watermark).toMatchObject({ createdTime: timeAt(-9_000), ids: ["a"] });
  });

  it("the lists show nothing → as far as before, and nothing is counted", () => {
    const reading = { operations: attributed([at("a", -9, "finished")]), newestListedTime: undefined };
    expect(advanceWatermark(begun, reading)).toEqual({ watermark: begun, ended: [], dropped: [] });
  });
});
