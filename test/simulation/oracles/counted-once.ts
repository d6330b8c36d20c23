/** Checks that no operation is counted twice. */
import { ownershipOf } from "../run/stored-records.ts";
import type { World } from "../run/world.ts";
import type { OperationRecord } from "../service/engine.ts";
import type { Oracle } from "./oracle.ts";

/** Longer than the time between two reconciles of a project. */
const pollMs = 60_000;

const counter = /^compute_endpoint_operations_total\{(?<labels>[^}]*)\} (?<value>\d+)$/gm;

/**
 * Checks that every ended operation is counted at most once. If no process died and no record was lost, it must be
 * counted exactly once.
 */
export function countedOnce(world: World): Oracle {
  return {
    atEnd() {
      const counted = countsOf(world.metricsPages);
      const recorded = new Set([...world.history.recordedIds.values()].flatMap((ids) => [...ids]));
      const ended = world.services
        .flatMap((service) => world.projectIds.flatMap((projectId) => service.history(projectId)))
        .filter(({ status }) => isEnded(status));
      const atMost = tally(ended.filter(({ endpointId }) => endpointId === undefined || recorded.has(endpointId)));
      // After an etcd restore, or without status, the operator cannot know what it has counted.
      const isLost = world.history.etcdRestoredAtMs !== undefined || world.history.statusLost.size > 0;
      for (const [kind, count] of isLost ? [] : counted) {
        if (count > (atMost.get(kind) ?? 0))
          world.violate("Counting", `${kind}: ${count} counted, ${atMost.get(kind) ?? 0} ended`);
      }
      if (isExact(world)) requireAll(world, ended, counted);
    },
  };
}

/** Whether every operation must be counted: no process died, and no record was lost. */
function isExact({ history, service, options }: World): boolean {
  // While a control plane cannot be used, nothing of it is read.
  if (options.hasPlanes === true) return false;
  const { deaths, robbed, etcdRestoredAtMs, statusLost } = history;
  if (statusLost.size > 0) return false;
  return deaths === 0 && robbed.size === 0 && etcdRestoredAtMs === undefined && service.everDisguised.size === 0;
}

/** Checks the operations of endpoints that an existing resource has created itself. */
function requireAll(world: World, ended: readonly OperationRecord[], counted: ReadonlyMap<string, number>): void {
  const own = new Set(
    world.resources().flatMap((resource) => {
      const record = ownershipOf(resource);
      const creator = world.service.creators.get(record?.endpointId ?? "");
      return record !== undefined && creator?.by === "Operator" && creator.uid === resource.metadata.uid
        ? [record.endpointId]
        : [];
    }),
  );
  const seenByMs = world.service.engineNowMs() - pollMs;
  const due = ended.filter(({ endpointId, updatedMs }) => own.has(endpointId ?? "") && updatedMs < seenByMs);
  for (const [kind, count] of tally(due)) {
    const found = counted.get(kind) ?? 0;
    if (found < count) world.violate("Counting", `${kind}: ${count} ended, ${found} counted`);
  }
}

function isEnded(status: string): boolean {
  return status === "finished" || status === "failed";
}

function tally(operations: readonly OperationRecord[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { action, status } of operations) {
    const kind = `${action} ${status === "finished" ? "succeeded" : "failed"}`;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return counts;
}

/** Returns the sum over all processes of a run. */
function countsOf(pages: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const page of pages) {
    for (const { groups } of page.matchAll(counter)) {
      const label = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(groups?.labels ?? "")?.[1];
      const kind = `${label("action")} ${label("outcome")}`;
      counts.set(kind, (counts.get(kind) ?? 0) + Number(groups?.value));
    }
  }
  return counts;
}
