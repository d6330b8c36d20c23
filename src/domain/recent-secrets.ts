/** Remembers the secrets that this process has used lately, so that texts of others can be cleaned of them. */
import type { Clock } from "./clock.ts";
import { formsOf } from "./without-secrets.ts";

/**
 * A secret that was not in use for this time, in milliseconds, is forgotten. Keys in use are read again every minute.
 */
const rememberedMs = 3_600_000;

/** The least number of characters. A shorter secret could stand in any text by chance, and a tenant chooses its own. */
const shortest = 8;

/**
 * The maximum number of characters of all forms. The secrets that were used longest ago are forgotten first. A tenant
 * may store one key after the other, and those in use are noted again every minute.
 */
const mostCharacters = 4_000_000;

export class RecentSecrets {
  readonly #clock: Clock;
  readonly #lasting: readonly string[];
  /** The secrets with their forms, and when each one was used last, in monotonic milliseconds; the oldest one first. */
  readonly #used = new Map<string, { readonly forms: readonly string[]; readonly atMs: number }>();
  #characters = 0;

  /** @param lasting secrets that are never forgotten, however short */
  constructor(clock: Clock, lasting: readonly string[] = []) {
    this.#clock = clock;
    this.#lasting = lasting.flatMap(formsOf);
  }

  /** Notes that the secret is in use now, and forgets those that have not been in use for an hour. */
  note(secret: string): void {
    const atMs = this.#clock.monotonicMs();
    const known = this.#used.get(secret);
    this.#forget(secret);
    if (secret.length >= shortest) {
      const forms = known?.forms ?? formsOf(secret);
      this.#used.set(secret, { forms, atMs });
      this.#characters += lengthOf(forms);
    }
    for (const [former, used] of this.#used) {
      if (atMs - used.atMs < rememberedMs && this.#characters <= mostCharacters) {
        return;
      }
      this.#forget(former);
    }
  }

  #forget(secret: string): void {
    const known = this.#used.get(secret);
    if (known !== undefined) {
      this.#used.delete(secret);
      this.#characters -= lengthOf(known.forms);
    }
  }

  /** Returns all forms of the secrets. */
  forms(): readonly string[] {
    return [...this.#lasting, ...[...this.#used.values()].flatMap(({ forms }) => forms)];
  }
}

function lengthOf(forms: readonly string[]): number {
  return forms.reduce((sum, { length }) => sum + length, 0);
}
