/** Waits for a state in tests. */
import { type WaitOptions, waitUntil as wait } from "../../tools/process/wait-until.ts";

export type { WaitOptions };

/** Waits for a state, for 30 s unless the options say otherwise. @throws NotInTimeError with what was seen last */
export function waitUntil<Value>(
  look: () => Promise<Value | undefined> | Value | undefined,
  options: WaitOptions,
): Promise<Value> {
  return wait(look, { timeoutMs: 30_000, ...options });
}
