/** Deletes endpoints whose resources were gone before their create was answered. */
import { backoffMs } from "../domain/backoff.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import { noteWrite } from "./observe-project.ts";
import type { AbandonedEndpoint } from "./project-memory.ts";
import type { CarryOutContext } from "./reconcile-context.ts";
import type { Round } from "./round.ts";
import { isLocked } from "./schedule.ts";

/** The delays before a refused or lost DELETE is sent again: they double from the first to the longest. */
const retry = { firstMs: 2_000, longestMs: 600_000 };

/**
 * Deletes one endpoint whose resource was already gone when its create was answered. The operator forgets the endpoint
 * when it is proven gone, or when another resource owns it.
 */
export async function deleteAbandoned(context: CarryOutContext, round: Round): Promise<void> {
  const { project, facts } = round;
  const abandoned = [...project.abandoned.values()].find(({ retryAtMs }) => retryAtMs <= facts.monotonicMs);
  if (abandoned === undefined || isLocked(project, facts.monotonicMs)) {
    return;
  }
  const claiming = [...round.all, ...round.elsewhere];
  const isOwned = claiming.some(({ claimed }) => claimed.endpointId === abandoned.endpointId);
  if (isOwned || (await isDeleted(context, round, abandoned))) {
    project.abandoned.delete(abandoned.endpointId);
  } else {
    const failures = abandoned.failures + 1;
    const retryAtMs = context.clock.monotonicMs() + backoffMs(failures, retry);
    project.abandoned.set(abandoned.endpointId, { ...abandoned, failures, retryAtMs });
  }
}

async function isDeleted(
  { controlPlane, clock, logger }: CarryOutContext,
  { project }: Round,
  { key, uid, endpointId, failures }: AbandonedEndpoint,
): Promise<boolean> {
  const fields = { namespace: key.namespace, name: key.name, uid, endpointId };
  try {
    const answer = await controlPlane.deleteEndpoint(project.projectId, endpointId).finally(() => {
      noteWrite(project, undefined, { isDelete: true, nowMs: clock.monotonicMs() });
    });
    project.operations.noteAnswer(answer?.operations ?? []);
    const isGone = (await controlPlane.getEndpoint(project.projectId, endpointId)) === undefined;
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
