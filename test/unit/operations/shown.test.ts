/** Tests which operations status shows. */
import { describe, expect, it } from "vitest";
import type { Operation, OperationCause } from "../../../src/domain/operation.ts";
import { shownOperations } from "../../../src/operations/status-operations.ts";
import type { StatusOperation } from "../../../src/resource/status-schema.ts";
import { at, operation, snapshot } from "./log-builders.ts";

interface Shown {
  readonly previous?: readonly StatusOperation[];
  /** Operations of other resources in the snapshot. */
  readonly ofOthers?: readonly Operation[];
  readonly unseenIds?: readonly string[];
  readonly cause?: OperationCause;
}

function shown(operations: readonly Operation[], given: Shown = {}): readonly StatusOperation[] {
  const { previous = [], ofOthers = [], unseenIds = [], cause = "ControlPlane" } = given;
  return shownOperations(
    operations.map((each) => ({ operation: each, cause })),
    previous,
    snapshot([...operations, ...ofOthers], { unseenIds: new Set(unseenIds) }),
  );
}

const idsOf = (list: readonly StatusOperation[]) => list.map(({ id }) => id);

/** Newest first: a higher number is an older operation. */
const nth = (n: number, change: Partial<Operation> = {}) => operation(`op-${n}`, -n, change);

describe("operations in status", () => {
  it("in flight → stand first, then the most recent", () => {
    expect(idsOf(shown([nth(1), nth(2, { status: "running" }), nth(3)]))).toEqual(["op-2", "op-1", "op-3"]);
  });

  it("more than twenty → twenty, and none in flight is left out", () => {
    const list = shown(Array.from({ length: 40 }, (_, n) => nth(n, n > 30 ? { status: "running" } : {})));
    expect(list).toHaveLength(20);
    expect(list.filter(({ status }) => status === "running")).toHaveLength(9);
  });

  it.each(["finished", "running", "scheduling"])("an availability check that is %s → is left out", (status) => {
    expect(shown([nth(1, { action: "check_availability", status })])).toEqual([]);
  });

  it("an availability check that failed → is shown", () => {
    expect(shown([nth(1, { action: "check_availability", status: "failed" })])).toHaveLength(1);
  });

  it("ended → says how long it took, by the control plane's clock", () => {
    expect(shown([nth(1, { updatedTime: at(-0.188) })])[0]?.durationMilliseconds).toBe(812);
    expect(shown([nth(1, { totalDurationMs: 43.6 })])[0]?.durationMilliseconds).toBe(44);
    // The API server would refuse a larger integer, and with it every later status.
    const largest = Number.MAX_SAFE_INTEGER;
    expect(shown([nth(1, { totalDurationMs: 1e300 })])[0]?.durationMilliseconds).toBe(largest);
  });

  it("ended with a duration or times that cannot be read → says no duration", () => {
    const [stated, times] = [{ totalDurationMs: Number.NaN }, { updatedTime: "?" }].map((change) =>
      shown([nth(1, change)]),
    );
    expect([stated?.[0], times?.[0]].map((each) => each?.durationMilliseconds)).toEqual([undefined, undefined]);
  });

  it("in flight → says no duration", () => {
    expect(shown([nth(1, { status: "running" })])[0]).not.toHaveProperty("durationMilliseconds");
  });

  it("only its time of change moved → stays word for word, so that a poll is no write", () => {
    const previous = shown([nth(1, { status: "running" })]);
    expect(shown([nth(1, { status: "running", updatedTime: at(0) })], { previous })).toEqual(previous);
  });

  it.each([{ status: "finished" }, { failuresCount: 1 }])("%o → is rewritten", (change) => {
    const previous = shown([nth(1, { status: "running" })]);
    expect(shown([nth(1, { status: "running", ...change })], { previous })).not.toEqual(previous);
  });

  it("another cause is found → is rewritten once, and not taken back", () => {
    const byControlPlane = shown([nth(1)]);
    const byOther = shown([nth(1)], { cause: "Other", previous: byControlPlane });
    const byUs = shown([nth(1)], { cause: "SpecChange", previous: byOther });
    expect([byControlPlane, byOther, byUs].map(([each]) => each?.cause)).toEqual([
      "ControlPlane",
      "Other",
      "SpecChange",
    ]);
    expect(shown([nth(1)], { previous: byOther })).toEqual(byOther);
    expect(shown([nth(1)], { cause: "Other", previous: byUs })).toEqual(byUs);
  });

  it("a long error → is shortened", () => {
    expect(shown([nth(1, { status: "failed", error: "x".repeat(9_000) })])[0]?.error).toHaveLength(256);
  });

  it("the snapshot does not go back as far as status, as after a restart → status stays word for word", () => {
    const previous = shown([nth(1), nth(2), nth(3), nth(4)]);
    expect(shown([nth(1), nth(2)], { previous })).toEqual(previous);
    expect(shown([], { previous })).toEqual(previous);
  });

  it("new ones beside what is only remembered → in their order, the oldest go", () => {
    const previous = shown(Array.from({ length: 20 }, (_, n) => nth(n + 5)));
    const now = shown([nth(1, { status: "running" }), nth(2), nth(5)], { previous });
    expect(idsOf(now)).toEqual(["op-1", "op-2", ...idsOf(previous).slice(0, 18)]);
  });

  it("a list that lags shows only older ones → what is remembered stands before them", () => {
    const previous = shown([nth(1), nth(3)]);
    expect(idsOf(shown([nth(3), nth(4)], { previous }))).toEqual(["op-1", "op-3", "op-4"]);
  });

  it("in flight when it was last seen, and not in the log any more → goes", () => {
    const previous = shown([nth(1, { status: "running" }), nth(2)]);
    expect(idsOf(shown([nth(2)], { previous }))).toEqual(["op-2"]);
  });

  it("in flight when it was last seen, and its read fails → stays: that is no absence", () => {
    const previous = shown([nth(1, { status: "running" }), nth(2)]);
    expect(shown([nth(2)], { previous, unseenIds: ["op-1"] })).toEqual(previous);
  });

  it("in the log, and another resource's by now → goes", () => {
    const previous = shown([nth(1), nth(2)]);
    expect(idsOf(shown([nth(1)], { previous, ofOthers: [nth(2)] }))).toEqual(["op-1"]);
  });
});
