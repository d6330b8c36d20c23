/** Runs simulations in several threads. */
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { Report, Share, Task } from "./worker.ts";

/** The items of a task to run. */
export interface Range {
  readonly task: Task;
  readonly from: number;
  readonly count: number;
  /** The number of items that a thread receives at once. @default 1 */
  readonly batch?: number;
}

/** More threads would gain nothing on the machines that run the tests. */
const mostThreads = 2;

/** Threads that wait for work, and do not keep the process alive. A new one would load and compile everything again. */
const idle: Worker[] = [];

/**
 * Runs simulations in their own threads.
 * @param onReport is called for each item; items come in no particular order.
 * @throws Error when a thread fails, which is a bug of the simulation.
 */
export async function runInThreads(range: Range, onReport: (report: Report) => void): Promise<void> {
  const { task, from, count, batch = 1 } = range;
  const end = from + count;
  let next = from;
  const work = async () => {
    const worker = idle.pop() ?? new Worker(new URL("./worker.ts", import.meta.url));
    while (next < end) {
      const first = next;
      next = Math.min(end, first + batch);
      for (const report of await ask(worker, { task, first, beyond: next })) onReport(report);
    }
    worker.unref();
    idle.push(worker);
  };
  await Promise.all(Array.from({ length: Math.min(mostThreads, availableParallelism()) }, work));
}

function ask(worker: Worker, share: Share): Promise<readonly Report[]> {
  const { promise, resolve, reject } = Promise.withResolvers<readonly Report[]>();
  worker.ref();
  worker.once("message", resolve);
  worker.once("error", reject);
  worker.postMessage(share);
  return promise.finally(() => {
    worker.off("message", resolve);
    worker.off("error", reject);
  });
}
