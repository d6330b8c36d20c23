/** Prints lines about steps that take long. */

/** Receives lines about long steps. One call is one line, without its line end. */
export type ProgressSink = (line: string) => void;

/** After this time without output, a line says that the step still runs. */
const repeatMs = 10_000;

/**
 * Runs a step that may take long. It prints one line at the beginning, one about every ten seconds, and one after
 * success.
 * The lines are plain text, so that a log looks like a terminal.
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
