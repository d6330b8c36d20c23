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

/** All calls share it: an error for each would record a stack. */
export const callEnded = new Error("the operator has ended the call");

export function createCallDeadline(
  clock: Clock,
  timeoutMs: number,
  others: readonly (AbortSignal | undefined)[],
): CallDeadline {
  const controller = new AbortController();
  let isTimedOut = false;
  const removals = others.map((signal) => signal && onAbort(signal, () => controller.abort(callEnded)));
  const timer = clock.after(timeoutMs, () => {
    isTimedOut = true;
    controller.abort(callEnded);
  });
  return {
    signal: controller.signal,
    isTimedOut: () => isTimedOut,
    endTimer: () => timer.cancel(),
    end() {
      timer.cancel();
      for (const remove of removals) remove?.();
    },
  };
}

/** Calls `stop` when the signal fires, or at once if it has fired. @returns what removes the listener */
export function onAbort(signal: AbortSignal, stop: () => void): () => void {
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  return () => signal.removeEventListener("abort", stop);
}

export async function pause(clock: Clock, delayMs: number, signals: readonly AbortSignal[]): Promise<void> {
  const deadline = createCallDeadline(clock, delayMs, signals);
  await new Promise<void>((resolve) => onAbort(deadline.signal, resolve));
  deadline.end();
}

export class GivenUpError extends Error {
  override readonly name = "GivenUpError";
}

/** @throws GivenUpError when the signal fires first, even if the code of the promise ignores the signal */
export async function untilAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const remove = onAbort(signal, () => reject(new GivenUpError("given up")));
  // If the signal fires first, a later rejection of the promise must not count as unhandled.
  promise.catch(() => {});
  try {
    return await Promise.race([aborted, promise]);
  } finally {
    remove();
  }
}
