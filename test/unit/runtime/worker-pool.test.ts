/** Tests the worker pool. */
import { describe, expect, it } from "vitest";
import type { Requeue } from "../../../src/domain/worker.ts";
import { WorkQueue } from "../../../src/runtime/work-queue.ts";
import { WorkerPool } from "../../../src/runtime/worker-pool.ts";
import { FakeClock, settlePromises } from "../../support/fake-clock.ts";

interface Reconcile {
  readonly key: string;
  readonly end: (result: Requeue) => void;
  readonly fail: (error: Error) => void;
}

/** A pool whose reconciles end when the test says so. */
function startPool(turn = () => Promise.resolve()) {
  const clock = new FakeClock();
  const queue = new WorkQueue({ clock, random: () => 0.999_999 });
  const reconciles: Reconcile[] = [];
  const results: string[] = [];
  const errors: unknown[] = [];
  const pool = new WorkerPool({
    clock,
    queue,
    turn,
    work: (key) => {
      const { promise, resolve, reject } = Promise.withResolvers<Requeue>();
      reconciles.push({ key, end: resolve, fail: reject });
      return promise;
    },
    onError: (_key, error) => errors.push(error),
    observer: { reconcileEnded: (result) => results.push(result) },
  });
  pool.start();
  return { clock, queue, pool, reconciles, results, errors };
}

describe("the worker pool", () => {
  it("many keys → all are reconciled at once, never two reconciles of a key", async () => {
    const { queue, reconciles } = startPool();
    const keys = Array.from({ length: 1_000 }, (_, index) => `project-${index}`);
    for (const key of keys) queue.add(key);
    await settlePromises();
    queue.add("project-0");
    await settlePromises();
    expect(reconciles.map(({ key }) => key)).toEqual(keys);
    reconciles[0]?.end({ kind: "Done" });
    await settlePromises();
    expect(reconciles.map(({ key }) => key)).toEqual([...keys, "project-0"]);
  });

  it("RequeueAfter → again at that time; a failure before it is forgotten", async () => {
    const { clock, queue, reconciles, results } = startPool();
    queue.add("a");
    await settlePromises();
    reconciles[0]?.end({ kind: "Retry" });
    await clock.advance(5);
    reconciles[1]?.end({ kind: "RequeueAfter", delayMs: 30_000 });
    await clock.advance(29_999);
    expect(reconciles).toHaveLength(2);
    await clock.advance(1);
    expect(reconciles).toHaveLength(3);
    reconciles[2]?.end({ kind: "Retry" });
    await clock.advance(5);
    expect(reconciles).toHaveLength(4);
    expect(results).toEqual(["requeue", "requeue_after", "requeue"]);
  });

  it("no reconcile may begin while 5,000 resyncs fall due → then an edit is first, and they follow in their order", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { clock, queue, reconciles } = startPool(() => promise);
    const keys = Array.from({ length: 5_000 }, (_, index) => `db-${index}`);
    for (const key of keys) queue.addAfter(key, 600_000);
    await clock.advance(600_000);
    queue.add("db-4711");
    await settlePromises();
    expect(reconciles).toEqual([]);
    resolve();
    await settlePromises();
    const others = keys.filter((key) => key !== "db-4711");
    expect(reconciles.map(({ key }) => key)).toEqual(["db-4711", ...others]);
  });

  it("a reconcile that throws → is reported and tried again, the worker lives", async () => {
    const { clock, queue, reconciles, errors, results } = startPool();
    queue.add("a");
    await settlePromises();
    reconciles[0]?.fail(new Error("a bug"));
    await clock.advance(5);
    expect(reconciles).toHaveLength(2);
    expect(errors).toEqual([new Error("a bug")]);
    expect(results).toEqual(["error"]);
  });

  it("stopping while a reconcile runs → waits for it, starts no other", async () => {
    const { clock, queue, pool, reconciles } = startPool();
    queue.add("a");
    await settlePromises();
    const stopped = pool.stop(10_000);
    queue.add("b");
    await clock.advance(5_000);
    reconciles[0]?.end({ kind: "RequeueAfter", delayMs: 0 });
    expect(await stopped).toBe(true);
    expect(reconciles).toHaveLength(1);
    expect(clock.pendingTimers).toBe(0);
  });

  it("stopping while a reconcile hangs → gives up when time is over and says so", async () => {
    const { clock, queue, pool } = startPool();
    queue.add("a");
    await settlePromises();
    const stopped = pool.stop(10_000);
    await clock.advance(10_000);
    expect(await stopped).toBe(false);
  });
});
