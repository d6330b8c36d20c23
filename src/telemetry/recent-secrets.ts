/** Remembers the API keys that logs and traces must not show, without keeping every rotated key for ever. */
import type { Clock } from "../domain/clock.ts";

/** A key that was not used for so many milliseconds is forgotten. Keys in use are read again every minute. */
const rememberedMs = 3_600_000;

export class RecentSecrets {
  readonly #clock: Clock;
  readonly #lasting: readonly string[];
  /** When each secret was used last, in monotonic milliseconds; the oldest one first. */
  readonly #usedAtMs = new Map<string, number>();

  /** @param lasting secrets that are never forgotten */
  constructor(clock: Clock, lasting: readonly string[]) {
    this.#clock = clock;
    this.#lasting = lasting;
  }

  /** Notes that the secret is in use now, and forgets those that have not been in use for an hour. */
  note(secret: string): void {
    const nowMs = this.#clock.monotonicMs();
    this.#usedAtMs.delete(secret);
    this.#usedAtMs.set(secret, nowMs);
    for (const [known, usedAtMs] of this.#usedAtMs) {
      if (nowMs - usedAtMs < rememberedMs) {
        return;
      }
      this.#usedAtMs.delete(known);
    }
  }

  values(): readonly string[] {
    return [...this.#lasting, ...this.#usedAtMs.keys()];
  }
}
