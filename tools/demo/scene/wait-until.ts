import { setTimeout as delay } from "node:timers/promises";

/** What is waited for, and for how long. */
export interface WaitOptions {
  /** Goes into the message: "the operator is ready". */
  readonly what: string;
  /** Ends the wait early; its reason is thrown. */
  readonly signal: AbortSignal;
  /** @default 120_000 */
  readonly timeoutMs?: number;
}

const betweenLooksMs = 50;

/** Something the story promises did not come true in time. */
export class NotInTimeError extends Error {
  override readonly name = "NotInTimeError";
}

/** Long enough for a busy machine; nothing in the story takes a tenth of it. */
export const defaultTimeoutMs = 120_000;

/**
 * Looks again and again until there is an answer.
 *
 * @param look `undefined`: not yet.
 * @throws NotInTimeError when the deadline passes; whatever `look` throws; the signal's reason.
 */
export async function waitUntil<Value>(
  look: () => Promise<Value | undefined> | Value | undefined,
  { what, signal, timeoutMs = defaultTimeoutMs }: WaitOptions,
): Promise<Value> {
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    signal.throwIfAborted();
    const value = await look();
    if (value !== undefined) return value;
    if (performance.now() > deadlineMs) {
      throw new NotInTimeError(`waited ${Math.round(timeoutMs / 1000)} s in vain: ${what}`);
    }
    // The signal is looked at when the pause is over.
    await delay(betweenLooksMs);
  }
}
