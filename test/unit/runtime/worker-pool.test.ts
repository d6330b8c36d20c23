/** Tests the worker pool. */
import { describe, expect, it } from "vitest";
import type { Requeue, WorkerSlot } from "../../../src/domain/worker.ts";
import { WorkQueue } from "../../../src/runtime/work-queue.ts";
import { WorkerPool } from "../../../src/runtime/worker-pool.ts";
import { FakeClock, settlePromises } from "../../support/fake-clock.ts";

interface Reconcile {
  readonly key: string;
  readonly slot: WorkerSlot;
  readonly end: (result: Requeue) => void;
  readonly fail: (error: Error) => void;
}

/** A pool whose reconciles end when the test says so. */
function startPool(workers: number) {
  const clock = new FakeClock();
  const queue = new WorkQueue({ clock, random: () => 0.999_999 });
  const reconciles: Reconcile[] = [];
  const results: string[] = [];
  const errors: unknown[] = [];
  let mostActive = 0;
  const pool = new WorkerPool({
    clock,
    queue,
    workers,
    work: (key, slot) => {
      const { promise, resolve, reject } = Promise.withResolvers<Requeue>();
      reconciles.push({ key, slot, end: resolve, fail: reject });
      return promise;
    },
    onError: (_key, error) => errors.push(error),
    observer: {
      workersChanged: (active) => {
        mostActive = Math.max(mostActive, active);
      },
      reconcileEnded: (result) => results.push(result),
    },
  });
  pool.start();
  return { clock, queue, pool, reconciles, results, errors, mostActive: () => mostActive };
}

describe("the worker pool", () => {
  it("more keys than workers → as many reconciles at once as there are workers, never two of a key", async () => {
    const { queue, reconciles } = startPool(2);
    for (const key of ["a", "b", "c"]) queue.add(key);
    await settlePromises();
    queue.add("a");
    expect(reconciles.map(({ key }) => key)).toEqual(["a", "b"]);
    reconciles[1]?.end({ kind: "Done" });
    await settlePromises();
    expect(reconciles.map(({ key }) => key)).toEqual(["a", "b", "c"]);
    reconciles[0]?.end({ kind: "Done" });
    await settlePromises();
    expect(reconciles.map(({ key }) => key)).toEqual(["a", "b", "c", "a"]);
  });

  it("RequeueAfter → again at that time; a failure before it is forgotten", async () => {
    const { clock, queue, reconciles, results } = startPool(1);
    queue.add("a");
    await settlePromises();
    reconciles[0]?.end({ kind: "Retry" });
    await clock.advance(5);
    expect(queue.failures("a")).toBe(1);
    reconciles[1]?.end({ kind: "RequeueAfter", delayMs: 30_000 });
    await clock.advance(29_999);
    expect(reconciles).toHaveLength(2);
    await clock.advance(1);
    expect(reconciles).toHaveLength(3);
    expect(queue.failures("a")).toBe(0);
    expect(results).toEqual(["requeue", "requeue_after"]);
  });

  it("RequeueAfter 0 in a backlog → its next reconcile comes before the backlog", async () => {
    const { queue, reconciles } = startPool(1);
    queue.add("a");
    queue.add("b", "Background");
    await settlePromises();
    reconciles[0]?.end({ kind: "RequeueAfter", delayMs: 0 });
    await settlePromises();
    expect(reconciles.map(({ key }) => key)).toEqual(["a", "a"]);
  });

  it("5,000 resyncs fall due while the one worker is busy → an edit is next, then they in their order, each once", async () => {
    const { clock, queue, reconciles } = startPool(1);
    const keys = Array.from({ length: 5_000 }, (_, index) => `db-${index}`);
    for (const key of keys) queue.addAfter(key, 600_000);
    queue.add("busy");
    await clock.advance(600_000);
    expect(queue.stats()).toMatchObject({ depth: 5_000, working: 1 });
    queue.add("db-4711");
    for (let ended = 0; ended < reconciles.length; ended += 1) {
      reconciles[ended]?.end({ kind: "Done" });
      await settlePromises();
    }
    const others = keys.filter((key) => key !== "db-4711");
    expect(reconciles.map(({ key }) => key)).toEqual(["busy", "db-4711", ...others]);
  });

  it("a reconcile that throws → is reported and tried again, the worker lives", async () => {
    const { clock, queue, reconciles, errors, results } = startPool(1);
    queue.add("a");
    await settlePromises();
    reconciles[0]?.fail(new Error("a bug"));
    await clock.advance(5);
    expect(reconciles).toHaveLength(2);
    expect(errors).toEqual([new Error("a bug")]);
    expect(results).toEqual(["error"]);
  });

  it("stopping while a reconcile runs → waits for it, starts no other", async () => {
    const { clock, queue, pool, reconciles } = startPool(1);
    queue.add("a");
    queue.add("b");
    await settlePromises();
    const stopped = pool.stop(10_000);
    await clock.advance(5_000);
    reconciles[0]?.end({ kind: "RequeueAfter", delayMs: 0 });
    expect(await stopped).toBe(true);
    expect(reconciles).toHaveLength(1);
    expect(clock.pendingTimers).toBe(0);
  });

  it("stopping while a reconcile hangs → gives up when time is over and says so", async () => {
    const { clock, queue, pool } = startPool(1);
    queue.add("a");
    await settlePromises();
    const stopped = pool.stop(10_000);
    await clock.advance(10_000);
    expect(await stopped).toBe(false);
  });
});

/** A wait that ends when the test says so. */
function openWait() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { wait: () => promise, end: resolve };
}

describe("a reconcile that waits for the control plane", () => {
  const keysOf = (reconciles: readonly Reconcile[]) => reconciles.map(({ key }) => key);

  it("30 keys wait, 2 workers → another key is reconciled meanwhile, and no key twice at once", async () => {
    const { pool, queue, reconciles } = startPool(2);
    const hanging = openWait();
    const keys = Array.from({ length: 30 }, (_, index) => `hangs-${index}`);
    for (const [index, key] of keys.entries()) {
      queue.add(key);
      await settlePromises();
      void reconciles[index]?.slot.whileWaiting(hanging.wait);
    }
    queue.add("hangs-0");
    queue.add("healthy");
    await settlePromises();
    expect(keysOf(reconciles)).toEqual([...keys, "healthy"]);
    expect([pool.activeWorkers(), queue.stats().working]).toEqual([1, 31]);
  });

  it("waits that end at once → at most as many go on as there are workers, before any new key", async () => {
    const { pool, queue, reconciles, mostActive } = startPool(2);
    const wait = openWait();
    const resumed: string[] = [];
    for (const [index, key] of ["a", "b", "c", "d"].entries()) {
      queue.add(key);
      await settlePromises();
      void reconciles[index]?.slot.whileWaiting(wait.wait).then(() => resumed.push(key));
    }
    await settlePromises();
    wait.end();
    queue.add("new");
    await settlePromises();
    expect([resumed, pool.activeWorkers()]).toEqual([["a", "b"], 2]);
    reconciles[0]?.end({ kind: "Done" });
    reconciles[1]?.end({ kind: "Done" });
    await settlePromises();
    expect(resumed).toEqual(["a", "b", "c", "d"]);
    expect(keysOf(reconciles)).not.toContain("new");
    reconciles[2]?.end({ kind: "Done" });
    await settlePromises();
    expect([keysOf(reconciles).at(-1), mostActive()]).toEqual(["new", 2]);
  });

  it("a wait that throws → the error comes through, with a worker held again", async () => {
    const { pool, queue, reconciles } = startPool(1);
    queue.add("a");
    await settlePromises();
    const failed = reconciles[0]?.slot.whileWaiting(async () => {
      expect(pool.activeWorkers()).toBe(0);
      throw new Error("timed out");
    });
    await expect(failed).rejects.toThrow("timed out");
    expect(pool.activeWorkers()).toBe(1);
  });

  it("two waits at once → the worker is given back once, and taken again once after the later one", async () => {
    const { pool, queue, reconciles } = startPool(1);
    const [first, second, third] = [openWait(), openWait(), openWait()];
    queue.add("a");
    await settlePromises();
    const slot = reconciles[0]?.slot;
    void slot?.whileWaiting(first.wait);
    void slot?.whileWaiting(second.wait);
    await settlePromises();
    expect(pool.activeWorkers()).toBe(0);
    first.end();
    await settlePromises();
    expect(pool.activeWorkers()).toBe(0);
    second.end();
    void slot?.whileWaiting(third.wait);
    third.end();
    await settlePromises();
    expect(pool.activeWorkers()).toBe(1);
    reconciles[0]?.end({ kind: "Done" });
    await settlePromises();
    expect(pool.activeWorkers()).toBe(0);
  });

  it("a reconcile that ends while it still waits → its worker is free, also when the wait ends later", async () => {
    const { pool, queue, reconciles } = startPool(1);
    const left = openWait();
    queue.add("a");
    await settlePromises();
    void reconciles[0]?.slot.whileWaiting(left.wait);
    reconciles[0]?.end({ kind: "Done" });
    await settlePromises();
    left.end();
    queue.add("b");
    await settlePromises();
    expect([keysOf(reconciles), pool.activeWorkers()]).toEqual([["a", "b"], 1]);
  });

  it("a reconcile that works while it waits → keeps its worker until the work ends", async () => {
    const { pool, queue, reconciles } = startPool(1);
    const [work, wait] = [openWait(), openWait()];
    queue.add("a");
    await settlePromises();
    const slot = reconciles[0]?.slot;
    void slot?.whileWorking(work.wait);
    void slot?.whileWaiting(wait.wait);
    await settlePromises();
    expect(pool.activeWorkers()).toBe(1);
    work.end();
    await settlePromises();
    expect(pool.activeWorkers()).toBe(0);
    wait.end();
    await settlePromises();
    expect(pool.activeWorkers()).toBe(1);
  });

  it("stopping while a reconcile waits → waits for it", async () => {
    const { clock, pool, queue, reconciles } = startPool(1);
    const wait = openWait();
    queue.add("a");
    await settlePromises();
    const waited = reconciles[0]?.slot.whileWaiting(wait.wait);
    const stopped = pool.stop(10_000);
    await clock.advance(5_000);
    wait.end();
    await waited;
    reconciles[0]?.end({ kind: "Done" });
    expect(await stopped).toBe(true);
  });
});
