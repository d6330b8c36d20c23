/** Checks that no operation is counted twice. */
import type { OperationRecord } from "../control-plane/engine.ts";
import { isObserved, ownershipOf } from "../run/stored-records.ts";
import type { World } from "../run/world.ts";
import type { Oracle } from "./oracle.ts";

/** Longer than the time between two reconciles of a project. */
const pollMs = 60_000;

const counter = /^compute_endpoint_operations_total\{(?<labels>[^}]*)\} (?<value>\d+)$/gm;
const gaps = /^compute_endpoint_operation_log_gaps_total (?<value>\d+)$/m;

/**
 * Checks that every ended operation is counted at most once, and none from before an adoption. If every process could
 * end its work and no record was lost, each operation must be counted exactly once, and none may be missing in the
 * history that was read.
 */
export function countedOnce(world: World): Oracle {
  const observers = new Set<string>();
  return {
    onObject({ object }) {
      if (isObserved(object)) observers.add(object.metadata.uid);
    },
    atEnd() {
      const { history } = world;
      const counted = countsOf(world.metricsPages);
      const ended = world.controlPlanes
        .flatMap((controlPlane) => world.projectIds.flatMap((projectId) => controlPlane.history(projectId)))
        .filter(({ status }) => isEnded(status));
      const mayCount = ({ id, endpointId, updatedMs }: OperationRecord) =>
        endpointId === undefined ||
        (history.firstRecords.has(endpointId) &&
          // A disguised operation ends for the operator when the control plane shows it as it is.
          (world.controlPlane.everDisguised.has(id) || updatedMs >= ownedFromMs(world, endpointId)));
      const atMost = tally(ended.filter(mayCount));
      // Without status, the operator cannot know what it has counted.
      const isLost = history.statusLost.size > 0;
      for (const [kind, count] of isLost ? [] : counted) {
        // An operation counts for the owner of its endpoint, and for each resource that observes it.
        if (count > (atMost.get(kind) ?? 0) * (1 + observers.size))
          world.violate("Counting", `${kind}: ${count} counted, ${atMost.get(kind) ?? 0} ended`);
      }
      if (isExact(world)) requireAll(world, ended, counted);
    },
  };
}

/**
 * Returns the time from which the operator may count operations of an endpoint, in milliseconds of the engine. An
 * adopted endpoint has a history that belongs to another client.
 */
function ownedFromMs({ history, controlPlane, time }: World, endpointId: string): number {
  const first = history.firstRecords.get(endpointId);
  if (first?.origin !== "Adopted") return Number.NEGATIVE_INFINITY;
  // The read that the adoption followed may be this old.
  return controlPlane.engineNowMs() - time.nowMs() + first.atMs - pollMs;
}

/** Whether every operation must be counted: every process could end its work, and no record was lost. */
function isExact({ history, controlPlane, options, faults }: World): boolean {
  // While a control plane cannot be used, nothing of it is read. A count that waits is forgotten with its project.
  if (options.hasPlanes === true || options.amnesia !== undefined) return false;
  const { deaths, kills, robbed, statusLost } = history;
  if (statusLost.size > 0) return false;
  // A process that ends while it does not know whether a status was stored takes its counts with it.
  const isComplete = deaths === 0 || (kills === 0 && faults.hit.size === 0);
  return isComplete && robbed.size === 0 && controlPlane.everDisguised.size === 0;
}

/** Checks the operations of endpoints that an existing resource has created itself, and that no history was skipped. */
function requireAll(world: World, ended: readonly OperationRecord[], counted: ReadonlyMap<string, number>): void {
  const skipped = world.metricsPages.map((page) => Number(gaps.exec(page)?.groups?.value ?? 0));
  if (skipped.some((count) => count > 0)) world.violate("Counting", "a part of the history was not read");
  const own = new Set(
    world.resources().flatMap((resource) => {
      const record = ownershipOf(resource);
      const creator = world.controlPlane.creators.get(record?.endpointId ?? "");
      return record !== undefined && creator?.by === "Operator" && creator.uid === resource.metadata.uid
        ? [record.endpointId]
        : [];
    }),
  );
  const seenByMs = world.controlPlane.engineNowMs() - pollMs;
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
  for (const operation of operations) {
    const kind = `${operation.action} ${operation.status === "finished" ? "succeeded" : "failed"}`;
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
