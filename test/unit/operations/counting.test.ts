/** Tests which stored watermarks hold an operation, and that each operation is counted once. */
import { describe, expect, it } from "vitest";
import type { EndedOperation } from "../../../src/domain/operation.ts";
import type { ResourceEvent } from "../../../src/domain/resource-store.ts";
import { type CountedOperation, countStored } from "../../../src/operations/counting.ts";
import { parseComputeEndpoint } from "../../../src/resource/compute-endpoint.ts";
import type { OperationWatermark } from "../../../src/resource/status-schema.ts";
import { at } from "./log-builders.ts";

const metadata = { namespace: "shop", name: "orders", uid: "uid-orders", resourceVersion: "1", generation: 1 };

const failed: CountedOperation = {
  ...{ operationId: "a", action: "start_compute", outcome: "failed", cause: "SpecChange" },
  ...{ durationMs: 9, createdMs: Date.parse(at(0)), error: "no room" },
};

/** Shows statuses with these watermarks one after the other. Returns the ids that were counted, and the events' texts. */
function countedAfter(...marks: readonly (Partial<OperationWatermark> | undefined)[]) {
  const counted: EndedOperation[] = [];
  const events: ResourceEvent[] = [];
  const targets = {
    metrics: { countEnded: (each: EndedOperation) => void counted.push(each), logCutShort() {}, forgetResource() {} },
    events: { record: (_: unknown, event: ResourceEvent) => void events.push(event) },
  };
  const pending = new Map([["a", failed]]);
  for (const mark of marks) {
    const operationWatermark = mark && { floorTime: at(-60), counted: [], unfinishedIds: [], ...mark };
    countStored(targets, pending, parseComputeEndpoint({ metadata, status: { operationWatermark } }));
  }
  return [counted.map(({ operationId }) => operationId), events.map(({ note }) => note)];
}

const once = [["a"], ["Operation start_compute failed: no room"]];
const never = [[], []];

describe("a stored status → counts a pending failure once, with an event", () => {
  it.each<[string, readonly (Partial<OperationWatermark> | undefined)[], unknown]>([
    ["it was created at the floor", [{ floorTime: at(0) }], once],
    ["it was created after the floor, and is not counted", [{}], never],
    ["its id is counted", [{ counted: [{ id: "a", createdTime: at(0) }] }], once],
    ["it is at the floor, and unfinished", [{ floorTime: at(0), unfinishedIds: ["a"] }], never],
    [
      "its id is counted, and unfinished",
      [{ counted: [{ id: "a", createdTime: at(0) }], unfinishedIds: ["a"] }],
      never,
    ],
    ["no watermark, or an unreadable floor", [undefined, { floorTime: "?" }], never],
    ["an old status, then the new one twice", [{}, { floorTime: at(0) }, { floorTime: at(9) }], once],
  ])("%s", (_name, marks, want) => {
    expect(countedAfter(...marks)).toEqual(want);
  });
});
