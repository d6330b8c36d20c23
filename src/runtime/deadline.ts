import type { Clock } from "../domain/clock.ts";

/**
 * Waits for a promise, but not longer than `timeoutMs`.
 *
 * @returns true when it has settled, resolved or rejected; false when the time ran out first. The promise goes on.
 */
export async function settlesWithin(clock: Clock, timeoutMs: number, promise: Promise<unknown>): Promise<boolean> {
  const { promise: timeout, resolve } = Promise.withResolvers<boolean>();
  const timer = clock.after(timeoutMs, () => resolve(false));
  const settled = promise.then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([settled, timeout]);
  } finally {
    timer.cancel();
  }
}
