/** Remembers the secrets that this process has used lately, so that texts of others can be cleaned of them. */
import type { Clock } from "./clock.ts";
import { formsOf } from "./without-secrets.ts";

/**
 * A secret that was not in use for this time, in milliseconds, is forgotten. Keys in use are read again every minute.
 */
const rememberedMs = 3_600_000;

/** The least number of characters. A shorter secret could stand in any text by chance, and a tenant chooses its own. */
const shortest = 8;

export class RecentSecrets {
  readonly #clock: Clock;
  readonly #lasting: readonly string[];
  /** The secrets with their forms, and when each one was used last, in monotonic milliseconds; the oldest one first. */
  readonly #used = new Map<string, { readonly forms: readonly string[]; readonly atMs: number }>();

  /** @param lasting secrets that are never forgotten, however short */
  constructor(clock: Clock, lasting: readonly string[] = []) {
    this.#clock = clock;
    this.#lasting = lasting.flatMap(formsOf);
  }

  /** Notes that the secret is in use now, and forgets those that have not been in use for an hour. */
  note(secret: string): void {
    const atMs = this.#clock.monotonicMs();
    const known = this.#used.get(secret);
    this.#used.delete(secret);
    if (secret.length >= shortest) {
      this.#used.set(secret, { forms: known?.forms ?? formsOf(secret), atMs });
    }
    for (const [former, used] of this.#used) {
      if (atMs - used.atMs < rememberedMs) {
        return;
      }
      this.#used.delete(former);
    }
  }

  /** Returns all forms of the secrets. */
  forms(): readonly string[] {
    return [...this.#lasting, ...[...this.#used.values()].flatMap(({ forms }) => forms)];
  }
}
