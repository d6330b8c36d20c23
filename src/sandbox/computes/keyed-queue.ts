/** Runs work one piece at a time for each key, such as a branch id. */

/** A queue for each key. Work for different keys runs at the same time. */
export class KeyedQueue {
  readonly #tails = new Map<string, Promise<void>>();
  #isClosed = false;

  /** The promises of work that did not begin never settle, nor does that of work that fails from now on. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.idle();
  }

  async idle(): Promise<void> {
    while (this.#tails.size > 0) await Promise.all(this.#tails.values());
  }

  /** The work must not wait for other work of this queue. */
  async run<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
    const held = [...new Set(keys)];
    const earlier = held.map((key) => this.#tails.get(key));
    // All keys are taken in one step, so no two pieces of work wait for each other.
    const done = Promise.withResolvers<void>();
    for (const key of held) this.#tails.set(key, done.promise);
    try {
      await Promise.all(earlier);
      if (!this.#isClosed) return await work();
    } catch (error) {
      if (!this.#isClosed) throw error;
    } finally {
      for (const key of held) if (this.#tails.get(key) === done.promise) this.#tails.delete(key);
      done.resolve();
    }
    return await new Promise<never>(() => {});
  }
}
