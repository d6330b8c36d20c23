/** Lists and watches objects of the API server, and parses both answers. */
import { KubernetesError } from "../../domain/resource-store.ts";
import type { KubernetesConnection } from "../http/connection.ts";

export interface ListPage {
  readonly items: readonly unknown[];
  readonly resourceVersion: string;
  /** The token of the next page; `undefined` on the last page. */
  readonly continueToken: string | undefined;
}

/** One line of a watch. `object` may be any value; for the type ERROR it is a `Status`. */
export interface WatchEvent {
  readonly type: string;
  readonly object: unknown;
}

export interface ListWatch {
  /** Lists one page. @throws KubernetesError; reason `Expired` when the token is too old */
  list(
    request: { readonly limit: number; readonly continueToken: string | undefined },
    signal: AbortSignal,
  ): Promise<ListPage>;
  /**
   * Opens a watch. The events end when the server closes the watch.
   * @throws KubernetesError, on opening and while reading; reason `UnreadableAnswer` if a line cannot be read, because
   *   an event may be missing then.
   */
  watch(request: WatchRequest): Promise<AsyncIterable<WatchEvent>>;
}

export interface WatchRequest {
  /** The watch shows the events after this resourceVersion. */
  readonly resourceVersion: string;
  /** The server closes the watch after this many seconds. */
  readonly timeoutSeconds: number;
  readonly signal: AbortSignal;
  readonly onBytes: () => void;
}

interface ListWatchOptions {
  readonly connection: KubernetesConnection;
  readonly path: string;
  /** The objects in words, for messages: `ComputeEndpoints of namespace shop`. */
  readonly what: string;
  readonly listTimeoutMs: number;
  /** The time limit until the headers of a watch arrive, in milliseconds. */
  readonly openTimeoutMs: number;
}

/** etcd stores objects up to 1.5 MiB; escaped as JSON they can be several times as long. */
const maxLineBytes = 16 * 1024 * 1024;

export function createListWatch(options: ListWatchOptions): ListWatch {
  const { connection, path, what } = options;
  return {
    async list({ limit, continueToken }, signal) {
      const query = {
        limit: String(limit),
        ...(continueToken === undefined ? {} : { continue: continueToken }),
      };
      const call = `list ${what}`;
      const timeoutMs = options.listTimeoutMs;
      return parseListPage(
        call,
        await connection.request({ what: call, method: "GET", path, query, timeoutMs, signal }),
      );
    },
    async watch({ resourceVersion, timeoutSeconds, signal, onBytes }) {
      const call = `watch ${what}`;
      const query = {
        watch: "true",
        allowWatchBookmarks: "true",
        resourceVersion,
        timeoutSeconds: String(timeoutSeconds),
      };
      const timeoutMs = options.openTimeoutMs;
      const chunks = await connection.openStream({ what: call, method: "GET", path, query, timeoutMs, signal });
      return readEvents(call, heard(chunks, onBytes));
    },
  };
}

async function* heard(chunks: AsyncIterable<Uint8Array>, onBytes: () => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    onBytes();
    yield chunk;
  }
}

async function* readEvents(call: string, chunks: AsyncIterable<Uint8Array>): AsyncGenerator<WatchEvent> {
  try {
    for await (const line of readLines(chunks, maxLineBytes)) {
      yield parseWatchEvent(line);
    }
  } catch (error) {
    // A TypeError means bytes that are not UTF-8.
    throw error instanceof SyntaxError || error instanceof TypeError
      ? new KubernetesError("UnreadableAnswer", `cannot ${call}: a line of it cannot be read`, { cause: error })
      : new KubernetesError("Unavailable", `cannot ${call}: the stream broke off`, { cause: error });
  }
}

function parseWatchEvent(line: string): WatchEvent {
  const event = JSON.parse(line) as Partial<WatchEvent> | null;
  if (typeof event?.type !== "string") {
    throw new SyntaxError("a watch event has no type");
  }
  return { type: event.type, object: event.object };
}

function parseListPage(call: string, body: unknown): ListPage {
  const { items, metadata } = (body ?? {}) as { readonly items?: unknown; readonly metadata?: ListMetadata };
  const resourceVersion = metadata?.resourceVersion;
  // An answer without a list must not count as an empty list, because that would remove everything from the cache.
  if (!Array.isArray(items) || typeof resourceVersion !== "string" || resourceVersion === "") {
    throw new KubernetesError("UnreadableAnswer", `cannot ${call}: the answer is not a list`);
  }
  const token = metadata?.continue;
  return { items, resourceVersion, continueToken: typeof token === "string" && token !== "" ? token : undefined };
}

interface ListMetadata {
  readonly resourceVersion?: unknown;
  readonly continue?: unknown;
}

const newline = 0x0a;

/**
 * Splits bytes into lines. Empty lines are left out. A line is decoded as a whole, so a character may be spread over
 * two chunks.
 * @param maxLineBytes the maximum length of one line.
 * @throws SyntaxError when a line is too long or cut off; TypeError when a line is not UTF-8.
 */
export async function* readLines(chunks: AsyncIterable<Uint8Array>, maxLineBytes: number): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let parts: Uint8Array[] = [];
  let length = 0;
  const take = (end: Uint8Array): string => {
    const line = decoder.decode(Buffer.concat([...parts, end]));
    parts = [];
    length = 0;
    return line;
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      assertFits(length + end - start, maxLineBytes);
      const line = take(chunk.subarray(start, end));
      start = end + 1;
      if (line.trim() !== "") {
        yield line;
      }
    }
    parts.push(chunk.subarray(start));
    length += chunk.length - start;
    assertFits(length, maxLineBytes);
  }
  if (length > 0) {
    throw new SyntaxError("the stream ended in the middle of a line");
  }
}

function assertFits(length: number, maxLineBytes: number): void {
  if (length > maxLineBytes) {
    throw new SyntaxError(`a line is longer than ${maxLineBytes} bytes`);
  }
}

/** Events may be missing, so everything must be listed again. */
export class OutOfSyncError extends Error {
  override readonly name = "OutOfSyncError";
}

/**
 * Whether a new list is needed after this error. An unreadable line may have been an event, and a watch cannot resume
 * from an expired version.
 */
export function isOutOfSync(error: unknown): boolean {
  const isFatalReason =
    error instanceof KubernetesError && (error.reason === "Expired" || error.reason === "UnreadableAnswer");
  return isFatalReason || error instanceof OutOfSyncError;
}

export function isOverload(error: unknown): boolean {
  return error instanceof KubernetesError && error.reason === "Throttled";
}
