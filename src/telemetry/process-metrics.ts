/** The metrics of the process that every dashboard of an operator shows. */
import { getHeapStatistics } from "node:v8";
import { Histogram } from "prom-client";
import { type MetricsRegistry, registerComputed } from "./metrics-registry.ts";

/** The metrics of this process that other code reports. */
export interface ProcessMetrics {
  /** Reports the lateness of a timer. @param seconds how late the timer fired */
  eventLoopDelayed(seconds: number): void;
}

/**
 * The upper bounds of the lateness histogram in seconds, from the usual lateness of a timer to one that probes notice.
 */
const delayBucketsSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Makes the metrics. */
export function createProcessMetrics(registry: MetricsRegistry, version: string): ProcessMetrics {
  registerComputed(registry, {
    name: "endpoint_operator_build_info",
    help: "Always 1; the label version names the running version.",
    labelNames: ["version"],
    series: () => [[{ version }, 1]],
  });
  registerComputed(registry, {
    name: "process_start_time_seconds",
    help: "When the process started, in seconds since 1970.",
    series: () => [[{}, Math.round(performance.timeOrigin / 1000)]],
  });
  registerComputed(registry, {
    name: "process_resident_memory_bytes",
    help: "Memory the process holds.",
    series: () => [[{}, process.memoryUsage.rss()]],
  });
  registerComputed(registry, {
    name: "nodejs_heap_size_used_bytes",
    help: "Memory that the JavaScript heap uses.",
    series: () => [[{}, getHeapStatistics().used_heap_size]],
  });
  const delay = new Histogram({
    name: "endpoint_operator_event_loop_delay_seconds",
    help: "How late timers fire, measured ten times a second: how long the event loop was blocked.",
    buckets: delayBucketsSeconds,
    registers: [registry],
  });
  registerComputed(registry, {
    name: "process_cpu_seconds_total",
    help: "Processor time the process has used, user and system.",
    type: "counter",
    series: () => {
      const { user, system } = process.cpuUsage();
      return [[{}, (user + system) / 1_000_000]];
    },
  });
  return { eventLoopDelayed: (seconds) => delay.observe(seconds) };
}
