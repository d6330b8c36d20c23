import type { Clock } from "../domain/clock.ts";

export interface TokenBucketOptions {
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly capacity: number;
  readonly perSecond: number;
  readonly initial?: number;
}

/** A token bucket on the monotonic clock: in any interval of t seconds it gives at most `capacity + perSecond × t` tokens. */
export class TokenBucket {
  readonly #options: TokenBucketOptions;
  #tokens: number;
  #atMs: number;

  constructor(options: TokenBucketOptions) {
    this.#options = options;
    this.#tokens = options.initial ?? options.capacity;
    this.#atMs = options.clock.monotonicMs();
  }

  tryTake(): boolean {
    this.#refill();
    if (this.#tokens < 1) {
      return false;
    }
    this.#tokens -= 1;
    return true;
  }

  waitMs(): number {
    this.#refill();
    return Math.max(0, Math.ceil(((1 - this.#tokens) / this.#options.perSecond) * 1_000));
  }

  #refill(): void {
    const { clock, capacity, perSecond } = this.#options;
    const nowMs = clock.monotonicMs();
    this.#tokens = Math.min(capacity, this.#tokens + ((nowMs - this.#atMs) / 1_000) * perSecond);
    this.#atMs = nowMs;
  }
}
