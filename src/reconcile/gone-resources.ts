/** Forgets resources that no longer exist, deletes abandoned endpoints, and logs orphans. */

import { isTokenOfCluster, ownershipToken, tokenIn } from "../decide/identity.ts";
import { remoteStateOf } from "../decide/remote-state.ts";
import { backoffMs } from "../domain/clock.ts";
import type { ControlPlane } from "../domain/control-plane.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { ProjectSnapshot } from "../domain/endpoint.ts";
import type { Logger } from "../domain/logger.ts";
import { noteWrite, readById, readEndpoints } from "./observe-project.ts";
import type { ReconcileContext } from "./ports.ts";
import type { AbandonedEndpoint, ProjectMemory, ResourceEntry } from "./project-memory.ts";
import { countEnded } from "./report.ts";
import type { Round } from "./round.ts";
import { isLocked } from "./schedule.ts";

/**
 * Removes resources that no longer exist from the project memory. If the answer to a create of such a resource was
 * never stored, no status names the endpoint. This function notes the endpoint, and `deleteAbandoned` deletes it.
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

/** The growing delays between two tries to delete an abandoned endpoint, in milliseconds. */
const retry = { firstMs: 2_000, longestMs: 600_000 };

/**
 * Deletes one endpoint whose resource was gone before the answer to its create was stored. The operator forgets the
 * endpoint when reads after the DELETE prove that it is gone, or when another resource owns it. Otherwise it tries again.
 */
export async function deleteAbandoned(
  context: ReconcileContext,
  controlPlane: ControlPlane,
  round: Round,
): Promise<void> {
  const { project, facts } = round;
  const abandoned = [...project.abandoned.values()].find(({ retryAtMs }) => retryAtMs <= facts.monotonicMs);
  if (abandoned === undefined || isLocked(project, facts.monotonicMs)) {
    return;
  }
  const claiming = [...round.all, ...round.elsewhere];
  const isOwned = claiming.some(({ claimed }) => claimed.endpointId === abandoned.endpointId);
  if (isOwned || (await isDeleted(context, controlPlane, project, abandoned))) {
    project.abandoned.delete(abandoned.endpointId);
  } else {
    const failures = abandoned.failures + 1;
    const retryAtMs = context.clock.monotonicMs() + backoffMs(failures, retry);
    project.abandoned.set(abandoned.endpointId, { ...abandoned, failures, retryAtMs });
  }
}

async function isDeleted(
  { clock, logger }: ReconcileContext,
  controlPlane: ControlPlane,
  project: ProjectMemory,
  { key, uid, endpointId, failures }: AbandonedEndpoint,
): Promise<boolean> {
  const fields = { namespace: key.namespace, name: key.name, uid, endpointId };
  try {
    const answer = await controlPlane.deleteEndpoint(project.projectId, endpointId).finally(() => {
      noteWrite(project, undefined, { isDelete: true });
    });
    project.operations.noteAnswer(answer?.operations ?? []);
    const reads = { clock, controlPlane };
    const { snapshot } = await readById(reads, await readEndpoints(reads, project), [endpointId]);
    const unwritten = { lastAnswer: undefined, deleteAnswered: undefined };
    const isGone = remoteStateOf(snapshot, endpointId, unwritten).kind === "Absent";
    if (isGone) {
      logger.warn(fields, "deleted the endpoint of a resource that was gone when its create was answered");
    }
    return isGone;
  } catch (error) {
    if (!(error instanceof ControlPlaneError)) {
      throw error;
    }
    if (failures === 0) {
      logger.warn(
        { ...fields, reason: error.reason },
        "cannot delete the endpoint of a resource that is gone; trying again",
      );
    }
    return false;
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
