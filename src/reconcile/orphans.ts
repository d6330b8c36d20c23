/** Finds orphans: endpoints that this cluster created and that no resource owns. */
import { isTokenOfCluster, ownershipToken, tokenIn } from "../decide/ownership-token.ts";
import type { Logger } from "../domain/logger.ts";
import type { ProjectSnapshot } from "../domain/project-snapshot.ts";
import type { Round } from "./round.ts";

/**
 * Remembers and logs the endpoints that carry this cluster's token and belong to no resource. The operator never
 * deletes them.
 */
export function noteOrphans({ logger }: { readonly logger: Logger }, round: Round, snapshot: ProjectSnapshot): void {
  const { project, facts } = round;
  const all = [...round.all, ...round.elsewhere];
  const { clusterId } = facts.identity;
  // A resource without an endpoint may still find its endpoint by the token.
  const searching = all.filter(({ claimed }) => claimed.endpointId === undefined);
  const tokens = new Set(searching.map(({ uid }) => ownershipToken(clusterId, uid)));
  const ownedIds = new Set(all.map(({ claimed }) => claimed.endpointId));
  const orphans = [...snapshot.endpoints.values()].filter(({ id, name }) => {
    const token = tokenIn(name);
    const isKnown = token === undefined || tokens.has(token) || ownedIds.has(id) || project.abandoned.has(id);
    return !isKnown && isTokenOfCluster(token, clusterId);
  });
  for (const { id } of orphans.filter(({ id: orphanId }) => !project.orphanIds.has(orphanId))) {
    const fields = { projectId: project.projectId, endpointId: id };
    logger.warn(fields, "this cluster created an endpoint that no resource owns; the operator does not delete it");
  }
  project.orphanIds = new Set(orphans.map(({ id }) => id));
}
