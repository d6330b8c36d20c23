import { getHeapStatistics } from "node:v8";
import { Counter, Gauge, Histogram } from "prom-client";
import type { MetricsRegistry } from "./metrics-registry.ts";

/** The metrics of this process that other code reports. */
export interface ProcessMetrics {
  /** Reports the lateness of a timer. @param seconds how late the timer fired */
  eventLoopDelayed(seconds: number): void;
}

/**
 * The upper bounds of the lateness histogram in seconds, from the usual lateness of a timer to one that probes notice.
 */
const delayBucketsSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Makes the metrics of the process that every dashboard of an operator shows. */
export function createProcessMetrics(registry: MetricsRegistry, version: string): ProcessMetrics {
  const registers = [registry];
  const build: Gauge = new Gauge({
    name: "endpoint_operator_build_info",
    help: "Always 1; the label version names the running version.",
    labelNames: ["version"],
    registers,
  });
  build.set({ version }, 1);
  const started: Gauge = new Gauge({
    name: "process_start_time_seconds",
    help: "When the process started, in seconds since 1970.",
    registers,
  });
  started.set(Math.round(performance.timeOrigin / 1000));
  const memory: Gauge = new Gauge({
    name: "process_resident_memory_bytes",
    help: "Memory the process holds.",
    registers,
    collect: () => memory.set(process.memoryUsage.rss()),
  });
  const heap: Gauge = new Gauge({
    name: "nodejs_heap_size_used_bytes",
    help: "Memory that the JavaScript heap uses.",
    registers,
    collect: () => heap.set(getHeapStatistics().used_heap_size),
  });
  const delay = new Histogram({
    name: "endpoint_operator_event_loop_delay_seconds",
    help: "How late timers fire, measured ten times a second: how long the event loop was blocked.",
    buckets: delayBucketsSeconds,
    registers,
  });
  const cpu: Counter = new Counter({
    name: "process_cpu_seconds_total",
    help: "Processor time the process has used, user and system.",
    registers,
    collect: () => {
      const { user, system } = process.cpuUsage();
      cpu.reset();
      cpu.inc((user + system) / 1_000_000);
    },
  });
  return { eventLoopDelayed: (seconds) => delay.observe(seconds) };
}
