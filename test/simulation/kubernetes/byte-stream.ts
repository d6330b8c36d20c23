/** The body of an answer that arrives in pieces. */

/** The body of a streamed answer: the chunks that arrive, and then an end or an error. */
export class ByteStream implements AsyncIterable<Uint8Array> {
  #chunks: Uint8Array[] = [];
  #end: { readonly error: Error | undefined } | undefined;
  #wake: (() => void) | undefined;

  /** Whether the body has ended, or the reader has stopped reading. */
  isOver = false;

  push(chunk: Uint8Array): void {
    if (this.isOver) return;
    this.#chunks.push(chunk);
    this.#wake?.();
  }

  /** @param error the error that the reader gets in place of a regular end */
  end(error?: Error): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#end = { error };
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const chunk = this.#chunks.shift();
        if (chunk !== undefined) {
          yield chunk;
        } else if (this.#end !== undefined) {
          if (this.#end.error !== undefined) throw this.#end.error;
          return;
        } else {
          await this.#arrival();
        }
      }
    } finally {
      this.isOver = true;
    }
  }

  #arrival(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    return promise;
  }
}
