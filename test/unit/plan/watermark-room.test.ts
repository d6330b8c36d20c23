import { describe, expect, it } from "vitest";
import { compareNewestFirst, type Operation, outcomeOf } from "../../../src/domain/operation.ts";
import type { AttributedOperation } from "../../../src/plan/attribute-operations.ts";
import { advanceWatermark, beginWatermark } from "../../../src/plan/watermark.ts";
import { endpoint, logBegun, operation, timeAt } from "./builders.ts";

const begun = logBegun(endpoint({ createdTime: timeAt(-1_000_000_000) }));

const attributed = (operations: readonly Operation[]): readonly AttributedOperation[] =>
  [...operations]
    .sort(compareNewestFirst)
    .map((each) => ({ operation: each, cause: "ControlPlane", outcome: outcomeOf(each) }));

describe("more unfinished operations than there is room for", () => {
  /** By age, the order of their ids is a random one. */
  const many = Array.from({ length: 60 }, (_, index) =>
    operation({ id: `op-${(index * 37) % 60}`, status: "running", createdTime: timeAt(-300_000 + index * 1_000) }),
  );
  const idsOf = (operations: readonly Operation[]) => operations.map(({ id }) => id).sort();
  const reading = { operations: attributed(many), newestListedTime: timeAt(0) };

  it("met in one reading → the newest are waited for, the others are named", () => {
    const { watermark, dropped } = advanceWatermark(begun, reading);
    expect(watermark.unfinishedIds).toEqual(idsOf(many.slice(10)));
    expect([...dropped].sort()).toEqual(idsOf(many.slice(0, 10)));
  });

  it("seen again → the same are waited for, and nobody is named again", () => {
    const { watermark } = advanceWatermark(begun, reading);
    const again = advanceWatermark(watermark, reading);
    expect(again.watermark.unfinishedIds).toEqual(watermark.unfinishedIds);
    expect(again.dropped).toEqual([]);
  });

  it("some that no reading shows any more → these are the oldest", () => {
    const previous = { ...begun, unfinishedIds: ["zz-unseen"] };
    const { watermark, dropped } = advanceWatermark(previous, { ...reading, operations: attributed(many.slice(10)) });
    expect(watermark.unfinishedIds).toEqual(idsOf(many.slice(10)));
    expect(dropped).toEqual(["zz-unseen"]);
  });

  it("met when the endpoint is adopted → the same", () => {
    const adopted = { origin: "Adopted" as const, endpoint: endpoint(), previous: undefined };
    const { watermark, dropped } = beginWatermark({ ...adopted, ...reading });
    expect(watermark.unfinishedIds).toEqual(idsOf(many.slice(10)));
    expect([...dropped].sort()).toEqual(idsOf(many.slice(0, 10)));
  });
});
