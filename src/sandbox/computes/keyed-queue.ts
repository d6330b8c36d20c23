/** Runs work one at a time for each key. */

/** A queue for each key. Work for different keys runs at the same time. */
export class KeyedQueue {
  readonly #tails = new Map<string, Promise<void>>();
  #isClosed = false;

  /**
   * Waits for the work that is running. Other work never begins, now or later, and its caller gets no result. Nor does
   * the caller of work that fails from now on, because the end of the queue may be the cause.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.idle();
  }

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
