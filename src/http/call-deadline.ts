import type { Clock } from "../domain/clock.ts";

/** Ends a call at its deadline, or when another signal fires. */
export interface CallDeadline {
  readonly signal: AbortSignal;
  isTimedOut(): boolean;
  /** Milliseconds until the deadline; not below 0. */
  leftMs(): number;
  /** Removes the time limit; the other signals still end the call. */
  endTimer(): void;
  /** The call is over. */
  end(): void;
}

/** Makes a deadline. @param others each of these signals ends the call as well; `undefined` is ignored */
export function createCallDeadline(
  clock: Clock,
  timeoutMs: number,
  others: readonly (AbortSignal | undefined)[],
): CallDeadline {
  const controller = new AbortController();
  const dueMs = clock.monotonicMs() + timeoutMs;
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
    leftMs: () => Math.max(0, dueMs - clock.monotonicMs()),
    endTimer: () => timer.cancel(),
    end() {
      timer.cancel();
      for (const source of sources) {
        source.removeEventListener("abort", giveUp);
      }
    },
  };
}
