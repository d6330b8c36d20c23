/** Tests the sandbox's store. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { OperationRecord, TimerRecord } from "../../../src/sandbox/engine/records.ts";
import { Store } from "../../../src/sandbox/engine/store.ts";
import { operationRecord, projectRecord } from "../../support/fakes/sandbox-records.ts";

const project = (id: string, sequence: number) => projectRecord(id, { sequence });
const operation = (sequence: number, given: Partial<OperationRecord> = {}) =>
  operationRecord(`op-${sequence}`, { sequence, ...given });

const timer = (key: string, dueMs: number, rank = 0): TimerRecord => ({
  key,
  kind: "operation",
  subjectId: key,
  dueMs,
  rank,
});

function everything(store: Store): unknown {
  const query = { projectId: "p", limit: 100, after: undefined, upTo: undefined };
  return {
    projects: store.projects.list(),
    operations: store.operations.page(query),
    unfinished: [...store.operations.unfinishedOfProject("p"), ...store.operations.unfinishedOfEndpoint("e")],
    timer: store.timers.next(),
    counter: store.counters.get("n"),
  };
}

test("a transaction that throws, with another inside → nothing of it remains", () => {
  const store = new Store();
  store.projects.put(project("a", 1));
  store.projects.put(project("b", 2));
  store.operations.put(operation(1));
  store.timers.put(timer("t", 5));
  store.counters.set("n", 1);
  const before = everything(store);
  const work = () => {
    store.projects.remove("a");
    store.projects.put({ ...project("b", 2), name: "changed" });
    store.projects.put({ ...project("b", 2), name: "changed again" });
    store.projects.put(project("c", 3));
    store.operations.put(operation(1, { status: "finished" }));
    store.transaction(() => store.operations.put(operation(2)));
    store.timers.remove("t");
    store.timers.put(timer("u", 1));
    store.counters.set("n", 9);
    expect(everything(store)).not.toEqual(before);
    throw new Error("no");
  };
  expect(() => store.transaction(work)).toThrow("no");
  expect(everything(store)).toEqual(before);
  store.transaction(() => store.counters.set("n", 2));
  expect(store.counters.get("n")).toBe(2);
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
