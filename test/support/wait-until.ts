/** Waits for a state in tests. */
import { type WaitOptions, waitUntil as wait } from "../../tools/process/wait-until.ts";

export type { WaitOptions };

/**
 * Waits for a state: 30 s, unless the options say otherwise.
 * @throws NotInTimeError with the last seen state
 */
export function waitUntil<Value>(
  look: () => Promise<Value | undefined> | Value | undefined,
  options: WaitOptions,
): Promise<Value> {
  return wait(look, { timeoutMs: 30_000, ...options });
}
