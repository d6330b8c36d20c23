import { setTimeout as delay } from "node:timers/promises";

/** What is waited for, and for how long. */
export interface WaitOptions {
  /** For the message: "the operator is ready". */
  readonly what: string;
  /** @default 120000 */
  readonly timeoutMs?: number;
  /** Between two looks. @default 50 */
  readonly pauseMs?: number;
  /** Ends the wait early; its reason is thrown after the present pause. */
  readonly signal?: AbortSignal;
  /** For the message as well. */
  readonly lastSeen?: () => unknown;
}

/** A state did not come true in time. */
export class NotInTimeError extends Error {
  override readonly name = "NotInTimeError";
}

/** No wait of the tools takes a tenth of it on a machine that does nothing else. */
export const defaultTimeoutMs = 120_000;

/**
 * Looks again and again until there is an answer.
 *
 * @param look returns `undefined` as long as the state is not there.
 * @throws NotInTimeError, with what was seen last, when the deadline is reached; any error of `look`; the signal's reason.
 */
export async function waitUntil<Value>(
  look: () => Promise<Value | undefined> | Value | undefined,
  { what, timeoutMs = defaultTimeoutMs, pauseMs = 50, signal, lastSeen }: WaitOptions,
): Promise<Value> {
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    signal?.throwIfAborted();
    const value = await look();
    if (value !== undefined) return value;
    if (performance.now() >= deadlineMs) {
      const seen =
        lastSeen === undefined ? "" : `\nlast seen: ${JSON.stringify(lastSeen(), undefined, 2)?.slice(-4_000)}`;
      throw new NotInTimeError(`waited ${Math.round(timeoutMs / 1000)} s in vain: ${what}${seen}`);
    }
    await delay(pauseMs);
  }
}
