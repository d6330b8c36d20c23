import type { Clock } from "../domain/clock.ts";
import type { ControlPlane } from "../domain/control-plane.ts";
import type { Logger } from "../domain/logger.ts";

/** What reporting of unreadable objects needs. */
export interface UnreadableObjectsOptions {
  readonly clock: Clock;
  readonly logger: Pick<Logger, "warn">;
}

/** A control plane that reports which objects of its lists cannot be parsed. */
export interface ReportingControlPlane {
  readonly controlPlane: ControlPlane;
  /** How many objects the latest lists showed that could not be parsed; for the gauge. */
  unreadableCount(): number;
}

type Kind = "endpoints" | "operations";

interface UnreadableList {
  readonly ids: readonly string[];
  readonly seenMs: number;
}

/** The count leaves out a project that has not been listed for this long: no resource names it any more. */
const forgottenAfterMs = 3_600_000;

/** Ids in one log line. */
const maxLoggedIds = 20;

/**
 * Counts the objects of each project's lists that could not be parsed, and logs at warn when new ones appear.
 *
 * The calls themselves do not change. The number of operations is that of the newest page.
 */
export function withUnreadableReport(inner: ControlPlane, options: UnreadableObjectsOptions): ReportingControlPlane {
  const { clock, logger } = options;
  const lists = new Map<string, UnreadableList>();

  function note(projectId: string, kind: Kind, ids: readonly string[]): void {
    const key = `${kind} ${projectId}`;
    const known = new Set(lists.get(key)?.ids);
    const added = ids.filter((id) => !known.has(id));
    if (added.length > 0) {
      const fields = { projectId, kind, unreadable: ids.length, ids: added.slice(0, maxLoggedIds) };
      logger.warn(fields, "left out objects of the control plane that cannot be read");
    }
    if (ids.length > 0) {
      lists.set(key, { ids, seenMs: clock.monotonicMs() });
    } else {
      lists.delete(key);
    }
  }

  return {
    controlPlane: {
      serviceUrl: inner.serviceUrl,
      async listEndpoints(projectId) {
        const list = await inner.listEndpoints(projectId);
        note(projectId, "endpoints", list.unreadableIds);
        return list;
      },
      async listOperations(projectId, page) {
        const answer = await inner.listOperations(projectId, page);
        if (page.cursor === undefined) {
          note(projectId, "operations", answer.unreadableIds);
        }
        return answer;
      },
      getEndpoint: (projectId, endpointId) => inner.getEndpoint(projectId, endpointId),
      getOperation: (projectId, operationId) => inner.getOperation(projectId, operationId),
      createEndpoint: (projectId, creation) => inner.createEndpoint(projectId, creation),
      updateEndpoint: (projectId, endpointId, changes) => inner.updateEndpoint(projectId, endpointId, changes),
      changePower: (projectId, endpointId, action) => inner.changePower(projectId, endpointId, action),
      deleteEndpoint: (projectId, endpointId) => inner.deleteEndpoint(projectId, endpointId),
    },
    unreadableCount() {
      for (const [key, { seenMs }] of lists) {
        if (clock.monotonicMs() - seenMs > forgottenAfterMs) {
          lists.delete(key);
        }
      }
      return [...lists.values()].reduce((sum, { ids }) => sum + ids.length, 0);
    },
  };
}
