/** Forgets resources that no longer exist. */
import type { ResourceEntry } from "./project-memory.ts";
import type { ReconcileContext } from "./reconcile-context.ts";
import { countEnded } from "./report.ts";
import type { Round } from "./round.ts";

/**
 * Removes resources that are gone from the project memory. If the answer to a create of such a resource was never
 * stored, the operator deletes the endpoint. No status names the endpoint, so no other reconcile would find it.
 */
export function forgetGone(context: ReconcileContext, round: Round): void {
  const { project, facts } = round;
  const isKnown = new Set(round.all.map(({ uid }) => uid));
  for (const [uid, entry] of project.resources) {
    if (isKnown.has(uid)) {
      continue;
    }
    const { answeredCreate } = entry.memory;
    if (answeredCreate !== undefined) {
      const endpointId = answeredCreate.endpoint.id;
      project.abandoned.set(endpointId, { key: entry.key, uid, endpointId, failures: 0, retryAtMs: facts.monotonicMs });
    }
    forget(context, entry);
    project.resources.delete(uid);
    round.wakeWaiting();
  }
}

function forget(context: ReconcileContext, { key, unconfirmed }: ResourceEntry): void {
  const release = unconfirmed.findLast(({ status }) => status === undefined);
  countEnded(context, key, release?.ended ?? []);
  if (context.store.get(key) === undefined) {
    context.metrics.forgetResource(key);
  }
}
