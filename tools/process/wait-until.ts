/** Waits until a state is reached. */
import { setTimeout as delay } from "node:timers/promises";

/** The options of a wait. */
export interface WaitOptions {
  /** The state in words, for the message: "the operator is ready". */
  readonly what: string;
  /** The time limit. @default 120000 */
  readonly timeoutMs?: number;
  /** The time between two checks. @default 50 */
  readonly pauseMs?: number;
  /** Ends the wait early. The reason of the signal is thrown after the present pause. */
  readonly signal?: AbortSignal;
  /** Returns what was last seen, for the message. */
  readonly lastSeen?: () => unknown;
}

/** A state was not reached in time. */
export class NotInTimeError extends Error {
  override readonly name = "NotInTimeError";
}

/** On a machine without other work, every wait of the tools takes less than a tenth of this. */
export const defaultTimeoutMs = 120_000;

/** Whether a server of this machine answers a GET with 2xx. */
export async function isAnswering(url: string): Promise<boolean> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined);
  await answer?.body?.cancel();
  return answer?.ok === true;
}

/**
 * Checks again and again until there is a value.
 * @param look returns `undefined` as long as the state is not reached.
 * @throws NotInTimeError, with what was last seen, at the deadline; any error of `look`; the signal's reason.
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
