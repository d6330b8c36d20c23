/** List and watch calls that a test answers. */
import type { ListPage, ListWatch, WatchEvent, WatchRequest } from "../../../../src/kubernetes/watch/list-watch.ts";

/** A list call that waits for the test to answer it. */
export interface PendingList {
  readonly limit: number;
  readonly continueToken: string | undefined;
  readonly signal: AbortSignal;
  answer(page: Partial<ListPage>): void;
  fail(error: unknown): void;
}

/** A watch call and its stream, which the test controls. */
export interface PendingWatch extends WatchRequest {
  open(): void;
  refuse(error: unknown): void;
  /** Sends events, each as if it had arrived in its own piece. */
  send(...events: readonly WatchEvent[]): void;
  /** Ends the stream: the server closes it, or it breaks. */
  end(error?: unknown): void;
  isClosed(): boolean;
}

/**
 * An API server that does nothing by itself: each call waits until the test says how it ends, or its signal fires.
 */
export class ScriptedListWatch implements ListWatch {
  readonly lists: PendingList[] = [];
  readonly watches: PendingWatch[] = [];

  get calls(): number {
    return this.lists.length + this.watches.length;
  }

  get lastList(): PendingList {
    return this.lists.at(-1) ?? fail("no list was asked for");
  }

  get lastWatch(): PendingWatch {
    return this.watches.at(-1) ?? fail("no watch was asked for");
  }

  list(request: { readonly limit: number; readonly continueToken: string | undefined }, signal: AbortSignal) {
    const { promise, resolve, reject } = Promise.withResolvers<ListPage>();
    const answer = (page: Partial<ListPage>) =>
      resolve({ items: [], resourceVersion: "1", continueToken: undefined, ...page });
    this.lists.push({ ...request, signal, answer, fail: reject });
    signal.addEventListener("abort", () => reject(new Error("aborted")));
    return promise;
  }

  watch(request: WatchRequest): Promise<AsyncIterable<WatchEvent>> {
    const { promise, resolve, reject } = Promise.withResolvers<AsyncIterable<WatchEvent>>();
    const stream = new EventStream();
    request.signal.addEventListener("abort", () => {
      reject(new Error("aborted"));
      stream.isClosed = true;
      stream.push(Promise.reject(new Error("aborted")));
    });
    this.watches.push({
      ...request,
      open: () => resolve(stream),
      refuse: reject,
      send: (...events) => {
        for (const event of events) {
          request.onBytes();
          stream.push({ value: event, done: false });
        }
      },
      end: (error) => stream.push(error === undefined ? { value: undefined, done: true } : Promise.reject(error)),
      isClosed: () => stream.isClosed,
    });
    return promise;
  }
}

type Result = IteratorResult<WatchEvent, undefined> | Promise<never>;

class EventStream implements AsyncIterableIterator<WatchEvent> {
  isClosed = false;
  readonly #ready: Result[] = [];
  readonly #waiting: ((result: Result) => void)[] = [];

  push(result: Result): void {
    // The script includes rejections that no code handles.
    if (result instanceof Promise) result.catch(() => {});
    const resolve = this.#waiting.shift();
    if (resolve === undefined) this.#ready.push(result);
    else resolve(result);
  }

  async next(): Promise<IteratorResult<WatchEvent, undefined>> {
    const ready = this.#ready.shift();
    if (ready !== undefined) return await ready;
    const { promise, resolve } = Promise.withResolvers<IteratorResult<WatchEvent, undefined>>();
    this.#waiting.push(resolve);
    return await promise;
  }

  async return(): Promise<IteratorResult<WatchEvent, undefined>> {
    this.isClosed = true;
    return { value: undefined, done: true };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

function fail(message: string): never {
  throw new Error(message);
}
