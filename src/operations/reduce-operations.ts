/** The pure reducer of the operation log: computes status, metrics and events of one resource from a snapshot. */
import type { ObservedEndpoint } from "../domain/endpoint.ts";
import { compareNewestFirst, isInFlight, isLater, type Operation } from "../domain/operation.ts";
import type { ComputeEndpointStatus, Ownership } from "../resource/status-schema.ts";
import { type AttributedOperation, type Attribution, attribute, attributedBranch, explain } from "./attribution.ts";
import { type FailedAction, failuresAfter, withoutAcknowledged } from "./failures.ts";
import { createSnapshot, hasEnded, type OperationsSnapshot } from "./known-operations.ts";
import { shownOperations } from "./shown.ts";
import {
  advanceMark,
  beginAdopted,
  beginCreated,
  followBranch,
  formatMark,
  type LogMark,
  parseMark,
  referenceMsOf,
} from "./watermark.ts";

/** The part of status that comes from the operation log of one resource. */
export type OperationLogState = Pick<ComputeEndpointStatus, "operations" | "failedActions" | "operationWatermark">;

/** The resource whose operations are selected, and what this reconcile knows besides the snapshot. */
export interface LogSubject {
  /** The ownership record that status will hold after this reconcile. */
  readonly ownership: Ownership | undefined;
  /** The ownership record that status holds now. */
  readonly previousOwnership: Ownership | undefined;
  /** The endpoint as this reconcile last saw it; `undefined`: it did not see the endpoint. */
  readonly endpoint: ObservedEndpoint | undefined;
  /** Operations that answers of this reconcile named and that status does not hold yet. */
  readonly answered: readonly Operation[];
  /** Ids of operations that answers to earlier writes named, as far as this process remembers them. */
  readonly ownOperationIds: readonly string[];
  /** The operation that the annotation `acknowledge-operation` names; `undefined`: none. */
  readonly acknowledgedOperationId: string | undefined;
  /**
   * The `Date` header of the snapshot's endpoint list, in epoch milliseconds of the control plane's clock. `undefined`: it
   * had no readable header.
   */
  readonly serviceTimeMs: number | undefined;
}

/** The result of one snapshot for one resource. */
export interface OperationLogStep {
  /** The new part of status. It must be stored before `ended` is counted. */
  readonly state: OperationLogState;
  /** Whether `state` must be stored even if only its watermark changed. */
  readonly mustStore: boolean;
  /** Operations that ended since the last stored step. They are counted after `state` is stored. */
  readonly ended: readonly AttributedOperation[];
  /** Failures that are new in `state`. Each gets one Warning event. */
  readonly failed: readonly FailedAction[];
  /**
   * Ids of unfinished operations that status has no room for. They are never counted, so they are logged and the gap
   * counter grows.
   */
  readonly dropped: readonly string[];
  /** Unfinished operations of the operator's own calls, newest first, without those that cannot be found. */
  readonly ownInFlight: readonly Operation[];
}

/**
 * The maximum age of a stored floor, in milliseconds. If the floor is older, the watermark is stored although nothing
 * else changed, so that a new process need not read far back.
 */
const longestBehindMs = 86_400_000;

/**
 * Computes from one snapshot of the operation log what changes in status, metrics and events of one resource. Pure;
 * never throws. Equal input gives equal output, so a resource at rest causes no write.
 *
 * @param snapshot `undefined`: the log was not read. Then only the annotation can change the state.
 */
export function reduceOperations(
  state: OperationLogState,
  snapshot: OperationsSnapshot | undefined,
  subject: LogSubject,
): OperationLogStep {
  const { ownership, previousOwnership, endpoint } = subject;
  const owner = ownership ?? previousOwnership;
  if (snapshot === undefined || owner === undefined) {
    return untouched(state, subject);
  }
  const isReplaced = ownership !== undefined && ownership.endpointId !== previousOwnership?.endpointId;
  const stored = parseMark(state.operationWatermark);
  const log = withAnswers(snapshot, subject.answered);
  if (stored !== undefined && !isReplaced) {
    const mark = ownership === undefined ? leave(stored, owner) : stored;
    return counted(state, log, subject, { owner, stored, mark });
  }
  if (ownership === undefined || endpoint === undefined) {
    return untouched(state, subject);
  }
  const previous = stored && leave(stored, previousOwnership);
  return isReplaced && ownership.origin !== "Adopted"
    ? counted(withoutShown(state), log, subject, {
        owner,
        stored,
        mark: beginCreated(endpoint, previous, referenceMsOf(log, subject.serviceTimeMs)),
      })
    : adopted(state, log, subject, { endpoint, ownership, previous, isReplaced });
}

/** Keeps the mark of an endpoint that is gone, so that its last operations are still counted. */
function leave(mark: LogMark, ownership: Ownership | undefined): LogMark {
  return ownership === undefined ? mark : { ...mark, formerEndpointId: ownership.endpointId };
}

function withoutShown({ operationWatermark }: OperationLogState): OperationLogState {
  return { operationWatermark };
}

function untouched(
  { operations, failedActions, operationWatermark }: OperationLogState,
  { acknowledgedOperationId }: LogSubject,
): OperationLogStep {
  const remembered = failedActions && withoutAcknowledged(failedActions, acknowledgedOperationId);
  return {
    state: { operations, failedActions: remembered, operationWatermark },
    mustStore: false,
    ended: [],
    failed: [],
    dropped: [],
    ownInFlight: [],
  };
}

/**
 * Begins the log of an adopted endpoint, or of one whose watermark cannot be parsed. For the latter it is unknown what
 * has been counted, and counting twice is worse than not counting.
 */
function adopted(
  state: OperationLogState,
  log: OperationsSnapshot,
  subject: LogSubject,
  begin: {
    readonly endpoint: ObservedEndpoint;
    readonly ownership: Ownership;
    readonly previous: LogMark | undefined;
    readonly isReplaced: boolean;
  },
): OperationLogStep {
  const before = begin.isReplaced ? withoutShown(state) : state;
  const operations = attribute(log, attributionOf(begin.ownership, subject, before));
  const referenceMs = referenceMsOf(log, subject.serviceTimeMs);
  const known = { snapshot: log, operations, referenceMs };
  const { mark, dropped } = beginAdopted(begin.endpoint, begin.previous, known);
  return {
    ...untouched(before, subject),
    state: {
      operations: shownOperations(operations, before.operations ?? [], log),
      failedActions: withoutAcknowledged(before.failedActions ?? [], subject.acknowledgedOperationId),
      operationWatermark: formatMark(mark),
    },
    mustStore: true,
    dropped,
    ownInFlight: ownInFlightOf(operations, log),
  };
}

/** Counts operations that are newer than the mark. */
function counted(
  state: OperationLogState,
  log: OperationsSnapshot,
  subject: LogSubject,
  from: { readonly owner: Ownership; readonly stored: LogMark | undefined; readonly mark: LogMark },
): OperationLogStep {
  const { owner, stored, mark } = from;
  const attribution = attributionOf(owner, subject, state, mark);
  const own = attribute(log, attribution);
  const left = explain(leftOperations(log, own, mark), log, attribution.ownIds);
  const all = [...own, ...left].sort((a, b) => compareNewestFirst(a.operation, b.operation));
  const { mark: advanced, ...step } = advanceMark(mark, all, {
    referenceMs: referenceMsOf(log, subject.serviceTimeMs),
    answeredIds: new Set(subject.answered.map(({ id }) => id)),
  });
  const next = followBranch(advanced, subject.endpoint, log.newestListedTime);
  const isOwned = subject.ownership !== undefined;
  const failedActions = failuresAfter(state.failedActions ?? [], own, {
    acknowledgedOperationId: subject.acknowledgedOperationId,
    endedIds: new Set(step.ended.map(({ operation }) => operation.id)),
    shown: state.operations ?? [],
    missedIds: new Set(own.filter(({ operation }) => isMissed(operation, mark)).map(({ operation }) => operation.id)),
  });
  const knownIds = new Set((state.failedActions ?? []).map(({ operationId }) => operationId));
  return {
    ...step,
    state: {
      operations: isOwned ? shownOperations(own, state.operations ?? [], log) : undefined,
      failedActions: isOwned ? failedActions : undefined,
      operationWatermark: formatMark(next),
    },
    mustStore: step.ended.length > 0 || isWorthStoring(stored, next),
    failed: isOwned ? failedActions.filter(({ operationId }) => !knownIds.has(operationId)) : [],
    ownInFlight: isOwned ? ownInFlightOf(own, log) : [],
  };
}

/** Whether an operation is missed: it was created after the log began, but below the floor. */
function isMissed({ id, createdTime }: Operation, { met, sinceTime, floorMs }: LogMark): boolean {
  return !met.has(id) && isLater(createdTime, sinceTime) && Date.parse(createdTime) <= floorMs;
}

function isWorthStoring(stored: LogMark | undefined, next: LogMark): boolean {
  return (
    stored === undefined ||
    stored.branch?.id !== next.branch?.id ||
    stored.formerEndpointId !== next.formerEndpointId ||
    next.floorMs - stored.floorMs >= longestBehindMs
  );
}

function attributionOf(
  { endpointId, origin }: Ownership,
  { endpoint, answered, ownOperationIds }: LogSubject,
  { operations }: OperationLogState,
  mark?: LogMark,
): Attribution {
  const stored = (operations ?? []).filter(({ cause }) => cause === "SpecChange");
  return {
    endpointId,
    ownIds: new Set([...stored.map(({ id }) => id), ...ownOperationIds, ...answered.map(({ id }) => id)]),
    createdTime: origin === "Adopted" ? undefined : endpoint?.createdTime,
    branch: attributedBranch(mark?.branch, endpoint),
  };
}

/** Returns operations of a replaced endpoint, or of a former branch. They are still counted, but not shown any more. */
function leftOperations(
  { byId, byEndpoint }: OperationsSnapshot,
  own: readonly AttributedOperation[],
  { unfinishedIds, formerEndpointId }: LogMark,
): readonly Operation[] {
  const ownIds = new Set(own.map(({ operation }) => operation.id));
  const waitedFor = unfinishedIds.flatMap((id) => byId.get(id) ?? []);
  const former = formerEndpointId === undefined ? [] : (byEndpoint.get(formerEndpointId) ?? []);
  return [...new Set([...waitedFor, ...former])].filter(({ id }) => !ownIds.has(id));
}

/**
 * Adds the operations that answers named, because lists may be older than an answer. An operation that a read has shown
 * as ended stays ended.
 */
function withAnswers(snapshot: OperationsSnapshot, answered: readonly Operation[]): OperationsSnapshot {
  const news = answered.filter(({ id }) => {
    const known = snapshot.byId.get(id);
    return known === undefined || !hasEnded(known);
  });
  if (news.length === 0) {
    return snapshot;
  }
  const ids = new Set(news.map(({ id }) => id));
  const operations = [...news, ...snapshot.operations.filter(({ id }) => !ids.has(id))].sort(compareNewestFirst);
  return createSnapshot({ ...snapshot, operations });
}

function ownInFlightOf(own: readonly AttributedOperation[], { lostIds }: OperationsSnapshot): readonly Operation[] {
  return own
    .filter(({ cause, operation }) => cause === "SpecChange" && isInFlight(operation) && !lostIds.has(operation.id))
    .map(({ operation }) => operation);
}
