/** Tests when an ended operation is counted. */
import { describe, expect, it } from "vitest";
import type { Operation } from "../../../src/domain/operation.ts";
import { type OperationLogState, reduceOperations } from "../../../src/operations/reduce-operations.ts";
import type { OperationWatermark } from "../../../src/resource/status-schema.ts";
import {
  at,
  begunState,
  endedIds,
  endpoint,
  type Look,
  operation,
  ownership,
  reduceAll,
  snapshot,
  stored,
  subject,
} from "./log-builders.ts";

/** What each look counts. */
const countedIn = (looks: readonly Look[], from?: OperationLogState) => reduceAll(looks, from).map(endedIds);
const countedBy = (lists: readonly (readonly Operation[])[], from?: OperationLogState) =>
  countedIn(
    lists.map((listed) => ({ listed })),
    from,
  );
const op = (id: string, seconds: number, status = "finished", change: Partial<Operation> = {}) =>
  operation(id, seconds, { status, ...change });

describe("an ended operation", () => {
  it("met in the first look → is counted, and not again", () => {
    const log = [op("a", -9)];
    expect(countedBy([log, log, log])).toEqual([["a"], [], []]);
  });

  it("met in flight → is counted when it ends, and not again", () => {
    const ended = [op("a", -9)];
    expect(countedBy([[op("a", -9, "running")], ended, ended])).toEqual([[], ["a"], []]);
  });

  it("in flight while newer ones end → is counted when it ends", () => {
    const newer = op("b", -5);
    const looks = [[op("a", -9, "running")], [newer, op("a", -9, "running")], [newer, op("a", -9, "failed")]];
    expect(countedBy(looks)).toEqual([[], ["b"], ["a"]]);
  });

  it.each([
    ["at the same moment", -9],
    ["a second earlier", -10],
    ["an hour earlier, because the clock stepped back", -3_609],
  ])("another one shows up that was created %s → is counted too", (_name, seconds) => {
    const created = endpoint({ createdTime: at(-9_000) });
    const from = begunState({ endpoint: created });
    expect(countedBy([[op("a", -9)], [op("a", -9), op("b", seconds)], [op("a", -9), op("b", seconds)]], from)).toEqual([
      ["a"],
      ["b"],
      [],
    ]);
  });

  it("out of a look while it is unfinished → is counted when it is back", () => {
    expect(countedBy([[op("a", -9, "running")], [op("b", -5)], [op("a", -9)]])).toEqual([[], ["b"], ["a"]]);
  });

  it("failed, retried by the control plane, ended again → is counted once", () => {
    const retried = { failuresCount: 1 };
    const looks = [
      [op("a", -9, "failed", retried)],
      [op("a", -9, "running", retried)],
      [op("b", -5), op("a", -9, "finished", retried)],
    ];
    expect(countedBy(looks)).toEqual([["a"], [], ["b"]]);
  });

  it("counted, then shown as running by a list that lags → is not counted again", () => {
    expect(countedBy([[op("a", -9)], [op("a", -9, "running")], [op("a", -9)]])).toEqual([["a"], [], []]);
  });

  it("in an unknown status → is counted when the status becomes a known one", () => {
    expect(countedBy([[op("a", -9, "levitating")], [op("a", -9, "skipped")]])).toEqual([[], ["a"]]);
  });

  it("named by an answer, ended, not listed yet → is counted once, and what the list shows below it too", () => {
    const [own, foreign, older] = [op("c", -5), op("b", -6), op("a", -9)];
    const looks = [
      { listed: [older], subject: { answered: [own] } },
      { listed: [own, foreign, older] },
      { listed: [own, foreign] },
    ];
    expect(countedIn(looks)).toEqual([["a", "c"], ["b"], []]);
  });

  it("in flight in an answer, dated before the log begins → is counted when it ends, and not again", () => {
    const from = begunState({ ownership: ownership({ origin: "Adopted" }) });
    const [running, ended] = [op("a", -90_000, "running"), op("a", -90_000)];
    const looks = [{ listed: [], subject: { answered: [running] } }, { listed: [ended] }, { listed: [ended] }];
    expect(countedIn(looks, from)).toEqual([[], ["a"], []]);
  });

  it("ended in an answer, dated before the log begins → is not counted: it may have been counted before", () => {
    const from = begunState({ ownership: ownership({ origin: "Adopted" }) });
    expect(countedIn([{ listed: [], subject: { answered: [op("a", -90_000)] } }], from)).toEqual([[]]);
  });

  it("an empty list → keeps what is known", () => {
    expect(countedBy([[], [op("a", -9)], [], [op("a", -9)]])).toEqual([[], ["a"], [], []]);
  });

  it("with a creation time that cannot be read → is not counted, and nothing throws", () => {
    expect(countedBy([[op("a", -9, "finished", { createdTime: "yesterday", updatedTime: "" }), op("b", -5)]])).toEqual([
      ["b"],
    ]);
  });
});

describe("an operation dated ahead", () => {
  const ahead = op("a", 365 * 86_400);
  const date = (seconds: number) => ({ subject: { serviceTimeMs: Date.parse(at(seconds)) } });

  it("ended → is counted once, and so are true ones that follow, however many days later", () => {
    const looks = [
      { listed: [ahead], ...date(0) },
      { listed: [ahead, op("b", 60)], ...date(60) },
      { listed: [ahead, op("b", 60), op("c", 90_000)], ...date(90_000) },
    ];
    expect(countedIn(looks)).toEqual([["a"], ["b"], ["c"]]);
  });

  it("of another endpoint of the project → true ones are counted", () => {
    const foreign = { ...ahead, endpointId: "ep-else-2" };
    const looks = [
      { listed: [foreign], ...date(0) },
      { listed: [foreign, op("b", 60)], ...date(60) },
    ];
    expect(countedIn(looks)).toEqual([[], ["b"]]);
  });
});

describe("an unknown status", () => {
  const waitedFor = (seconds: number) => {
    const [step] = reduceAll([{ listed: [op("a", 0, "levitating"), op("b", 1, "running"), op("c", seconds)] }]);
    return step?.state.operationWatermark?.unfinishedIds;
  };

  it("for an hour after its last change → is waited for; then no more. One in flight is, however long", () => {
    expect(waitedFor(3_600)).toEqual(["a", "b"]);
    expect(waitedFor(3_601)).toEqual(["b"]);
  });
});

describe("where the log begins", () => {
  const log = [op("c", -3, "running"), op("b", -5), op("a", -9, "failed")];
  const adopting = (listed: readonly Operation[], change: Parameters<typeof snapshot>[1] = {}) =>
    stored(
      reduceOperations(
        {},
        snapshot(listed, change),
        subject({ ownership: ownership({ origin: "Adopted" }), previousOwnership: undefined }),
      ).state,
    );

  it("adopted → what had ended is never counted, what had not is", () => {
    const [ended, later] = [op("c", -3), op("d", -3)];
    expect(countedBy([log, [ended, ...log.slice(1)], [later, ended]], adopting(log))).toEqual([[], ["c"], ["d"]]);
  });

  it("adopted, then the clock steps back by an hour → what is new is counted, history is not", () => {
    expect(countedBy([[op("d", -3_000), ...log]], adopting(log, { reachMs: Date.parse(at(-9_000)) }))).toEqual([["d"]]);
  });

  it("adopted, and a later look goes further back than the first one → that is history", () => {
    const from = adopting(log, { reachMs: Date.parse(at(-9)) });
    expect(countedBy([[...log, op("z", -60)]], from)).toEqual([[]]);
  });

  it("adopted in a project without operations → everything that comes is counted", () => {
    expect(countedBy([[op("a", -9)]], adopting([]))).toEqual([["a"]]);
  });

  it("adopted with an operation that cannot be read → that one is history, whatever it shows later", () => {
    expect(countedBy([[op("x", -4)]], adopting(log, { unreadableIds: ["x"] }))).toEqual([[]]);
  });

  it("created → everything is counted, also a start that another machine dates seconds before the endpoint", () => {
    const early = op("a", -3_605);
    expect(countedBy([[early], [early]])).toEqual([["a"], []]);
  });

  it("created → an operation that ended before the record was stored is counted in the same step", () => {
    const recording = subject({ previousOwnership: undefined });
    expect(endedIds(reduceOperations({}, snapshot([op("a", -3_599)]), recording))).toEqual(["a"]);
  });

  it.each(["Created", "Adopted"] as const)(
    "%s in place of another one → what that left unfinished is counted",
    (origin) => {
      const [before] = reduceAll([{ listed: [op("z", -60, "running")] }]);
      const replaced = reduceOperations(before?.state ?? {}, snapshot([op("z", -60, "running")]), {
        ...subject({ endpoint: endpoint({ id: "ep-new-2" }) }),
        ownership: ownership({ endpointId: "ep-new-2", origin }),
      });
      const look = { listed: [op("z", -60, "failed")], subject: { ownership: ownership({ endpointId: "ep-new-2" }) } };
      expect(countedIn([look, look], stored(replaced.state))).toEqual([["z"], []]);
    },
  );
});

describe("a stored watermark", () => {
  it("that cannot be read → the log begins anew: history is not counted, and what status shows as failed stays", () => {
    const failed = op("a", -9, "failed");
    const [first] = reduceAll([{ listed: [failed] }]);
    const damaged = stored({ ...first?.state, operationWatermark: { ...watermark(first?.state), createdTime: "?" } });
    const [again, next] = reduceAll([{ listed: [failed] }, { listed: [op("b", -5), failed] }], damaged);
    expect([endedIds(again ?? { ended: [] }), endedIds(next ?? { ended: [] })]).toEqual([[], ["b"]]);
    expect(again?.state.failedActions).toMatchObject([{ operationId: "a" }]);
    expect(again?.failed).toEqual([]);
  });

  it("of the version before → what it counted is not counted again, what it did not is", () => {
    const before = {
      sinceTime: at(-3_602),
      branch: { id: "br-main-1", sinceTime: at(-3_600) },
      createdTime: at(-9),
      ids: ["a"],
      unfinishedIds: ["w"],
    };
    const log = [op("c", -5), op("b", -9), op("a", -9), op("w", -20), op("v", -21)];
    expect(countedBy([log, log], { operationWatermark: before })).toEqual([["b", "c", "w"], []]);
  });

  it("read by the version before → that one counts nothing again, and goes on with what comes", () => {
    const steps = reduceAll([
      { listed: [op("w", -90, "running"), op("c", -5), op("b", -9)] },
      { listed: [op("a", -20), op("w", -90, "running")] },
    ]);
    const mark = watermark(steps.at(-1)?.state);
    const log = [op("d", -1), op("c", -5), op("b", -9), op("a", -20), op("w", -90)];
    expect(log.filter((each) => isUncountedByVersionBefore(each, mark)).map(({ id }) => id)).toEqual(["d", "w"]);
  });

  it("a quiet resource in a busy project → the floor follows, and is stored once a day", () => {
    const busy = (seconds: number) => ({ listed: [op("x", seconds, "finished", { endpointId: "ep-else-2" })] });
    const [hours, day] = [reduceAll([busy(0), busy(80_000)]), reduceAll([busy(0), busy(90_000)])].map((each) =>
      each.at(-1),
    );
    expect([hours?.mustStore, day?.mustStore]).toEqual([false, true]);
    expect(Date.parse(watermark(day?.state).createdTime)).toBe(Date.parse(at(90_000)) - 90 * 60_000);
  });

  it("equal looks → equal state, so that a resource at rest causes no write", () => {
    const look = { listed: [op("b", -5, "running"), op("a", -9)] };
    const [first, second] = reduceAll([look, look]);
    expect(second?.state).toEqual(first?.state);
    expect([first?.mustStore, second?.mustStore]).toEqual([true, false]);
  });

  it("many operations → a bounded number of ids, none counted twice", () => {
    const many = Array.from({ length: 100 }, (_, index) => op(`op-${index}`, -600 + index));
    const [first, second] = reduceAll([{ listed: many }, { listed: many }]);
    expect([first?.ended.length, second?.ended.length]).toEqual([100, 0]);
    expect(watermark(first?.state).ids.length).toBeLessThanOrEqual(33);
  });
});

describe("more unfinished operations than status has room for", () => {
  /** The operations are sorted by age, so their ids have a random order. */
  const many = Array.from({ length: 60 }, (_, index) => op(`op-${(index * 37) % 60}`, -300 + index, "running"));
  const idsOf = (operations: readonly Operation[]) => operations.map(({ id }) => id).sort();

  it("met in one look → the newest are waited for, the others are reported once", () => {
    const [first, second] = reduceAll([{ listed: many }, { listed: many }]);
    expect(watermark(first?.state).unfinishedIds).toEqual(idsOf(many.slice(10)));
    expect([...(first?.dropped ?? [])].sort()).toEqual(idsOf(many.slice(0, 10)));
    expect(watermark(second?.state).unfinishedIds).toEqual(idsOf(many.slice(10)));
    expect(second?.dropped).toEqual([]);
  });

  it("one that no look shows any more → counts as the oldest", () => {
    const from = begunState();
    const waiting = { ...from, operationWatermark: { ...watermark(from), unfinishedIds: ["zz-unseen"] } };
    const [step] = reduceAll([{ listed: many.slice(10) }], waiting);
    expect(step?.dropped).toEqual(["zz-unseen"]);
  });

  it("met when the endpoint is adopted → the same", () => {
    const adopting = subject({ ownership: ownership({ origin: "Adopted" }), previousOwnership: undefined });
    const { state, dropped } = reduceOperations({}, snapshot(many), adopting);
    expect(watermark(state).unfinishedIds).toEqual(idsOf(many.slice(10)));
    expect([...dropped].sort()).toEqual(idsOf(many.slice(0, 10)));
  });
});

it("the endpoint before had more operations than a mark remembers, and another one is adopted → none is counted twice", () => {
  const many = Array.from({ length: 40 }, (_, index) => op(`op-${index}`, index - 100));
  const listed = [...many, op("own", -1, "finished", { endpointId: "ep-new-2" })];
  const adopted = ownership({ endpointId: "ep-new-2", origin: "Adopted" });
  const looks = [
    { listed: many },
    { listed: many, subject: { ownership: undefined, previousOwnership: ownership(), endpoint: undefined } },
    { listed, subject: { ownership: adopted, previousOwnership: undefined } },
    { listed, subject: { ownership: adopted, previousOwnership: adopted } },
  ];
  expect(countedIn(looks).map((ids) => ids.length)).toEqual([40, 0, 0, 0]);
});

function watermark(state: OperationLogState | undefined): OperationWatermark {
  const mark = state?.operationWatermark;
  if (mark === undefined) throw new Error("no watermark");
  return mark;
}

/** The rule of the previous version: it knows no floor, and compares with `createdTime`. */
function isUncountedByVersionBefore({ id, createdTime }: Operation, mark: OperationWatermark): boolean {
  const aheadMs = Date.parse(createdTime) - Date.parse(mark.createdTime);
  return mark.unfinishedIds.includes(id) || aheadMs > 0 || (aheadMs === 0 && !mark.ids.includes(id));
}
