import type { EndpointRecord } from "./records.ts";

/** What the local file cache of a compute has done. Counts of pages. */
export interface FileCacheUse {
  readonly hits: number;
  readonly misses: number;
  readonly writes: number;
  /** Pages in the cache. */
  readonly used: number;
}

const nothing: FileCacheUse = { hits: 0, misses: 0, writes: 0, used: 0 };

/** Hits in a hundred looks; `undefined`: nobody has looked. @see seed part 2, "Compute sizes", rule 5 */
export function fileCacheHitRatio({ hits, misses }: FileCacheUse): number | undefined {
  return hits + misses === 0 ? undefined : (hits / (hits + misses)) * 100;
}

/** Statistics of the running computes: since each last started, gone when it stops. */
export class FileCaches {
  readonly #uses = new Map<string, { readonly startedMs: number | undefined; readonly use: FileCacheUse }>();

  /** `undefined`: the compute does not run. */
  of({ id, state, startedMs }: EndpointRecord): FileCacheUse | undefined {
    if (state !== "active") return undefined;
    const kept = this.#uses.get(id);
    return kept?.startedMs === startedMs ? (kept?.use ?? nothing) : nothing;
  }

  /** Adds counts to those of a running compute; `used` is what is in the cache from now on. Of another: nothing happens. */
  add(endpoint: EndpointRecord, more: FileCacheUse): void {
    const before = this.of(endpoint);
    if (before === undefined) return;
    const { hits, misses, writes } = before;
    const use = {
      hits: hits + more.hits,
      misses: misses + more.misses,
      writes: writes + more.writes,
      used: more.used,
    };
    this.#uses.set(endpoint.id, { startedMs: endpoint.startedMs, use });
  }
}
