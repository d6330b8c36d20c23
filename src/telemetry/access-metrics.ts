import { Counter, Gauge } from "prom-client";
import { isTrue } from "../resource/conditions.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { MetricsRegistry } from "./metrics-registry.ts";

const writeCauses = ["Created", "ConnectionChanged", "Restored", "Rotated"] as const;

/** Counts what happens to Secrets and passwords. Its methods never throw. */
export interface AccessCounters {
  secretWritten(cause: (typeof writeCauses)[number]): void;
  passwordReset(): void;
}

/** What the gauges of DatabaseAccesses are computed from. */
export interface AccessMetricsOptions {
  readonly resources: () => readonly DatabaseAccess[];
  /** Returns the present time in epoch milliseconds. */
  readonly nowMs: () => number;
}

/** Makes the metrics of DatabaseAccesses. No label and no value comes from a Secret. */
export function createAccessMetrics(registry: MetricsRegistry, options: AccessMetricsOptions): AccessCounters {
  registerGauges(registry, options);
  const writes = new Counter({
    name: "database_access_secret_writes_total",
    help: "Writes of Secrets with connection data, by cause.",
    labelNames: ["cause"],
    registers: [registry],
  });
  const resets = new Counter({
    name: "database_access_password_resets_total",
    help: "Passwords that the control plane reset because the operator asked for it.",
    registers: [registry],
  });
  // The series exist from the start: Prometheus cannot see the rise of a counter that first appears at 1.
  for (const cause of writeCauses) {
    writes.inc({ cause }, 0);
  }
  return { secretWritten: (cause) => writes.inc({ cause }), passwordReset: () => resets.inc() };
}

function registerGauges(registry: MetricsRegistry, { resources, nowMs }: AccessMetricsOptions): void {
  const common = { labelNames: ["namespace", "name"], registers: [registry] };
  const ready: Gauge = new Gauge({
    ...common,
    name: "database_access_ready",
    help: "1 while a DatabaseAccess is Ready, else 0.",
    collect: () => {
      ready.reset();
      for (const { key, status } of resources()) {
        ready.set({ namespace: key.namespace, name: key.name }, Number(isTrue(status.conditions, "Ready")));
      }
    },
  });
  const age: Gauge = new Gauge({
    ...common,
    name: "database_access_password_age_seconds",
    help: "Time since the password was reset, or since the operator first knew it.",
    collect: () => {
      age.reset();
      for (const { key, status } of resources()) {
        const sinceMs = Date.parse(status.password?.rotatedTime ?? status.password?.knownSinceTime ?? "");
        if (Number.isFinite(sinceMs)) {
          age.set({ namespace: key.namespace, name: key.name }, Math.max(0, nowMs() - sinceMs) / 1_000);
        }
      }
    },
  });
}
