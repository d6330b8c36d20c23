/** Ends calls at a deadline, even if the called code ignores signals. */
import type { Clock } from "../domain/clock.ts";

export interface CallDeadline {
  readonly signal: AbortSignal;
  isTimedOut(): boolean;
  /** Removes the time limit. The other signals still end the call. */
  endTimer(): void;
  /** Must be called when the call is over: removes timer and listeners. */
  end(): void;
}

export function createCallDeadline(
  clock: Clock,
  timeoutMs: number,
  others: readonly (AbortSignal | undefined)[],
): CallDeadline {
  const controller = new AbortController();
  const sources = others.filter((signal) => signal !== undefined);
  let isTimedOut = false;
  const giveUp = () => controller.abort();
  for (const source of sources) {
    source.addEventListener("abort", giveUp, { once: true });
    if (source.aborted) {
      giveUp();
    }
  }
  const timer = clock.after(timeoutMs, () => {
    isTimedOut = true;
    controller.abort();
  });
  return {
    signal: controller.signal,
    isTimedOut: () => isTimedOut,
    endTimer: () => timer.cancel(),
    end() {
      timer.cancel();
      for (const source of sources) {
        source.removeEventListener("abort", giveUp);
      }
    },
  };
}

export async function pause(clock: Clock, delayMs: number, signals: readonly AbortSignal[]): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const deadline = createCallDeadline(clock, delayMs, signals);
  deadline.signal.addEventListener("abort", () => resolve(), { once: true });
  if (!deadline.signal.aborted) {
    await promise;
  }
  deadline.end();
}

export class GivenUpError extends Error {
  override readonly name = "GivenUpError";
}

/** @throws GivenUpError when the signal fires first, even if the code of the promise ignores the signal */
export async function untilAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const giveUp = () => reject(new GivenUpError("given up"));
  signal.addEventListener("abort", giveUp, { once: true });
  if (signal.aborted) {
    giveUp();
  }
  // If the signal fires first, a later rejection of the promise must not count as unhandled.
  promise.catch(() => {});
  try {
    return await Promise.race([aborted, promise]);
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}
