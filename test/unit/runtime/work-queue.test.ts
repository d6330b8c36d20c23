/** Tests the work queue. */
import { expect, it } from "vitest";
import type { Urgency } from "../../../src/domain/control-plane.ts";
import type { WorkQueueObserver } from "../../../src/domain/worker.ts";
import { WorkQueue } from "../../../src/runtime/work-queue.ts";
import { FakeClock } from "../../support/fake-clock.ts";

function startQueue(options: { readonly random?: () => number; readonly observer?: WorkQueueObserver } = {}) {
  const clock = new FakeClock();
  const queue = new WorkQueue({ clock, random: () => 0.999_999, ...options });
  return { clock, queue };
}

/** Takes and gives back all keys that the queue would hand out now. */
function takeAll(queue: WorkQueue): readonly string[] {
  const taken: string[] = [];
  for (let key = queue.take(); key !== undefined; key = queue.take()) {
    taken.push(key);
    queue.done(key);
  }
  return taken;
}

type Step = readonly [key: string, priority?: Urgency];

it.each<[string, readonly Step[], readonly string[]]>([
  ["a key twice → once", [["a"], ["a"], ["a", "Background"]], ["a"]],
  ["many keys → first in, first out", [["c"], ["a"], ["b"], ["a"]], ["c", "a", "b"]],
  ["an edit behind resyncs → is next", [["a", "Background"], ["b", "Background"], ["c"]], ["c", "a", "b"]],
  [
    "an edit of a key of the backlog → lifts it out, once",
    [["a", "Background"], ["b", "Background"], ["b"], ["b"]],
    ["b", "a"],
  ],
])("%s", (_, adds, wanted) => {
  const { queue } = startQueue();
  for (const add of adds) queue.add(...add);
  expect(takeAll(queue)).toEqual(wanted);
});

it("a held key added many times → handed out once more, only after it was let go, as urgent as its edit", () => {
  const { queue } = startQueue();
  queue.add("a");
  expect(queue.take()).toBe("a");
  queue.add("resync", "Background");
  for (const priority of ["Background", "Urgent", "Background"] as const) queue.add("a", priority);
  expect(queue.stats()).toMatchObject({ depth: 1 });
  queue.done("a");
  queue.done("never taken");
  expect(takeAll(queue)).toEqual(["a", "resync"]);
});

it("keys that become ready → the listener is called each time, for a held key when it is let go", async () => {
  const { clock, queue } = startQueue();
  let calls = 0;
  queue.onReady(() => {
    calls += 1;
  });
  queue.add("a");
  queue.addAfter("b", 10);
  expect([calls, queue.take(), queue.take()]).toEqual([1, "a", undefined]);
  queue.add("a");
  expect(calls).toBe(1);
  queue.done("a");
  expect(calls).toBe(2);
  await clock.advance(10);
  expect(calls).toBe(3);
});

it.each([[[50, 500]], [[500, 50]]])("delays of %j ms → once, after 50 ms", async (delays) => {
  const { clock, queue } = startQueue();
  for (const delayMs of delays) queue.addAfter("a", delayMs);
  await clock.advance(49);
  expect(queue.stats()).toMatchObject({ depth: 0 });
  await clock.advance(1);
  expect(takeAll(queue)).toEqual(["a"]);
  await clock.advance(1_000);
  expect(takeAll(queue)).toEqual([]);
});

it("due while queued → once; due while held → once more after it was let go; no delay → at once", async () => {
  const { clock, queue } = startQueue();
  queue.addAfter("a", 10);
  queue.addAfter("a", 0);
  await clock.advance(10);
  expect(queue.stats().depth).toBe(1);
  queue.take();
  queue.addAfter("a", 10);
  await clock.advance(10);
  expect(queue.stats()).toMatchObject({ depth: 0 });
  queue.done("a");
  expect(takeAll(queue)).toEqual(["a"]);
});

it("failures in a row → delays double from 5 ms to 5 min, and start over after forget", async () => {
  const { clock, queue } = startQueue();
  const delayOf = async (key: string) => {
    queue.retry(key);
    const delayMs = Math.round(clock.nextTimerInMs ?? 0);
    await clock.advance(delayMs);
    expect(takeAll(queue)).toEqual([key]);
    return delayMs;
  };
  const delays: number[] = [];
  for (let failure = 0; failure < 18; failure += 1) delays.push(await delayOf("a"));
  expect(delays.slice(0, 5)).toEqual([5, 10, 20, 40, 80]);
  expect(delays.slice(-2)).toEqual([300_000, 300_000]);
  expect(await delayOf("b"), "keys do not share delays").toBe(5);
  queue.forget("a");
  expect(await delayOf("a")).toBe(5);
});

it("the least chance → half the delay, so never none", () => {
  const { clock, queue } = startQueue({ random: () => 0 });
  queue.retry("a");
  expect(clock.nextTimerInMs).toBe(2.5);
});

it("keys queued, delayed and held → dropped, no timer is left, the held one may end", () => {
  const { clock, queue } = startQueue();
  queue.add("held");
  queue.take();
  queue.add("queued");
  queue.addAfter("delayed", 10);
  queue.shutDown();
  queue.add("late");
  queue.addAfter("late", 5);
  queue.retry("held");
  queue.done("held");
  expect(queue.take()).toBeUndefined();
  expect(clock.pendingTimers).toBe(0);
  expect(queue.stats()).toMatchObject({ depth: 0 });
});

it("edits without end → a key of the backlog is taken now and then", () => {
  const { queue } = startQueue();
  const taken: (string | undefined)[] = [];
  for (let index = 0; index < 60; index += 1) {
    if (index === 20) for (const key of ["resync-1", "resync-2"]) queue.add(key, "Background");
    queue.add(`edit-${index}`);
    taken.push(queue.take());
  }
  expect([taken.indexOf("resync-1"), taken.indexOf("resync-2")]).toEqual([36, 53]);
});

it("a key's way through → each step with its duration in seconds, from its first add", async () => {
  const seen: string[] = [];
  const observer: WorkQueueObserver = {
    added: () => seen.push("added"),
    taken: (seconds) => seen.push(`taken ${seconds}`),
    finished: (seconds) => seen.push(`finished ${seconds}`),
    retried: () => seen.push("retried"),
  };
  const { clock, queue } = startQueue({ observer });
  queue.add("a", "Background");
  await clock.advance(1_000);
  queue.add("a");
  expect(queue.stats()).toMatchObject({ depth: 1 });
  await clock.advance(1_000);
  queue.take();
  await clock.advance(3_000);
  expect(queue.stats()).toMatchObject({ depth: 0, unfinishedWorkSeconds: 3, longestRunningSeconds: 3 });
  queue.retry("a");
  queue.done("a");
  expect(seen).toEqual(["added", "taken 2", "retried", "finished 3"]);
});
