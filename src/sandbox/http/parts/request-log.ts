/** One request under `/api/v2`, from its arrival on. */
export interface RequestEntry {
  /** Rises by one with every request. */
  readonly sequence: number;
  /** At arrival, epoch milliseconds of the sandbox's clock. */
  readonly atMs: number;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** As the route is written, such as `/projects/:project_id/endpoints`; `undefined` for an unknown one. */
  readonly route: string | undefined;
  /** Name of the key; `undefined`: not authenticated. */
  readonly key: string | undefined;
  /** `undefined`: no answer yet, or the connection was cut instead. */
  status: number | undefined;
  /** Kind of the fault that was applied to it. */
  fault: string | undefined;
}

/** How often a route was called. */
export interface RequestCount {
  readonly method: string;
  readonly route: string;
  readonly count: number;
}

/** The latest requests; older ones are forgotten, the counts are not. */
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
    // Cut in large steps: moving the whole log for each request would cost as much as the request.
    if (this.#entries.length >= this.#capacity * 2) this.#entries = this.#entries.slice(-this.#capacity);
    this.#count(request.method, request.route ?? "unknown");
    return entry;
  }

  /** Those with a higher sequence number, oldest first, at most as many as the log holds. */
  since(sequence: number): readonly RequestEntry[] {
    return this.#entries.slice(-this.#capacity).filter((entry) => entry.sequence > sequence);
  }

  /** In the order in which the routes were first called. */
  counts(): readonly RequestCount[] {
    return [...this.#counts.values()];
  }

  /** Sequence numbers go on rising. */
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
