/** Sends requests to a server and measures their times. */
import type { Dispatcher } from "undici";

/** One request. */
export interface BenchRequest {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** An answer, read completely. */
export interface BenchAnswer {
  readonly status: number;
  readonly body: Buffer;
}

/** Sends one request and reads its answer. */
export async function send(pool: Dispatcher, { method, path, headers = {}, body }: BenchRequest): Promise<BenchAnswer> {
  const answer = await pool.request({ method, path, headers, body: body ?? null });
  return { status: answer.statusCode, body: Buffer.from(await answer.body.arrayBuffer()) };
}

/** The times of a batch of requests. */
export interface Batch {
  /** The time of each request, in milliseconds. */
  readonly latenciesMs: readonly number[];
  readonly tookMs: number;
  readonly answers: readonly BenchAnswer[];
}

/**
 * Sends `count` requests, `concurrency` of them at the same time. Each client sends its next request when it has read
 * an answer.
 * @param request returns the n-th request.
 * @throws Error for an answer that is not 2xx.
 */
export async function runBatch(
  pool: Dispatcher,
  request: (index: number) => BenchRequest,
  {
    count,
    concurrency,
    keep = false,
  }: { readonly count: number; readonly concurrency: number; readonly keep?: boolean },
): Promise<Batch> {
  const latenciesMs: number[] = [];
  const answers: BenchAnswer[] = [];
  let next = 0;
  const client = async () => {
    while (next < count) {
      const wanted = request(next);
      next += 1;
      const startedMs = performance.now();
      const answer = await send(pool, wanted);
      latenciesMs.push(performance.now() - startedMs);
      if (answer.status >= 300) throw new Error(`${wanted.method} ${wanted.path}: ${answer.status} ${answer.body}`);
      if (keep) answers.push(answer);
    }
  };
  const startedMs = performance.now();
  await Promise.all(Array.from({ length: concurrency }, client));
  return { latenciesMs, tookMs: performance.now() - startedMs, answers };
}

/**
 * Returns the value below which a share of the values lies, for instance 0.99 for p99.
 * @param values not empty
 */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number;
}
