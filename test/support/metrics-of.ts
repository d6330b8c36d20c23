/** Makes metrics over resources of a test. */
import type { ReflectorStats } from "../../src/domain/resource-store.ts";
import { createMetrics } from "../../src/telemetry/metrics.ts";

const nowMs = Date.parse("2026-11-21T12:00:00Z");

/** The statistics of a watch that has not started. */
const quietWatch: ReflectorStats = {
  hasSynced: false,
  isWatching: false,
  silentForMs: undefined,
  lists: 0,
  watches: 0,
};

export function connectedPlane(label: string) {
  const throttled = { TooManyRequests: 0, HeldBack: 0, BudgetUsedUp: 0 };
  return { label, counts: { calls: 0, throttled }, credentials: "Unknown" as const };
}

/**
 * Makes the metrics of these resources. The control plane's clock shows 12:00 on 2026-11-21, except in the project
 * `no-clock`.
 */
export function metricsOf(parts: Partial<Parameters<typeof createMetrics>[0]> = {}) {
  const metrics = createMetrics({
    version: "1.2.3",
    workers: 16,
    activeWorkers: () => 0,
    resources: () => [],
    accesses: () => [],
    branches: () => [],
    orphanCount: () => 2,
    nowMs: () => nowMs,
    operationsAges: () => [{ controlPlane: "settings", projectId: "green-fox-123456", ageMs: 31_500 }],
    unreadableCount: () => 0,
    controlPlanes: () => [connectedPlane("settings")],
    queueStats: () => ({ depth: 0, unfinishedWorkSeconds: 3, longestRunningSeconds: 2 }),
    watchStats: () => quietWatch,
    leader: { leaseName: "endpoint-operator", isLeader: () => true },
    ...parts,
  });
  const lines = async () => (await metrics.render()).split("\n").filter((line) => line !== "");
  return {
    ...metrics,
    /** Returns the series of one metric, in order. */
    series: async (name: string) =>
      (await lines()).filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `)),
    lines,
  };
}
