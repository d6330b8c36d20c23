import { Counter, Gauge } from "prom-client";
import type { MetricsRegistry } from "./metrics-registry.ts";

/** The few figures of the process that every dashboard of an operator shows. */
export function registerProcessMetrics(registry: MetricsRegistry, version: string): void {
  const registers = [registry];
  const build: Gauge = new Gauge({
    name: "endpoint_operator_build_info",
    help: "1; says which version runs.",
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
}
