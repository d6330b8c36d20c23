/** Tests the store on disk: transactions, and directories that cannot be used. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import type { OperationRecord } from "../../../src/sandbox/engine/records.ts";
import { Store } from "../../../src/sandbox/engine/store.ts";
import { openDurableStore } from "../../../src/sandbox/sandbox-state.ts";
import { type StorageError, stateFileName } from "../../../src/sandbox/storage/sqlite-file.ts";
import { operationRecord, projectRecord } from "../../support/fakes/sandbox-records.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const isLong = process.env.LONG === "1";

const unexpected = (error: StorageError) => expect.fail(error.message);

const newDirectory = (): string => temporaryFolder("sandbox-store");

function open(directory: string) {
  const opened = openDurableStore(directory, unexpected);
  onTestFinished(opened.close);
  return opened;
}

const project = (id: string, sequence: number) => projectRecord(id, { sequence, name: `${id} <&"\\ \u00e9\u4f60` });

const operation = (sequence: number, status: OperationRecord["status"]) => {
  const endpointId = sequence % 2 === 0 ? "e" : undefined;
  return operationRecord(`o${sequence}`, { sequence, endpointId, status, createdMs: sequence, updatedMs: sequence });
};

type Step = (store: Store) => void;

const doing = <T>(values: fc.Arbitrary<T>, work: (store: Store, value: T) => void): fc.Arbitrary<Step> =>
  values.map((value) => (store) => work(store, value));

const timerStep = fc.record({ key: fc.constantFrom("t", "u"), dueMs: fc.nat(9) });

const step: fc.Arbitrary<Step> = fc.oneof(
  doing(fc.nat(5), (store, n) => store.projects.put(project(`p${n}`, n))),
  doing(fc.nat(5), (store, n) => store.projects.remove(`p${n}`)),
  doing(timerStep, ({ timers }, { key, dueMs }) =>
    timers.put({ key, kind: "operation", subjectId: key, dueMs, rank: 0 }),
  ),
  doing(fc.constantFrom("t", "u"), (store, key) => store.timers.remove(key)),
  doing(fc.constantFrom("running", "finished" as const), (store, status) => {
    const sequence = store.counters.get("sequence") + 1;
    store.counters.set("sequence", sequence);
    store.operations.put(operation(sequence, status));
  }),
  doing(fc.string(), (store, text) => store.values.set("text", text)),
  fc.constant<Step>((store) => store.clear()),
  fc.constant<Step>(() => {
    throw new Error("refused");
  }),
);

test("any transactions, then opened again → what a store in memory holds, in the same order", {
  timeout: isLong ? 600_000 : 300_000,
}, () => {
  const run = (store: Store, steps: readonly Step[]) => {
    try {
      store.transaction(() => {
        for (const one of steps) one(store);
      });
    } catch (error) {
      expect((error as Error).message).toBe("refused");
    }
  };
  const sorted = (store: Store) => {
    const content = store.export();
    return { ...content, timers: [...content.timers].sort((a, b) => (a.key < b.key ? -1 : 1)) };
  };
  const transactions = fc.array(fc.array(step, { maxLength: 6 }), { maxLength: 12 });
  fc.assert(
    fc.property(transactions, transactions, (before, after) => {
      const directory = mkdtempSync(join(tmpdir(), "sandbox-store-"));
      const inMemory = new Store();
      try {
        for (const part of [before, after]) {
          const { store, close } = openDurableStore(directory, unexpected);
          expect(sorted(store)).toEqual(sorted(inMemory));
          for (const steps of part) {
            for (const each of [store, inMemory]) run(each, steps);
          }
          close();
        }
        const { store, close } = openDurableStore(directory, unexpected);
        expect(sorted(store)).toEqual(sorted(inMemory));
        expect(store.timers.next()).toEqual(inMemory.timers.next());
        expect([...store.operations.unfinishedOfEndpoint("e")]).toEqual([
          ...inMemory.operations.unfinishedOfEndpoint("e"),
        ]);
        close();
      } finally {
        rmSync(directory, { recursive: true });
      }
    }),
    { numRuns: isLong ? 1000 : 60 },
  );
});

describe("a directory that cannot be used", () => {
  const refusal = (directory: string) => {
    try {
      open(directory);
    } catch (error) {
      return error as StorageError;
    }
    return expect.fail("it was opened");
  };

  const editing = (sql: string) => (file: string) => {
    const edited = new DatabaseSync(file);
    edited.exec(sql);
    edited.close();
  };

  test.each<[what: string, isNew: boolean, spoil: (file: string) => void, reason: string, message: string]>([
    ["not a database", true, (file) => writeFileSync(file, "my notes. ".repeat(1000)), "Damaged", "move it away"],
    ["of another program", true, editing("CREATE TABLE mine (a); INSERT INTO mine VALUES (1)"), "Foreign", "another"],
    ["written by a later version", false, editing("PRAGMA user_version = 99"), "Newer", "later version"],
    ["with a row of no sandbox", false, editing("INSERT INTO record VALUES ('projects', 'p', '{')"), "Damaged", ""],
    [
      "damaged in the middle",
      false,
      (file) => writeFileSync(file, readFileSync(file).fill(0xa5, 4096, 4096 * 6)),
      "Damaged",
      stateFileName,
    ],
  ])("%s → refused, left as it is", (_what, isNew, spoil, reason, message) => {
    const directory = newDirectory();
    const file = join(directory, stateFileName);
    if (!isNew) {
      const { store, close } = open(directory);
      store.transaction(() => {
        for (let n = 0; n < 500; n += 1) store.projects.put(project(`p${n}`, n));
      });
      close();
    }
    spoil(file);
    const before = readFileSync(file);
    expect(refusal(directory)).toMatchObject({ reason, message: expect.stringContaining(message) });
    if (isNew) expect(readFileSync(file).equals(before)).toBe(true);
  });

  test("below a file, or where nothing can be made → refused", () => {
    const directory = newDirectory();
    const file = join(directory, "file");
    writeFileSync(file, "");
    expect(refusal(join(file, "deeper"))).toMatchObject({ reason: "CannotOpen" });
    expect(refusal(file)).toMatchObject({ reason: "CannotOpen" });
    expect(refusal("/proc/nothing/here")).toMatchObject({ reason: "CannotOpen" });
  });
});

test("a new directory → for its owner only", () => {
  const directory = join(newDirectory(), "a", "b");
  open(directory);
  expect(statSync(directory).mode & 0o777).toBe(0o700);
});
