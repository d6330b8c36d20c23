/** Tests how far back the operation log is read. */
import { describe, expect, it } from "vitest";
import { historyRangeOf } from "../../../src/operations/watermark.ts";
import { at, begunState, operation, reduceAll } from "./log-builders.ts";

describe("the operation history range that a resource needs", () => {
  it("no log has begun, or its watermark cannot be read → nothing", () => {
    expect(historyRangeOf("uid-a", undefined)).toBeUndefined();
    const damaged = { sinceTime: "", createdTime: "?", ids: [], unfinishedIds: [] };
    expect(historyRangeOf("uid-a", damaged)).toBeUndefined();
  });

  it("nothing was met yet → everything since just before the creation, not since the floor before that", () => {
    const range = historyRangeOf("uid-a", begunState().operationWatermark);
    expect(range).toEqual({
      uid: "uid-a",
      sinceMs: Date.parse(at(-3_602)),
      certainMs: Date.parse(at(-3_602)),
      unfinishedIds: [],
    });
  });

  it("operations were met → back to the floor; all but the last minute of it has certainly been counted", () => {
    const [step] = reduceAll([{ listed: [operation("a", -9), operation("b", -20, { status: "running" })] }]);
    expect(historyRangeOf("uid-a", step?.state.operationWatermark)).toEqual({
      uid: "uid-a",
      sinceMs: Date.parse(at(-5_409)) + 1,
      certainMs: Date.parse(at(-69)),
      unfinishedIds: ["b"],
    });
  });
});
