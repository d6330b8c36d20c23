import { describe, expect, it } from "vitest";
import { createClosableFence } from "../../../src/runtime/closable-fence.ts";
import { createWorkQueue } from "../../../src/runtime/work-queue.ts";
import { createWorkerPool, type WorkResult } from "../../../src/runtime/worker-pool.ts";
import { FakeClock, settlePromises } from "../../support/fake-clock.ts";

interface Pass {
  readonly key: string;
  readonly end: (result: WorkResult) => void;
  readonly fail: (error: Error) => void;
}

/** A pool whose passes the test ends by hand. */
function startPool(workers: number) {
  const clock = new FakeClock();
  const queue = createWorkQueue<string>({ clock, idOf: (key) => key, backoff: { random: () => 0.999_999 } });
  const passes: Pass[] = [];
  const results: string[] = [];
  const errors: unknown[] = [];
  const pool = createWorkerPool<string>({
    clock,
    queue,
    workers,
    work: (key) => {
      const { promise, resolve, reject } = Promise.withResolvers<WorkResult>();
      passes.push({ key, end: resolve, fail: reject });
      return promise;
    },
    onError: (_key, error) => errors.push(error),
    observer: { passStarted: () => {}, passEnded: (result) => results.push(result) },
  });
  pool.start();
  return { clock, queue, pool, passes, results, errors };
}

describe("the worker pool", () => {
  it("more keys than workers → as many passes at once as there are workers, never two of a key", async () => {
    const { queue, passes } = startPool(2);
    for (const key of ["a", "b", "c"]) queue.add(key);
    await settlePromises();
    queue.add("a");
    expect(passes.map((pass) => pass.key)).toEqual(["a", "b"]);
    passes[1]?.end({ kind: "Done" });
    await settlePromises();
    expect(passes.map((pass) => pass.key)).toEqual(["a", "b", "c"]);
    passes[0]?.end({ kind: "Done" });
    await settlePromises();
    expect(passes.map((pass) => pass.key)).toEqual(["a", "b", "c", "a"]);
  });

  it("RequeueAfter → again at that time; a failure before it is forgotten", async () => {
    const { clock, queue, passes, results } = startPool(1);
    queue.add("a");
    await settlePromises();
    passes[0]?.end({ kind: "Retry" });
    await clock.advance(5);
    expect(queue.failures("a")).toBe(1);
    passes[1]?.end({ kind: "RequeueAfter", delayMs: 30_000 });
    await clock.advance(29_999);
    expect(passes).toHaveLength(2);
    await clock.advance(1);
    expect(passes).toHaveLength(3);
    expect(queue.failures("a")).toBe(0);
    expect(results).toEqual(["requeue", "requeue_after"]);
  });

  it("RequeueAfter 0 in a backlog → its next pass comes before the backlog", async () => {
    const { queue, passes } = startPool(1);
    queue.add("a");
    queue.add("b", "Background");
    await settlePromises();
    passes[0]?.end({ kind: "RequeueAfter", delayMs: 0 });
    await settlePromises();
    expect(passes.map((pass) => pass.key)).toEqual(["a", "a"]);
  });

  it("5,000 resyncs fall due while the one worker is busy → an edit is next, then they in their order, each once", async () => {
    const { clock, queue, passes } = startPool(1);
    const keys = Array.from({ length: 5_000 }, (_, index) => `db-${index}`);
    for (const key of keys) queue.addAfter(key, 600_000);
    queue.add("busy");
    await clock.advance(600_000);
    expect(queue.stats()).toMatchObject({ depth: 5_000, working: 1 });
    queue.add("db-4711");
    for (let ended = 0; ended < passes.length; ended += 1) {
      passes[ended]?.end({ kind: "Done" });
      await settlePromises();
    }
    const others = keys.filter((key) => key !== "db-4711");
    expect(passes.map((pass) => pass.key)).toEqual(["busy", "db-4711", ...others]);
  });

  it("Retry with a wait of the service → not before it", async () => {
    const { clock, queue, passes } = startPool(1);
    queue.add("a");
    await settlePromises();
    passes[0]?.end({ kind: "Retry", atLeastMs: 7_000 });
    await clock.advance(6_999);
    expect(passes).toHaveLength(1);
    await clock.advance(1);
    expect(passes).toHaveLength(2);
  });

  it("a pass that throws → is reported and tried again, the worker lives", async () => {
    const { clock, queue, passes, errors, results } = startPool(1);
    queue.add("a");
    await settlePromises();
    passes[0]?.fail(new Error("a bug"));
    await clock.advance(5);
    expect(passes).toHaveLength(2);
    expect(errors).toEqual([new Error("a bug")]);
    expect(results).toEqual(["error"]);
  });

  it("stopping while a pass runs → waits for it, starts no other", async () => {
    const { clock, queue, pool, passes } = startPool(1);
    queue.add("a");
    queue.add("b");
    await settlePromises();
    const stopped = pool.stop(10_000);
    await clock.advance(5_000);
    passes[0]?.end({ kind: "RequeueAfter", delayMs: 0 });
    expect(await stopped).toBe(true);
    expect(passes).toHaveLength(1);
    expect(clock.pendingTimers).toBe(0);
  });

  it("stopping while a pass hangs → gives up when time is over and says so", async () => {
    const { clock, queue, pool } = startPool(1);
    queue.add("a");
    await settlePromises();
    const stopped = pool.stop(10_000);
    await clock.advance(10_000);
    expect(await stopped).toBe(false);
  });
});

describe("the effect gate", () => {
  it("open → effects may start; closed → none, for good", () => {
    const gate = createClosableFence();
    expect(gate.mayStartEffect(8_000)).toBe(true);
    gate.close();
    gate.close();
    expect(gate.mayStartEffect(0)).toBe(false);
  });
});
