/** The log of the requests to the sandbox's API. */

/** The log entry of one request under `/api/v2`. */
export interface RequestEntry {
  /** A number that rises by one with every request. */
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
}

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

  open(request: Omit<RequestEntry, "sequence" | "status" | "fault">): RequestEntry {
    this.#sequence += 1;
    const entry: RequestEntry = { sequence: this.#sequence, ...request, status: undefined, fault: undefined };
    this.#entries.push(entry);
    // The log is shortened in large steps. Moving all entries for each request would cost as much as the request.
    if (this.#entries.length >= this.#capacity * 2) this.#entries = this.#entries.slice(-this.#capacity);
    this.#count(request.method, request.route ?? "unknown");
    return entry;
  }

  /** Returns the kept entries with a higher sequence number than this, oldest first. */
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
