import { compareNewestFirst, type Operation } from "../domain/operation.ts";
import { annotations } from "../resource/names.ts";
import type { ComputeEndpointStatus, OperationWatermark, Ownership } from "../resource/status-schema.ts";
import { type AttributedOperation, attribute, explain, logBranch, ownOperationIds } from "./attribute-operations.ts";
import { type FailedAction, failedActionsAfter } from "./failed-actions.ts";
import type { Observation } from "./observation.ts";
import { latestEndpoint, type Pass } from "./pass.ts";
import { statusOperations } from "./status-operations.ts";
import { advanceWatermark, beginWatermark, moveWatermark } from "./watermark.ts";

/** What the operation log says of one resource after a pass. */
export interface OperationLog {
  readonly operations: ComputeEndpointStatus["operations"];
  readonly failedActions: readonly FailedAction[];
  readonly watermark: OperationWatermark | undefined;
  /** To be counted once the watermark is stored. */
  readonly ended: readonly AttributedOperation[];
  /** @see WatermarkStep */
  readonly dropped: readonly string[];
  /** Whether the log was read, so that all up to the watermark's time is counted or waited for by its id. */
  readonly isRead: boolean;
}

/**
 * Reads the log for the endpoint that status will name. A replaced endpoint takes what is shown of it along; what it
 * left unfinished is still counted.
 *
 * @param ownership as it will be stored.
 */
export function operationLogAfter(pass: Pass, ownership: Ownership | undefined): OperationLog {
  const { status } = pass.local.resource;
  const isReplaced = ownership?.endpointId !== status.ownership?.endpointId;
  const read = pass.observation === undefined ? undefined : logReader(pass, pass.observation);
  if (read === undefined || (ownership === undefined && status.ownership === undefined)) {
    return untouched(pass);
  }
  if (ownership === undefined) {
    return { ...read.left(status.ownership as Ownership), ...nothingShown };
  }
  if (isReplaced || status.operationWatermark === undefined) {
    return read.begun(ownership, isReplaced);
  }
  return read.counted(ownership);
}

/**
 * What has ended until the resource goes. Nobody will look again, so what answers and reads by id have told counts too,
 * though no list has shown it yet. What is still running is never counted.
 */
export function endedAtLast(pass: Pass): readonly AttributedOperation[] {
  const { observation, local } = pass;
  if (observation === undefined) {
    return [];
  }
  const newestListedTime = observation.project.operations[0]?.createdTime;
  const project = { ...observation.project, newestListedTime };
  return operationLogAfter({ ...pass, observation: { ...observation, project } }, local.resource.status.ownership)
    .ended;
}

const nothingShown = { operations: undefined, failedActions: [] };

function untouched({ local }: Pass): OperationLog {
  const { status, annotations: given } = local.resource;
  const acknowledged = given[annotations.acknowledgeOperation];
  return {
    operations: status.operations,
    failedActions: (status.failedActions ?? []).filter(({ operationId }) => operationId !== acknowledged),
    watermark: status.operationWatermark,
    ended: [],
    dropped: [],
    isRead: false,
  };
}

/** The two ways to read the log of one pass: from its beginning, or on from the watermark. */
function logReader(pass: Pass, observation: Observation) {
  const { status, annotations: given } = pass.local.resource;
  const { newestListedTime } = observation.project;
  const seen = latestEndpoint(pass);
  const answered = answeredOperations(pass);
  const operations = withAnswers(observation.project.operations, answered);
  const readIds = new Set(operations.map(({ id }) => id));
  const ownIds = new Set([...ownOperationIds(pass.local), ...answered.map(({ id }) => id)]);
  const attributionOf = ({ endpointId, origin }: Ownership) => ({
    endpointId,
    ownIds,
    createdTime: origin === "Adopted" ? undefined : seen?.createdTime,
    branch: logBranch(status.operationWatermark, seen),
  });

  return {
    begun(ownership: Ownership, isReplaced: boolean): OperationLog {
      if (seen === undefined) {
        return untouched(pass);
      }
      const own = attribute(operations, { ...attributionOf(ownership), branch: undefined });
      // A record without a watermark was damaged, or another version wrote it: nobody knows what has been counted.
      const origin = isReplaced ? ownership.origin : "Adopted";
      const previous = status.operationWatermark;
      const step = beginWatermark({ origin, endpoint: seen, previous, newestListedTime, operations: own });
      const shown = statusOperations(own, { entries: isReplaced ? [] : (status.operations ?? []), readIds });
      const failedActions = isReplaced ? [] : untouched(pass).failedActions;
      return { ...step, operations: shown, failedActions, isRead: true };
    },

    /** The endpoint is gone: what is not seen yet of its operations is looked for under its id. */
    left({ endpointId, ...rest }: Ownership): OperationLog {
      const log = this.counted({ endpointId, ...rest });
      const watermark = log.watermark && { ...log.watermark, formerEndpointId: endpointId };
      return { ...log, watermark };
    },

    counted(ownership: Ownership): OperationLog {
      const previous = status.operationWatermark;
      if (previous === undefined) {
        return untouched(pass);
      }
      const attribution = attributionOf(ownership);
      const own = attribute(operations, attribution);
      const waitedFor = explain(onlyCounted(operations, own, previous), attribution, operations);
      const step = advanceWatermark(previous, { operations: newestFirst(own, waitedFor), newestListedTime });
      return {
        operations: statusOperations(own, { entries: status.operations ?? [], readIds }),
        failedActions: failedActionsAfter(status.failedActions ?? [], own, {
          acknowledgedOperationId: given[annotations.acknowledgeOperation],
          sinceTime: previous.sinceTime,
          shown: status.operations ?? [],
          endedIds: new Set(step.ended.map(({ operation }) => operation.id)),
        }),
        watermark: moveWatermark(step.watermark, seen, newestListedTime),
        ended: step.ended,
        dropped: step.dropped,
        isRead: true,
      };
    },
  };
}

/** Of the endpoint that was replaced, or of a branch that was left: not shown any more, but still to be counted. */
function onlyCounted(
  operations: readonly Operation[],
  own: readonly AttributedOperation[],
  { unfinishedIds, formerEndpointId }: OperationWatermark,
): readonly Operation[] {
  const ownIds = new Set(own.map(({ operation }) => operation.id));
  const isLeft = ({ id, endpointId }: Operation) =>
    unfinishedIds.includes(id) || (endpointId !== undefined && endpointId === formerEndpointId);
  return operations.filter((operation) => isLeft(operation) && !ownIds.has(operation.id));
}

function newestFirst(own: readonly AttributedOperation[], waitedFor: readonly AttributedOperation[]) {
  return waitedFor.length === 0
    ? own
    : [...own, ...waitedFor].sort((a, b) => compareNewestFirst(a.operation, b.operation));
}

/** Lists may lag behind an answer. */
function withAnswers(listed: readonly Operation[], answered: readonly Operation[]): readonly Operation[] {
  const ids = new Set(answered.map(({ id }) => id));
  return [...answered, ...listed.filter(({ id }) => !ids.has(id))];
}

function answeredOperations({ outcome, plan, local }: Pass): readonly Operation[] {
  if (outcome.kind === "Accepted") {
    return outcome.mutation?.operations ?? [];
  }
  return plan?.kind === "RecordOwnership" && plan.acknowledgedHash !== undefined
    ? (local.memory.answeredCreate?.operations ?? [])
    : [];
}
