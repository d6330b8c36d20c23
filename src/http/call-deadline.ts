import type { Clock } from "../domain/clock.ts";

/** Ends a call when its time is up, or when somebody else gives it up. */
export interface CallDeadline {
  readonly signal: AbortSignal;
  isTimedOut(): boolean;
  /** Milliseconds until time is up; not below 0. */
  leftMs(): number;
  /** Time no longer matters; the other signals still do. */
  endTimer(): void;
  /** The call is over. */
  end(): void;
}

/** @param others any of them ends the call as well; `undefined` ones are left out. */
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
