/** Tests which operations status shows. */
import { describe, expect, it } from "vitest";
import type { Operation, OperationCause } from "../../../src/domain/operation.ts";
import { branchOperations } from "../../../src/operations/reduce-operations.ts";
import { shownOperations } from "../../../src/operations/status-operations.ts";
import type { StatusOperation } from "../../../src/resource/status-schema.ts";
import { branch } from "../kinds/endpoint/builders.ts";
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
  const attributed = operations.map((each) => ({ ...each, cause }));
  return shownOperations(attributed, previous, snapshot([...operations, ...ofOthers], unseenIds));
}

const idsOf = (list: readonly StatusOperation[]) => list.map(({ id }) => id);

/** Newest first: a higher number is an older operation. */
const nth = (n: number, change: Partial<Operation> = {}) => operation(`op-${n}`, -n, change);
const running = (n: number) => nth(n, { status: "running" });
const check = (status: string) => nth(1, { action: "check_availability", status });
const twenty = Array.from({ length: 20 }, (_, n) => nth(n + 5));

describe("operations in status", () => {
  it.each<[string, readonly Operation[], readonly string[]]>([
    ["in flight → stand first, then the most recent", [nth(1), running(2), nth(3)], ["op-2", "op-1", "op-3"]],
    ["running and scheduled → running first", [nth(1, { status: "scheduling" }), running(2)], ["op-2", "op-1"]],
    [
      "more than five ended → the most recent five, and all in flight",
      [...twenty, running(98), running(99)],
      ["op-98", "op-99", ...twenty.slice(0, 5).map(({ id }) => id)],
    ],
    ["an availability check that succeeded → is left out", [check("finished")], []],
    ["an availability check in flight → is left out", [check("running")], []],
    ["an availability check that failed → is shown", [check("failed")], ["op-1"]],
  ])("%s", (_name, given, want) => {
    expect(idsOf(shown(given))).toEqual(want);
  });

  it.each<[string, Partial<Operation>, number | undefined]>([
    ["ended → by the control plane's clock", { updatedTime: at(-0.188) }, 812],
    ["ended, and the control plane says how long → in whole milliseconds", { totalDurationMs: 43.6 }, 44],
    ["too large for the API server → the largest that it takes", { totalDurationMs: 1e300 }, Number.MAX_SAFE_INTEGER],
    ["not a number → none", { totalDurationMs: Number.NaN }, undefined],
    ["an unreadable time → none", { updatedTime: "?" }, undefined],
    ["in flight → none", { status: "running" }, undefined],
  ])("the duration of an operation: %s", (_name, change, want) => {
    expect(shown([nth(1, change)])[0]?.durationMilliseconds).toBe(want);
  });

  it("a long error → is shortened", () => {
    expect(shown([nth(1, { status: "failed", error: "x".repeat(9_000) })])[0]?.error).toHaveLength(256);
  });
});

describe("what status has shown before", () => {
  const seenAs = (...given: readonly Operation[]) => shown(given);

  it.each<[string, readonly Operation[], readonly Operation[], Shown]>([
    ["only the time of change moved", [running(1)], [nth(1, { status: "running", updatedTime: at(0) })], {}],
    ["the snapshot does not go back as far, as after a restart", [nth(1), nth(2), nth(3)], [nth(1)], {}],
    ["a read that is older than status", [nth(1)], [running(1)], {}],
    ["in flight, and its read fails: that is no absence", [running(1), nth(2)], [nth(2)], { unseenIds: ["op-1"] }],
  ])("%s → stays word for word", (_name, seen, now, given) => {
    expect(shown(now, { previous: seenAs(...seen), ...given })).toEqual(seenAs(...seen));
  });

  it.each<[string, readonly Operation[], readonly Operation[], Shown, readonly string[]]>([
    ["in flight, and not in the log any more → goes", [running(1), nth(2)], [nth(2)], {}, ["op-2"]],
    ["another resource's by now → goes", [nth(1), nth(2)], [nth(1)], { ofOthers: [nth(2)] }, ["op-1"]],
    [
      "a list that lags shows only older ones → stands before them",
      [nth(1), nth(3)],
      [nth(3), nth(4)],
      {},
      ["op-1", "op-3", "op-4"],
    ],
    [
      "five, and new ones → the oldest go",
      twenty,
      [running(1), nth(2)],
      {},
      ["op-1", "op-2", ...twenty.slice(0, 4).map(({ id }) => id)],
    ],
  ])("%s", (_name, seen, now, given, want) => {
    expect(idsOf(shown(now, { previous: seenAs(...seen), ...given }))).toEqual(want);
  });

  it.each([{ status: "finished" }, { failuresCount: 1 }])("%o → is rewritten, but its cause stays", (change) => {
    const previous = shown([running(1)], { cause: "SpecChange" });
    const [entry] = shown([nth(1, { status: "running", ...change })], { previous });
    expect(entry).toMatchObject({ ...change, cause: "SpecChange" });
  });
});

it("a branch → its own operations, and not those of its endpoints", () => {
  const ofBranch = { action: "create_branch", endpointId: undefined };
  const reset = nth(1, { ...ofBranch, action: "apply_config" });
  const seen = snapshot([reset, nth(2, ofBranch), nth(3), nth(4, { ...ofBranch, branchId: "br-other-2" })]);
  const shownOf = (answeredIds: string[]) => branchOperations(seen, { id: branch, answeredIds });
  expect(shownOf([]).map(({ id, cause }) => `${id} ${cause}`)).toEqual(["op-1 Other", "op-2 SpecChange"]);
  expect(shownOf(["op-1"])[0]?.cause).toBe("SpecChange");
});
