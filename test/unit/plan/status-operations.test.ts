import { describe, expect, it } from "vitest";
import { type Operation, type OperationCause, outcomeOf } from "../../../src/domain/operation.ts";
import { statusOperations } from "../../../src/plan/status-operations.ts";
import type { StatusOperation } from "../../../src/resource/status-schema.ts";
import { operation, timeAt } from "./builders.ts";

function shown(
  operations: readonly Operation[],
  previous: readonly StatusOperation[] = [],
  ofOthers: readonly Operation[] = [],
): readonly StatusOperation[] {
  return statusOperations(
    operations.map((each) => ({ operation: each, cause: "ControlPlane", outcome: outcomeOf(each) })),
    { entries: previous, readIds: new Set([...operations, ...ofOthers].map(({ id }) => id)) },
  );
}

const idsOf = (list: readonly StatusOperation[]) => list.map(({ id }) => id);

/** Newest first: the higher the number, the older. */
const nth = (n: number, change: Partial<Operation> = {}) =>
  operation({ id: `op-${n}`, createdTime: timeAt(-n * 1_000), ...change });

describe("operations in status", () => {
  it("in flight → stand first, then the most recent", () => {
    expect(shown([nth(1), nth(2, { status: "running" }), nth(3)]).map(({ id }) => id)).toEqual([
      "op-2",
      "op-1",
      "op-3",
    ]);
  });

  it("more than twenty → twenty, and none in flight is left out", () => {
    const many = Array.from({ length: 40 }, (_, n) => nth(n, n > 30 ? { status: "running" } : {}));
    const list = shown(many);
    expect(list).toHaveLength(20);
    expect(list.filter(({ status }) => status === "running")).toHaveLength(9);
  });

  it.each(["finished", "running", "scheduling"])("an availability check that is %s → is no news", (status) => {
    expect(shown([nth(1, { action: "check_availability", status })])).toEqual([]);
  });

  it("an availability check that failed → is shown", () => {
    expect(shown([nth(1, { action: "check_availability", status: "failed" })])).toHaveLength(1);
  });

  it("ended → says how long it took, by the service's clock", () => {
    const [ended] = shown([nth(1, { updatedTime: timeAt(-188) })]);
    expect(ended?.durationMilliseconds).toBe(812);
    const [stated] = shown([nth(1, { totalDurationMs: 43.6 })]);
    expect(stated?.durationMilliseconds).toBe(44);
  });

  it("in flight → says no duration", () => {
    expect(shown([nth(1, { status: "running" })])[0]).not.toHaveProperty("durationMilliseconds");
  });

  it("only its time of change moved → stays word for word, so that a poll is no write", () => {
    const before = shown([nth(1, { status: "running" })]);
    expect(shown([nth(1, { status: "running", updatedTime: timeAt(0) })], before)).toEqual(before);
  });

  it.each([{ status: "finished" }, { failuresCount: 1 }])("%o → is rewritten", (change) => {
    const before = shown([nth(1, { status: "running" })]);
    expect(shown([nth(1, { status: "running", ...change })], before)).not.toEqual(before);
  });

  it("who started it turns out to be another → is rewritten once, and not taken back", () => {
    const entryOf = (cause: OperationCause, entries: readonly StatusOperation[]) =>
      statusOperations([{ operation: nth(1), cause, outcome: "Succeeded" }], { entries, readIds: new Set(["op-1"]) });
    const byService = entryOf("ControlPlane", []);
    const byOther = entryOf("Other", byService);
    const byUs = entryOf("SpecChange", byOther);
    expect([byService, byOther, byUs].map(([each]) => each?.cause)).toEqual(["ControlPlane", "Other", "SpecChange"]);
    expect(entryOf("ControlPlane", byOther)).toEqual(byOther);
    expect(entryOf("Other", byUs)).toEqual(byUs);
  });

  it("a long error → is shortened", () => {
    expect(shown([nth(1, { status: "failed", error: "x".repeat(9_000) })])[0]?.error).toHaveLength(256);
  });

  it("the reading does not go back as far as status, as after a restart → status stays word for word", () => {
    const before = shown([nth(1), nth(2), nth(3), nth(4)]);
    expect(shown([nth(1), nth(2)], before)).toEqual(before);
    expect(shown([], before)).toEqual(before);
  });

  it("new ones beside what is only remembered → in their order, the oldest go", () => {
    const before = shown(Array.from({ length: 20 }, (_, n) => nth(n + 5)));
    const now = shown([nth(1, { status: "running" }), nth(2), nth(5)], before);
    expect(idsOf(now)).toEqual(["op-1", "op-2", ...idsOf(before).slice(0, 18)]);
  });

  it("a list that lags shows only older ones → what is remembered stands before them", () => {
    const before = shown([nth(1), nth(3)]);
    expect(idsOf(shown([nth(3), nth(4)], before))).toEqual(["op-1", "op-3", "op-4"]);
  });

  it("in flight when it was last seen, and not in the log any more → goes", () => {
    const before = shown([nth(1, { status: "running" }), nth(2)]);
    expect(idsOf(shown([nth(2)], before))).toEqual(["op-2"]);
  });

  it("in the log, and somebody else's by now → goes", () => {
    const before = shown([nth(1), nth(2)]);
    expect(idsOf(shown([nth(1)], before, [nth(2)]))).toEqual(["op-1"]);
  });
});
