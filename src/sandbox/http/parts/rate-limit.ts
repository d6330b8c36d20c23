/** The rate limit of the sandbox's API, over the last minute and the last second. */

export interface RateLimitRules {
  readonly perMinute: number;
  readonly perSecond: number;
}

/** The rate limit of the public API. @see docs/sandbox.md "Errors", 429 */
export const publicRateLimit: RateLimitRules = { perMinute: 700, perSecond: 40 };

/** Counts the requests of all keys over sliding windows. */
export class RateLimit {
  readonly #rules: RateLimitRules;
  #admittedMs: number[] = [];

  constructor(rules: RateLimitRules) {
    this.#rules = rules;
  }

  /** @returns `undefined` if the request is allowed, else after how many seconds the client may try again */
  take(nowMs: number): number | undefined {
    const inMinute = this.#admittedMs.findIndex((atMs) => atMs > nowMs - 60_000);
    this.#admittedMs = inMinute === -1 ? [] : this.#admittedMs.slice(inMinute);
    const waitMs = Math.max(
      this.#waitMs(nowMs, this.#rules.perMinute, 60_000),
      this.#waitMs(nowMs, this.#rules.perSecond, 1_000),
    );
    if (waitMs > 0) return Math.ceil(waitMs / 1000);
    this.#admittedMs.push(nowMs);
    return undefined;
  }

  clear(): void {
    this.#admittedMs = [];
  }

  #waitMs(nowMs: number, allowed: number, windowMs: number): number {
    const blockingMs = this.#admittedMs.at(-allowed);
    return blockingMs === undefined ? 0 : blockingMs + windowMs - nowMs;
  }
}
