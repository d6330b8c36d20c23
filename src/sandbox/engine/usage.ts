/**
 * Counts how long computes ran, for each branch and day. A run is counted when it ends; a run in progress is added when
 * the usage is read.
 */
import type { EndpointRecord } from "./records.ts";
import type { World } from "./world.ts";

const dayMs = 86_400_000;

export interface Usage {
  readonly activeMs: number;
  /** Milliseconds times compute units, at the minimum size, because the sandbox measures no load. */
  readonly unitMs: number;
}

/** From a time (inclusive) to a time (exclusive), in epoch milliseconds. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

export function noteRunEnded(world: World, endpoint: EndpointRecord): void {
  const { projectId, branchId, startedMs, minUnits } = endpoint;
  if (endpoint.state !== "active" || startedMs === undefined) return;
  for (let day = Math.floor(startedMs / dayMs); day * dayMs < world.nowMs; day += 1) {
    const id = `${branchId}/${day * dayMs}`;
    const before = world.store.usage.get(id);
    const activeMs = overlapMs({ fromMs: startedMs, toMs: world.nowMs }, dayOf(day * dayMs));
    world.store.usage.put({
      id,
      sequence: day,
      projectId,
      branchId,
      dayMs: day * dayMs,
      activeMs: (before?.activeMs ?? 0) + activeMs,
      unitMs: (before?.unitMs ?? 0) + activeMs * minUnits,
    });
  }
}

export function usageIn(
  { store, nowMs }: World,
  { projectId, branchId }: { readonly projectId: string; readonly branchId?: string | undefined },
  span: Span,
): Usage {
  let [activeMs, unitMs] = [0, 0];
  for (const day of branchId === undefined ? store.usage.ofProject(projectId) : store.usage.ofBranch(branchId)) {
    if (day.dayMs < span.fromMs || day.dayMs >= span.toMs) continue;
    activeMs += day.activeMs;
    unitMs += day.unitMs;
  }
  for (const endpoint of branchId === undefined
    ? store.endpoints.ofProject(projectId)
    : store.endpoints.ofBranch(branchId)) {
    if (endpoint.state !== "active" || endpoint.startedMs === undefined) continue;
    const runMs = overlapMs({ fromMs: endpoint.startedMs, toMs: nowMs }, span);
    activeMs += runMs;
    unitMs += runMs * endpoint.minUnits;
  }
  return { activeMs, unitMs };
}

/** Returns the month (UTC) that contains a time. */
export function monthOf(timeMs: number): Span {
  const time = new Date(timeMs);
  const [year, month] = [time.getUTCFullYear(), time.getUTCMonth()];
  return { fromMs: Date.UTC(year, month), toMs: Date.UTC(year, month + 1) };
}

export function dayOf(timeMs: number): Span {
  const fromMs = Math.floor(timeMs / dayMs) * dayMs;
  return { fromMs, toMs: fromMs + dayMs };
}

function overlapMs(a: Span, b: Span): number {
  return Math.max(0, Math.min(a.toMs, b.toMs) - Math.max(a.fromMs, b.fromMs));
}
