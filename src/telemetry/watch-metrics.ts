import { Counter, Gauge } from "prom-client";
import type { MetricsRegistry } from "./metrics-registry.ts";
import { controllerName } from "./reconcile-metrics.ts";

/** The statistics of the watch that each scrape reads. */
export interface WatchStats {
  readonly hasSynced: boolean;
  readonly isWatching: boolean;
  /** Milliseconds since the last byte of the API server, bookmarks included; `undefined` before the first list. */
  readonly silentForMs: number | undefined;
  /** Complete lists so far. */
  readonly lists: number;
  /** Watches opened so far. */
  readonly watches: number;
}

const labels = { name: controllerName };

/** Registers the metrics of the watch; the counters have the names of client-go. */
export function registerWatchMetrics(registry: MetricsRegistry, stats: () => WatchStats): void {
  const common = { labelNames: ["name"], registers: [registry] };
  const counters: readonly (readonly [name: string, help: string, value: (now: WatchStats) => number])[] = [
    ["reflector_lists_total", "Complete lists read from the API server.", (now) => now.lists],
    ["reflector_watches_total", "Watches opened on the API server.", (now) => now.watches],
  ];
  for (const [name, help, value] of counters) {
    const counter: Counter = new Counter({
      ...common,
      name,
      help,
      collect: () => {
        counter.reset();
        counter.inc(labels, value(stats()));
      },
    });
  }
  const gauges: readonly (readonly [name: string, help: string, value: (now: WatchStats) => number | undefined])[] = [
    ["reflector_synced", "1 once the first list is in the cache.", (now) => Number(now.hasSynced)],
    ["reflector_watching", "1 while a watch is open.", (now) => Number(now.isWatching)],
    [
      "reflector_silent_seconds",
      "Seconds since the last byte of the API server, bookmarks included; grows when the watch is stale.",
      (now) => (now.silentForMs === undefined ? undefined : now.silentForMs / 1000),
    ],
  ];
  for (const [name, help, value] of gauges) {
    const gauge: Gauge = new Gauge({
      ...common,
      name,
      help,
      collect: () => {
        gauge.reset();
        const now = value(stats());
        if (now !== undefined) {
          gauge.set(labels, now);
        }
      },
    });
  }
}
