import { setTimeout as delay } from "node:timers/promises";

/** Nothing here takes a tenth of it on a machine that does nothing else. */
const longestWaitMs = 300_000;

/** What is waited for, and for how long. */
export interface WaitOptions {
  /** Goes into the message: "the operator is ready". */
  readonly what: string;
  /** @default five minutes */
  readonly timeoutMs?: number;
  /** Between two looks. @default 20 */
  readonly pauseMs?: number;
  /** Goes into the message as well. */
  readonly lastSeen?: () => unknown;
}

/**
 * Looks again and again until there is an answer.
 *
 * @param look `undefined`: not yet.
 * @throws Error when the deadline passes; whatever `look` throws.
 */
export async function waitUntil<Value>(
  look: () => Promise<Value | undefined> | Value | undefined,
  { what, timeoutMs = longestWaitMs, pauseMs = 20, lastSeen }: WaitOptions,
): Promise<Value> {
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    const value = await look();
    if (value !== undefined) return value;
    if (performance.now() > deadlineMs) {
      const seen = lastSeen === undefined ? "" : `; last seen: ${JSON.stringify(lastSeen())?.slice(-4_000)}`;
      throw new Error(`waited ${Math.round(timeoutMs / 1000)} s in vain: ${what}${seen}`);
    }
    await delay(pauseMs);
  }
}
