/** Tests the work queue. */
import { describe, expect, it } from "vitest";
import type { WorkQueueObserver } from "../../../src/domain/worker.ts";
import { WorkQueue } from "../../../src/runtime/work-queue.ts";
import { FakeClock, settlePromises } from "../../support/fake-clock.ts";

/*
 * The rules of the queue, which client-go and controller-runtime test too. The names of the tests begin with these numbers.
 *   1  a key added twice is handed out once
 *   2  a key added while a worker holds it is handed out again, after the worker lets go, and not before
 *   3  a key added many times while held is handed out once more, not many times
 *   4  first in, first out
 *   5  the listener hears of every key that has become ready
 *   6  a delayed add is not seen before its time
 *   7  of two delayed adds of a key the earlier counts, whichever came first
 *   8  a delayed add that falls due while the key is held or queued does not double it
 *   9  delays double per key, are capped, and start over after forget; keys do not share them
 *  10  shutting down drops what waits, and refuses adds
 *  11  an urgent key passes a backlog; a stream of urgent keys does not starve the backlog
 *  12  the observer sees every add, hand-over, end and retry with its duration
 */

interface Differences {
  readonly random?: () => number;
  readonly observer?: WorkQueueObserver;
}

function startQueue(options: Differences = {}) {
  const clock = new FakeClock();
  const { random = () => 0.999_999, ...rest } = options;
  const queue = new WorkQueue({ clock, random, ...rest });
  return { clock, queue };
}

/** Takes all keys that the queue would hand out now, without waiting. The keys are not given back. */
function takeAll(queue: WorkQueue): readonly string[] {
  const taken: string[] = [];
  while (queue.stats().depth > 0) {
    const key = queue.take();
    if (key === undefined) break;
    taken.push(key);
    queue.done(key);
  }
  return taken;
}

describe("adding and taking", () => {
  it("1: a key added twice → is handed out once", () => {
    const { queue } = startQueue();
    queue.add("a");
    queue.add("a");
    queue.add("a", "Background");
    expect(takeAll(queue)).toEqual(["a"]);
  });

  it("2 and 3: a held key added many times → handed out once more, only after it was let go", () => {
    const { queue } = startQueue();
    queue.add("a");
    expect(queue.take()).toBe("a");
    queue.add("a");
    queue.add("a", "Background");
    queue.add("a");
    expect(queue.stats()).toMatchObject({ depth: 0, working: 1 });
    queue.done("a");
    expect(queue.stats()).toMatchObject({ depth: 1, working: 0 });
    expect(takeAll(queue)).toEqual(["a"]);
  });

  it("4: many keys → first in, first out", () => {
    const { queue } = startQueue();
    for (const key of ["c", "a", "b", "a"]) queue.add(key);
    expect(takeAll(queue)).toEqual(["c", "a", "b"]);
  });

  it("5: keys that become ready → the listener is called each time, for a held key when it is let go", async () => {
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

  it("release of a key that no worker holds → changes nothing", () => {
    const { queue } = startQueue();
    queue.done("a");
    queue.add("a");
    queue.done("a");
    expect(takeAll(queue)).toEqual(["a"]);
  });
});

describe("delayed adds", () => {
  it("6: before its time → not seen; at its time → handed out", async () => {
    const { clock, queue } = startQueue();
    queue.addAfter("a", 100);
    await clock.advance(99);
    expect(queue.stats()).toMatchObject({ depth: 0, delayed: 1 });
    await clock.advance(1);
    expect(queue.stats()).toMatchObject({ depth: 1, delayed: 0 });
  });

  for (const delays of [
    [50, 500],
    [500, 50],
  ]) {
    it(`7: delays of ${delays.join(" then ")} ms → once, after 50 ms`, async () => {
      const { clock, queue } = startQueue();
      for (const delayMs of delays) queue.addAfter("a", delayMs);
      await clock.advance(50);
      expect(takeAll(queue)).toEqual(["a"]);
      await clock.advance(1_000);
      expect(takeAll(queue)).toEqual([]);
    });
  }

  it("8: due while queued → once; due while held → once more after it was let go", async () => {
    const { clock, queue } = startQueue();
    queue.addAfter("a", 10);
    queue.add("a");
    await clock.advance(10);
    expect(queue.stats().depth).toBe(1);
    queue.take();
    queue.addAfter("a", 10);
    await clock.advance(10);
    expect(queue.stats()).toMatchObject({ depth: 0, working: 1 });
    queue.done("a");
    expect(takeAll(queue)).toEqual(["a"]);
  });

  it("no delay, or a negative one → at once", () => {
    const { queue } = startQueue();
    queue.addAfter("a", 0);
    queue.addAfter("b", -5);
    expect(takeAll(queue)).toEqual(["a", "b"]);
  });
});

describe("backoff", () => {
  it("9: failures in a row → delays double from 5 ms to 5 min, and start over after forget", () => {
    const { queue } = startQueue();
    const delays = Array.from({ length: 20 }, () => Math.round(queue.retry("a")));
    expect(delays.slice(0, 5)).toEqual([5, 10, 20, 40, 80]);
    expect(delays.at(-1)).toBe(300_000);
    expect(Math.max(...delays)).toBe(300_000);
    expect(queue.failures("a")).toBe(20);
    expect(Math.round(queue.retry("b")), "keys do not share delays").toBe(5);
    queue.forget("a");
    expect(queue.failures("a")).toBe(0);
    expect(Math.round(queue.retry("a"))).toBe(5);
  });

  it("9: the least chance → half the delay, so never none", () => {
    const { queue } = startQueue({ random: () => 0 });
    expect(queue.retry("a")).toBe(2.5);
  });
});

describe("shutting down", () => {
  it("10: keys queued, delayed and held → dropped, no timer is left, the held one may end", () => {
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
    expect(queue.stats()).toMatchObject({ depth: 0, delayed: 0, working: 0 });
  });
});

describe("fairness", () => {
  it("11: one edit behind 5,000 resyncs → is next", () => {
    const { queue } = startQueue();
    for (let index = 0; index < 5_000; index += 1) queue.add(`resync-${index}`, "Background");
    queue.add("edited");
    expect(queue.take()).toBe("edited");
  });

  it("11: an edit of a key of the backlog → lifts it out, once", () => {
    const { queue } = startQueue();
    for (const key of ["a", "b", "c"]) queue.add(key, "Background");
    queue.add("c");
    expect(queue.stats().depth).toBe(3);
    expect(takeAll(queue)).toEqual(["c", "a", "b"]);
  });

  it("11: edits without end → a key of the backlog is taken now and then", () => {
    const { queue } = startQueue();
    queue.add("resync-1", "Background");
    queue.add("resync-2", "Background");
    const taken: (string | undefined)[] = [];
    for (let index = 0; index < 40; index += 1) {
      queue.add(`edit-${index}`);
      taken.push(queue.take());
    }
    expect(taken.filter((key) => key?.startsWith("resync"))).toEqual(["resync-1", "resync-2"]);
    expect(taken.indexOf("resync-1")).toBe(16);
    expect(taken.indexOf("resync-2")).toBe(33);
  });

  it("11: edits while there is no backlog → do not count; once there is one, the next edit is still ahead of it", () => {
    const { queue } = startQueue();
    for (let index = 0; index < 20; index += 1) {
      queue.add(`edit-${index}`);
      queue.take();
    }
    queue.add("resync", "Background");
    queue.add("edited");
    expect(queue.take()).toBe("edited");
  });

  it("a held key added for background and then edited → comes back ahead of the backlog", () => {
    const { queue } = startQueue();
    queue.add("a");
    queue.take();
    queue.add("resync", "Background");
    queue.add("a", "Background");
    queue.add("a");
    queue.done("a");
    expect(takeAll(queue)).toEqual(["a", "resync"]);
  });
});

describe("observation", () => {
  it("12: a key's way through → each step with its duration in seconds", async () => {
    const seen: string[] = [];
    const observer: WorkQueueObserver = {
      added: () => seen.push("added"),
      depthChanged: (depth) => seen.push(`depth ${depth}`),
      taken: (seconds) => seen.push(`taken ${seconds}`),
      finished: (seconds) => seen.push(`finished ${seconds}`),
      retried: () => seen.push("retried"),
    };
    const { clock, queue } = startQueue({ observer });
    queue.add("a");
    queue.add("a");
    await clock.advance(2_000);
    queue.take();
    await clock.advance(3_000);
    expect(queue.stats()).toMatchObject({ unfinishedWorkSeconds: 3, longestRunningSeconds: 3 });
    queue.retry("a");
    queue.done("a");
    await settlePromises();
    expect(seen).toEqual(["added", "depth 1", "taken 2", "depth 0", "retried", "finished 3"]);
  });

  it("12: a key lifted out of the backlog → has waited since it was first added", async () => {
    const taken: number[] = [];
    const ignored = { added() {}, depthChanged() {}, finished() {}, retried() {} };
    const { clock, queue } = startQueue({ observer: { ...ignored, taken: (seconds) => taken.push(seconds) } });
    queue.add("a", "Background");
    await clock.advance(2_000);
    queue.add("a");
    await clock.advance(1_000);
    queue.take();
    expect(taken).toEqual([3]);
  });
});
