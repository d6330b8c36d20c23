import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { SeedReport } from "./seed-worker.ts";

/** Which seeds to run. */
export interface SeedRange {
  readonly from: number;
  readonly count: number;
}

/** So many seeds are handed to a thread at once. */
const batch = 25;

/** More threads than that gain nothing on the machines that run the tests. */
const mostThreads = 2;

/**
 * Runs random simulations in threads of their own.
 *
 * @param onReport is called for each seed; seeds come in no particular order.
 * @throws Error when a thread fails, which is a defect of the simulation.
 */
export async function runSeeds({ from, count }: SeedRange, onReport: (report: SeedReport) => void): Promise<void> {
  const end = from + count;
  let next = from;
  const work = async () => {
    const worker = new Worker(new URL("./seed-worker.ts", import.meta.url));
    try {
      while (next < end) {
        const first = next;
        const beyond = Math.min(end, first + batch);
        next = beyond;
        for (const report of await ask(worker, { first, beyond })) onReport(report);
      }
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: Math.min(mostThreads, availableParallelism()) }, work));
}

function ask(
  worker: Worker,
  seeds: { readonly first: number; readonly beyond: number },
): Promise<readonly SeedReport[]> {
  const { promise, resolve, reject } = Promise.withResolvers<readonly SeedReport[]>();
  worker.once("message", resolve);
  worker.once("error", reject);
  worker.postMessage(seeds);
  return promise.finally(() => {
    worker.off("message", resolve);
    worker.off("error", reject);
  });
}
