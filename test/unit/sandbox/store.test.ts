/** Tests the sandbox's store. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { TimerRecord } from "../../../src/sandbox/engine/records.ts";
import { Store } from "../../../src/sandbox/engine/store.ts";

const timer = (key: string, dueMs: number, rank = 0): TimerRecord => ({
  key,
  kind: "operation",
  subjectId: key,
  dueMs,
  rank,
});

test("timers put, replaced and removed in any order → next is always the earliest that is left", () => {
  const key = fc.integer({ min: 0, max: 7 }).map((n) => `t${n}`);
  const step = fc.oneof(
    fc.record({ kind: fc.constant("put" as const), key, dueMs: fc.integer({ min: 0, max: 5 }), rank: fc.nat(2) }),
    fc.record({ kind: fc.constant("remove" as const), key }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { timers } = new Store();
      const model = new Map<string, TimerRecord>();
      for (const action of steps) {
        if (action.kind === "put") {
          const put = timer(action.key, action.dueMs, action.rank);
          timers.put(put);
          model.set(action.key, put);
        } else {
          timers.remove(action.key);
          model.delete(action.key);
        }
        const order = (a: TimerRecord, b: TimerRecord) =>
          a.dueMs - b.dueMs || a.rank - b.rank || (a.key < b.key ? -1 : 1);
        expect(timers.next()).toEqual([...model.values()].sort(order)[0]);
      }
    }),
  );
});
