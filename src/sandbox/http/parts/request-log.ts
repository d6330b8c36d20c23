/** The log of the requests to the sandbox's API. */

/** The log entry of one request under `/api/v2`. */
export interface RequestEntry {
  readonly sequence: number;
  /** When the request arrived, in epoch milliseconds of the sandbox's clock. */
  readonly atMs: number;
  readonly method: string;
  /** The path without the query. */
  readonly path: string;
  /** The route, such as `/api/v2/projects/:project_id/endpoints`; `undefined` for an unknown one. */
  readonly route: string | undefined;
  /** The name of the key; `undefined`: the request had no valid key. */
  readonly key: string | undefined;
  /** The status of the answer; `undefined`: there is no answer yet, or the connection was cut. */
  status: number | undefined;
  /** The kind of the fault that was applied; `undefined`: none. */
  fault: string | undefined;
  /** How long the answer took, by the machine's clock; `undefined`: there is no answer yet. */
  milliseconds: number | undefined;
  /** The start of the request's body; `undefined`: it has none, or the entry is not one of the latest. */
  body: string | undefined;
  /** The message of an answer with an error. */
  error: string | undefined;
}

/** How many of the latest entries have a body, and how much of it. */
const kept = { bodies: 200, characters: 2000 };

/** How many requests a route got. */
export interface RequestCount {
  readonly method: string;
  readonly route: string;
  readonly count: number;
}

/** The latest 10,000 requests under `/api/v2`, and the number of all requests by method and route. */
export class RequestLog {
  readonly #capacity: number;
  #entries: RequestEntry[] = [];
  #sequence = 0;
  readonly #counts = new Map<string, RequestCount & { count: number }>();

  constructor(capacity = 10_000) {
    this.#capacity = capacity;
  }

  open(request: Pick<RequestEntry, "atMs" | "method" | "path" | "route" | "key">): RequestEntry {
    this.#sequence += 1;
    const answer = { status: undefined, fault: undefined, milliseconds: undefined, body: undefined, error: undefined };
    const entry: RequestEntry = { sequence: this.#sequence, ...request, ...answer };
    this.#entries.push(entry);
    const older = this.#entries.at(-1 - kept.bodies);
    if (older !== undefined) older.body = undefined;
    // The log is shortened in large steps. Moving all entries for each request would cost as much as the request.
    if (this.#entries.length >= this.#capacity * 2) this.#entries = this.#entries.slice(-this.#capacity);
    this.#count(request.method, request.route ?? "unknown");
    return entry;
  }

  noteBody(entry: RequestEntry, body: string): void {
    if (body !== "") entry.body = body.slice(0, kept.characters);
  }

  since(sequence: number): readonly RequestEntry[] {
    return this.#entries.slice(-this.#capacity).filter((entry) => entry.sequence > sequence);
  }

  /** Returns the counts in the order in which the routes were first called. */
  counts(): readonly RequestCount[] {
    return [...this.#counts.values()];
  }

  /** Removes all entries and counts. Sequence numbers continue to rise. */
  clear(): void {
    this.#entries = [];
    this.#counts.clear();
  }

  #count(method: string, route: string): void {
    const key = `${method} ${route}`;
    const known = this.#counts.get(key);
    if (known === undefined) this.#counts.set(key, { method, route, count: 1 });
    else known.count += 1;
  }
}
