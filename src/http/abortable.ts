/** Thrown in place of an answer once the signal has fired. */
export class GivenUpError extends Error {
  override readonly name = "GivenUpError";
}

/** Waits for a promise until the signal fires, even if whoever makes the promise pays no heed to the signal. */
export async function untilAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const giveUp = () => reject(new GivenUpError("given up"));
  signal.addEventListener("abort", giveUp, { once: true });
  if (signal.aborted) {
    giveUp();
  }
  // Whoever loses the race must not become an unhandled rejection.
  promise.catch(() => {});
  try {
    return await Promise.race([aborted, promise]);
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}

/** The items of a source until the signal fires; the source is closed then, without waiting for it. */
export async function* itemsUntilAborted<T>(signal: AbortSignal, source: AsyncIterable<T>): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await untilAborted(signal, iterator.next());
      if (next.done === true) {
        return;
      }
      yield next.value;
    }
  } finally {
    iterator.return?.().catch(() => {});
  }
}
