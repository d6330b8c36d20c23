/** Runs work one at a time for each key. */

/** A queue for each key. Work for different keys runs at the same time. */
export class KeyedQueue {
  readonly #tails = new Map<string, Promise<void>>();

  /** Waits until no work is running. */
  async idle(): Promise<void> {
    while (this.#tails.size > 0) await Promise.all(this.#tails.values());
  }

  /** Runs work that holds all of these keys. Work that holds keys must not wait for other work of this queue. */
  async run<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
    const held = [...new Set(keys)];
    const earlier = held.map((key) => this.#tails.get(key));
    // All keys are taken in one step, so two pieces of work never wait for each other.
    const done = Promise.withResolvers<void>();
    for (const key of held) this.#tails.set(key, done.promise);
    try {
      await Promise.all(earlier);
      return await work();
    } finally {
      for (const key of held) if (this.#tails.get(key) === done.promise) this.#tails.delete(key);
      done.resolve();
    }
  }
}
