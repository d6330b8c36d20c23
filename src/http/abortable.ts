/** The signal has fired before the answer. */
export class GivenUpError extends Error {
  override readonly name = "GivenUpError";
}

/** Waits for a promise until the signal fires, even if the code behind the promise ignores the signal. */
export async function untilAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const giveUp = () => reject(new GivenUpError("given up"));
  signal.addEventListener("abort", giveUp, { once: true });
  if (signal.aborted) {
    giveUp();
  }
  // If the signal wins, a later rejection of the promise must not be unhandled.
  promise.catch(() => {});
  try {
    return await Promise.race([aborted, promise]);
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}

/** Yields the items of a source until the signal fires, and then closes the source without waiting for it. */
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
