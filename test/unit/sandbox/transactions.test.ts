/** Tests the transactions of the sandbox's store. */
import { expect, test } from "vitest";
import type { TimerRecord } from "../../../src/sandbox/engine/records.ts";
import { Store } from "../../../src/sandbox/engine/store.ts";
import type { ChangeSet } from "../../../src/sandbox/storage/transactions.ts";
import { projectRecord } from "../../support/fakes/sandbox-records.ts";

const timer: TimerRecord = { key: "t", kind: "operation", subjectId: "o", dueMs: 1, rank: 0 };

/** Makes a store, and a list of its transactions as `collection key=value`. */
function recorded() {
  const commits: string[][] = [];
  const textOf = (changes: ChangeSet) =>
    [...changes].flatMap(([tracked, keys]) =>
      [...keys.keys()].map((key) => `${tracked.name} ${key}=${tracked.get(key) === undefined ? "none" : "set"}`),
    );
  return { commits, store: new Store((changes) => commits.push(textOf(changes))) };
}

test("a transaction → handed on once, each key once, with what it holds in the end", () => {
  const { store, commits } = recorded();
  store.transaction(() => {
    store.projects.put(projectRecord("a"));
    store.projects.put({ ...projectRecord("a"), name: "changed" });
    store.transaction(() => store.timers.put(timer));
    store.timers.remove("t");
    store.counters.set("n", 1);
  });
  expect(commits).toEqual([["projects a=set", "timers t=none", "counters n=set"]]);
});

test("a transaction that changes nothing, or throws → nothing is handed on", () => {
  const { store, commits } = recorded();
  store.transaction(() => store.projects.remove("none"));
  store.transaction(() => store.timers.remove("none"));
  const failing = () =>
    store.transaction(() => {
      store.projects.put(projectRecord("a"));
      throw new Error("no");
    });
  expect(failing).toThrow("no");
  expect(commits).toEqual([]);
});

test("a write outside a transaction → is one of its own", () => {
  const { store, commits } = recorded();
  store.projects.put(projectRecord("a"));
  store.values.set("v", "x");
  store.projects.remove("a");
  expect(commits).toEqual([["projects a=set"], ["values v=set"], ["projects a=none"]]);
});

test("cleared and filled again → what was there is gone, what came before in the transaction does not count", () => {
  const { store, commits } = recorded();
  store.projects.put(projectRecord("old"));
  store.transaction(() => {
    store.projects.put(projectRecord("lost"));
    store.clear();
    store.projects.put(projectRecord("new"));
  });
  const changes = commits[1]?.filter((change) => change.startsWith("projects"));
  expect(changes?.sort()).toEqual(["projects lost=none", "projects new=set", "projects old=none"]);
});

test("changes that cannot be made to last → the transaction fails and nothing of it remains, a clear neither", () => {
  let isFull = false;
  const store = new Store(() => {
    if (isFull) throw new Error("full");
  });
  store.transaction(() => {
    store.projects.put(projectRecord("a"));
    store.timers.put(timer);
    store.counters.set("n", 1);
    store.values.set("v", "x");
  });
  const before = store.export();
  isFull = true;
  const work = () =>
    store.transaction(() => {
      store.projects.put({ ...projectRecord("a"), name: "changed" });
      store.clear();
      store.projects.put(projectRecord("b"));
      store.timers.put({ ...timer, key: "u" });
      store.counters.set("n", 5);
    });
  expect(work).toThrow("full");
  expect(store.export()).toEqual(before);
  expect(store.timers.next()).toEqual(timer);
});

test("a record made and moved to another group in a transaction that fails → in no group, nor in the list", () => {
  const store = new Store();
  const branch = {
    id: "b",
    sequence: 1,
    projectId: "p",
    parentId: undefined,
    name: "b",
    primary: false,
    protected: false,
    state: "ready",
    createdMs: 0,
    updatedMs: 0,
  } as const;
  const kept = { ...branch, id: "kept" };
  store.branches.put(kept);
  const work = () =>
    store.transaction(() => {
      store.branches.put(branch);
      store.branches.put({ ...branch, projectId: "q" });
      store.branches.put({ ...kept, projectId: "q" });
      store.branches.remove("kept");
      throw new Error("no");
    });
  expect(work).toThrow("no");
  expect(store.branches.list()).toEqual([kept]);
  expect(store.branches.ofProject("p")).toEqual([kept]);
  expect(store.branches.ofProject("q")).toEqual([]);
});

test("a list → the same array until something in it changes, never one that changes under its reader", () => {
  const store = new Store();
  store.projects.put(projectRecord("a"));
  const first = store.projects.list();
  expect(store.projects.list()).toBe(first);
  store.projects.put({ ...projectRecord("b"), sequence: 2 });
  expect(first.map(({ id }) => id)).toEqual(["a"]);
  expect(store.projects.list().map(({ id }) => id)).toEqual(["a", "b"]);
});
