/**
 * Counts how computes use their local file caches. The sandbox does not measure this; clients report it when they
 * connect.
 */
import type { EndpointRecord } from "./records.ts";

/** How a compute has used its local file cache, in pages. */
export interface FileCacheUse {
  readonly hits: number;
  readonly misses: number;
  readonly writes: number;
  readonly used: number;
}

const nothing: FileCacheUse = { hits: 0, misses: 0, writes: 0, used: 0 };

export function fileCacheHitRatio({ hits, misses }: FileCacheUse): number | undefined {
  return hits + misses === 0 ? undefined : (hits / (hits + misses)) * 100;
}

export class FileCaches {
  readonly #uses = new Map<string, { readonly startedMs: number | undefined; readonly use: FileCacheUse }>();

  /** `undefined`: the compute does not run. */
  of({ id, state, startedMs }: EndpointRecord): FileCacheUse | undefined {
    if (state !== "active") return undefined;
    const kept = this.#uses.get(id);
    return kept?.startedMs === startedMs ? (kept?.use ?? nothing) : nothing;
  }

  /** Adds to the counts of a running compute and sets `used`. For a compute that does not run, nothing happens. */
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
