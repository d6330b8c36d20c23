const betweenLooksMs = 50;

/** How long to wait, and what for. */
export interface WaitOptions {
  /** For the failure message: "orders is Ready". */
  readonly what: string;
  /** @default 30000 */
  readonly timeoutMs?: number;
  /** Shown when it never came true. */
  readonly lastSeen?: () => unknown;
}

/**
 * Waits for a state, with a deadline.
 *
 * @param look answers `undefined` as long as the state is not there; what it throws ends the wait.
 * @throws Error with what was seen last.
 */
export async function waitUntil<Value>(
  look: () => Promise<Value | undefined> | Value | undefined,
  options: WaitOptions,
): Promise<Value> {
  const { what, timeoutMs = 30_000, lastSeen } = options;
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    const value = await look();
    if (value !== undefined) return value;
    if (performance.now() >= deadlineMs) {
      const seen = lastSeen === undefined ? "" : `\nlast seen: ${JSON.stringify(lastSeen(), undefined, 2)}`;
      throw new Error(`waited ${timeoutMs} ms in vain: ${what}${seen}`);
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    setTimeout(resolve, betweenLooksMs);
    await promise;
  }
}
