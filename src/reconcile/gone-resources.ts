/** Forgets resources that no longer exist, and logs orphans. */
import { isTokenOfCluster, ownershipToken, tokenIn } from "../decide/identity.ts";
import type { ProjectSnapshot } from "../domain/endpoint.ts";
import type { Logger } from "../domain/logger.ts";
import type { ReconcileContext } from "./ports.ts";
import type { Round } from "./round.ts";

export function forgetGone(context: ReconcileContext, round: Round): void {
  const { project } = round;
  const isKnown = new Set(round.all.map(({ uid }) => uid));
  for (const [uid, entry] of project.resources) {
    if (isKnown.has(uid)) {
      continue;
    }
    if (context.store.get(entry.key) === undefined) {
      context.metrics.forgetResource(entry.key);
    }
    project.resources.delete(uid);
    round.wakeWaiting();
  }
}

/**
 * Remembers the orphans: endpoints that carry this cluster's token and belong to no resource. It logs each new one. The
 * operator never deletes them.
 */
export function noteOrphans({ logger }: { readonly logger: Logger }, round: Round, snapshot: ProjectSnapshot): void {
  const { project, facts } = round;
  const all = [...round.all, ...round.elsewhere];
  const { clusterId } = facts.identity;
  // A resource without an endpoint may still find its endpoint by the token.
  const searching = all.filter(({ claimedId }) => claimedId === undefined);
  const tokens = new Set(searching.map(({ uid }) => ownershipToken(clusterId, uid)));
  const ownedIds = new Set(all.map(({ claimedId }) => claimedId));
  const orphans = [...snapshot.endpoints.values()].filter(({ id, name }) => {
    const token = tokenIn(name);
    const isKnown = token === undefined || tokens.has(token) || ownedIds.has(id);
    return !isKnown && isTokenOfCluster(token, clusterId);
  });
  for (const { id } of orphans.filter(({ id: orphanId }) => !project.orphanIds.has(orphanId))) {
    const fields = { projectId: project.projectId, endpointId: id };
    logger.warn(fields, "this cluster created an endpoint that no resource owns; the operator does not delete it");
  }
  project.orphanIds = new Set(orphans.map(({ id }) => id));
}
