/** Lists and watches objects of the API server, and parses both answers. */
import { once } from "node:events";
import { KubernetesError } from "../../domain/resource-store.ts";
import { undefinedIfNotFound } from "../http/answer-error.ts";
import type { KubernetesConnection } from "../http/connection.ts";
import { metadataOf } from "../http/objects.ts";

export interface ListPage {
  readonly items: readonly unknown[];
  readonly resourceVersion: string;
  readonly continueToken: string | undefined;
}

/** One line of a watch. `object` may be any value; for the type ERROR it is a `Status`. */
export interface WatchEvent {
  readonly type: string;
  readonly object: unknown;
}

/** Each call ends when its signal fires. */
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
  readonly resourceVersion: string;
  readonly timeoutSeconds: number;
  readonly signal: AbortSignal;
  readonly onBytes: () => void;
}

export interface ListWatchOptions {
  readonly connection: KubernetesConnection;
  readonly path: string;
  /** The objects in words, for messages: `ComputeEndpoints of namespace shop`. */
  readonly what: string;
}

/** The time limit of one page, and until the headers of a watch arrive, in milliseconds. */
const timeoutMs = 30_000;
/** etcd stores objects up to 1.5 MiB; escaped as JSON they can be several times as long. */
const maxLineLength = 16 * 1024 * 1024;

export function createListWatch({ connection, path, what }: ListWatchOptions): ListWatch {
  return {
    async list({ limit, continueToken }, signal) {
      const query = { limit: String(limit), ...(continueToken !== undefined && { continue: continueToken }) };
      const call = { what: `list ${what}`, method: "GET", path, query, timeoutMs, signal } as const;
      return parseListPage(call.what, await connection.request(call));
    },
    async watch({ resourceVersion, timeoutSeconds, signal, onBytes }) {
      const query = {
        watch: "true",
        allowWatchBookmarks: "true",
        resourceVersion,
        timeoutSeconds: String(timeoutSeconds),
      };
      const call = { what: `watch ${what}`, method: "GET", path, query, timeoutMs, signal } as const;
      return readEvents(call.what, await connection.openStream(call), onBytes);
    },
  };
}

/** Reads one object by name in place of each list. The watch shows nothing, so only the next list shows a change. */
export function createObjectReader({ connection, path, what }: ListWatchOptions): ListWatch {
  return {
    async list(_, signal) {
      const call = { what: `read ${what}`, method: "GET", path, timeoutMs, signal } as const;
      const object = await undefinedIfNotFound(connection.request(call));
      const resourceVersion = String(metadataOf(object).resourceVersion ?? "");
      return { items: object === undefined ? [] : [object], resourceVersion, continueToken: undefined };
    },
    watch: async ({ signal }) => nothingUntil(signal),
  };
}

async function* nothingUntil(signal: AbortSignal): AsyncGenerator<never> {
  if (!signal.aborted) {
    await once(signal, "abort");
  }
  yield* [];
}

async function* readEvents(
  call: string,
  chunks: AsyncIterable<Uint8Array>,
  onBytes: () => void,
): AsyncGenerator<WatchEvent> {
  try {
    for await (const line of readLines(chunks, { maxLineLength, onBytes })) {
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
  const { items } = (body ?? {}) as { readonly items?: unknown };
  const { resourceVersion, continue: token } = metadataOf(body);
  // An answer without a list must not count as an empty list, because that would remove everything from the cache.
  if (!Array.isArray(items) || typeof resourceVersion !== "string" || resourceVersion === "") {
    throw new KubernetesError("UnreadableAnswer", `cannot ${call}: the answer is not a list`);
  }
  return { items, resourceVersion, continueToken: typeof token === "string" && token !== "" ? token : undefined };
}

/**
 * Splits bytes into lines. Empty lines are left out. A character may be spread over two chunks.
 * @throws SyntaxError when a line is too long or cut off; TypeError when the bytes are not UTF-8.
 */
export async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  { maxLineLength, onBytes }: { readonly maxLineLength: number; readonly onBytes: () => void },
): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let rest = "";
  for await (const chunk of chunks) {
    onBytes();
    rest += decoder.decode(chunk, { stream: true });
    // A long line arrives in many chunks. It is searched only when its end has come.
    const lines = chunk.includes(newline) ? rest.split("\n") : [rest];
    rest = lines.pop() ?? "";
    if (Math.max(rest.length, ...lines.map(({ length }) => length)) > maxLineLength) {
      throw new SyntaxError(`a line is longer than ${maxLineLength} characters`);
    }
    yield* lines.filter((line) => line.trim() !== "");
  }
  if (rest + decoder.decode() !== "") {
    throw new SyntaxError("the stream ended in the middle of a line");
  }
}

const newline = 0x0a;
