/** Where lines about long steps go. One call is one line, without its line end. */
export type ProgressSink = (line: string) => void;

/** How long a step may print nothing before a line says that it still runs. */
const repeatMs = 10_000;

/**
 * Runs a step that may take long: one line when it begins, one about every ten seconds, one when it ends well.
 * Plain lines, so that a log reads like a terminal does.
 */
export async function withProgress<T>(sink: ProgressSink, what: string, step: () => Promise<T>): Promise<T> {
  const startMs = performance.now();
  const elapsed = () => `${Math.round((performance.now() - startMs) / 1000)} s`;
  sink(`${what} …`);
  const timer = setInterval(() => sink(`${what}: still at it, ${elapsed()} so far`), repeatMs);
  try {
    const result = await step();
    sink(`${what}: done in ${elapsed()}`);
    return result;
  } finally {
    clearInterval(timer);
  }
}
