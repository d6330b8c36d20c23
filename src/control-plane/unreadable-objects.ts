/** Reports objects of the control plane that the operator cannot parse. */
import type { Clock } from "../domain/clock.ts";
import type { ControlPlane } from "../domain/control-plane.ts";
import type { Logger } from "../domain/logger.ts";

/** The options of the report. */
export interface UnreadableObjectsOptions {
  readonly clock: Clock;
  readonly logger: Pick<Logger, "warn">;
}

/** A control plane that reports which objects of its lists cannot be parsed. */
export interface ReportingControlPlane {
  readonly controlPlane: ControlPlane;
  /** Returns the number of objects in the latest lists that could not be parsed, for the gauge. */
  unreadableCount(): number;
}

type Kind = "endpoints" | "operations";

interface UnreadableList {
  readonly ids: readonly string[];
  readonly seenMs: number;
}

/** A project that the operator has not listed for this many milliseconds is not counted. No resource names it then. */
const forgottenAfterMs = 3_600_000;

/** The maximum number of ids in one log line. */
const maxLoggedIds = 20;

/**
 * Returns a control plane that counts the objects of its lists that could not be parsed. When new ones appear, it logs
 * them at warn.
 * The calls themselves do not change. For operations, only the newest page counts.
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
      logger.warn(
        fields,
        "the operator cannot parse some objects that the control plane lists; it uses only their ids",
      );
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
