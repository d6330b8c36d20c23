/** The pure reducer of the operation log: computes status, metrics and events of one resource from a snapshot. */
import type { ObservedEndpoint } from "../domain/endpoint.ts";
import { compareNewestFirst, isInFlight, isLater, type Operation, outcomeOf } from "../domain/operation.ts";
import type { ComputeEndpointStatus, LogBranch, Ownership } from "../resource/status-schema.ts";
import { createSnapshot, hasEnded, type OperationsSnapshot } from "./known-operations.ts";
import { type FailedAction, failuresAfter, shownOperations, withoutAcknowledged } from "./status-operations.ts";
import {
  type AttributedOperation,
  advanceMark,
  beginAdopted,
  beginCreated,
  clockOf,
  createdTogetherMs,
  formatMark,
  type LogClock,
  type LogMark,
  parseMark,
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

/** The maximum age of a stored floor, in milliseconds. It limits how far back a new process reads. */
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
  const { ownership, previousOwnership } = subject;
  const owner = ownership ?? previousOwnership;
  if (snapshot === undefined || owner === undefined) {
    return untouched(state, subject);
  }
  const clock = clockOf(withAnswers(snapshot, subject.answered), subject.serviceTimeMs);
  const isReplaced = ownership !== undefined && ownership.endpointId !== previousOwnership?.endpointId;
  const stored = parseMark(state.operationWatermark);
  if (stored !== undefined && !isReplaced) {
    const mark = ownership === undefined ? leave(stored, previousOwnership) : stored;
    return counted(state, { clock, subject, owner, stored, mark });
  }
  // Operations of a replaced endpoint are still counted, but not shown any more.
  const before = isReplaced ? {} : state;
  const mark = begunMark(before, clock, subject, stored && leave(stored, previousOwnership));
  return mark === undefined
    ? untouched(state, subject)
    : counted(before, { clock, subject, owner, stored: undefined, mark });
}

/** Returns the step of a log that was not read, or has not begun. */
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

/** Keeps the mark of an endpoint that is gone, so that its last operations are still counted. */
function leave(mark: LogMark, ownership: Ownership | undefined): LogMark {
  return ownership === undefined ? mark : { ...mark, formerEndpointId: ownership.endpointId };
}

/**
 * Begins the log of an endpoint. If its watermark cannot be parsed, the log begins like that of an adopted endpoint: it is
 * unknown what has been counted, and counting twice is worse than not counting.
 * @returns `undefined`: there is no endpoint, or this reconcile did not see it.
 */
function begunMark(
  state: OperationLogState,
  clock: LogClock,
  subject: LogSubject,
  previous: LogMark | undefined,
): LogMark | undefined {
  const { ownership, previousOwnership, endpoint } = subject;
  if (ownership === undefined || endpoint === undefined) {
    return undefined;
  }
  const isNew = ownership.endpointId !== previousOwnership?.endpointId;
  return isNew && ownership.origin !== "Adopted"
    ? beginCreated(endpoint, previous, clock)
    : beginAdopted(endpoint, previous, ownOperations(clock.log, attributionOf(ownership, subject, state)), clock);
}

/** What `counted` needs besides the state. */
interface CountInput {
  readonly clock: LogClock;
  readonly subject: LogSubject;
  readonly owner: Ownership;
  /** The mark that status holds; `undefined`: the log begins now. */
  readonly stored: LogMark | undefined;
  readonly mark: LogMark;
}

/** Counts operations that are newer than the mark. */
function counted(state: OperationLogState, { clock, subject, owner, stored, mark }: CountInput): OperationLogStep {
  const { log } = clock;
  const attribution = attributionOf(owner, subject, state, mark);
  const own = ownOperations(log, attribution);
  const left = explain(leftOperations(log, own, mark), log, attribution.ownIds);
  const step = advanceMark(mark, {
    ...clock,
    operations: [...own, ...left].sort((a, b) => compareNewestFirst(a.operation, b.operation)),
    answeredIds: new Set(subject.answered.map(({ id }) => id)),
    endpoint: subject.endpoint,
  });
  const { operations = [], failedActions: known = [] } = state;
  const failedActions = failuresAfter(known, own, {
    acknowledgedOperationId: subject.acknowledgedOperationId,
    endedIds: new Set(step.ended.map(({ operation }) => operation.id)),
    shown: operations,
    missedIds: new Set(own.filter(({ operation }) => isMissed(operation, mark)).map(({ operation }) => operation.id)),
  });
  const knownIds = new Set(known.map(({ operationId }) => operationId));
  const isOwned = subject.ownership !== undefined;
  return {
    state: {
      operations: isOwned ? shownOperations(own, operations, log) : undefined,
      failedActions: isOwned ? failedActions : undefined,
      operationWatermark: formatMark(step.mark),
    },
    mustStore: step.ended.length > 0 || isWorthStoring(stored, step.mark),
    ended: step.ended,
    failed: isOwned ? failedActions.filter(({ operationId }) => !knownIds.has(operationId)) : [],
    dropped: step.dropped,
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

function ownInFlightOf(own: readonly AttributedOperation[], { lostIds }: OperationsSnapshot): readonly Operation[] {
  return own
    .filter(({ cause, operation }) => cause === "SpecChange" && isInFlight(operation) && !lostIds.has(operation.id))
    .map(({ operation }) => operation);
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

/** What identifies the operations of one endpoint and of the operator's own calls. */
interface Attribution {
  readonly endpointId: string;
  /** Ids of operations that answers to the operator's own calls named. */
  readonly ownIds: ReadonlySet<string>;
  /** When the endpoint was created, RFC 3339. `undefined`: it was adopted, or this reconcile did not see it. */
  readonly createdTime: string | undefined;
  /** The branch of the endpoint, if its operations count although they name no endpoint. */
  readonly branch: LogBranch | undefined;
}

function attributionOf(
  { endpointId, origin }: Ownership,
  { endpoint, answered, ownOperationIds }: LogSubject,
  { operations = [] }: OperationLogState,
  mark?: LogMark,
): Attribution {
  const stored = operations.filter(({ cause }) => cause === "SpecChange");
  return {
    endpointId,
    ownIds: new Set([...stored.map(({ id }) => id), ...ownOperationIds, ...answered.map(({ id }) => id)]),
    createdTime: origin === "Adopted" ? undefined : endpoint?.createdTime,
    branch: endpoint !== undefined && mark?.branch?.id === endpoint.branchId ? mark.branch : undefined,
  };
}

/** Selects the operations of one endpoint and of its branch, newest first, and adds to each what caused it. */
function ownOperations(log: OperationsSnapshot, attribution: Attribution): readonly AttributedOperation[] {
  const { endpointId, ownIds, branch } = attribution;
  const withoutEndpoint = (log.byEndpoint.get("") ?? []).filter(
    ({ id, branchId, createdTime }) =>
      ownIds.has(id) || (branch !== undefined && branchId === branch.id && isLater(createdTime, branch.sinceTime)),
  );
  const own = [...(log.byEndpoint.get(endpointId) ?? []), ...withoutEndpoint].sort(compareNewestFirst);
  const firstStart = own.findLast(({ action }) => action === "start_compute");
  return explain(own, log, ownIds).map((each) =>
    each.operation === firstStart && isStartOfOurCreate(firstStart, attribution)
      ? { ...each, cause: "SpecChange" }
      : each,
  );
}

/**
 * Whether the operation is the first start of an endpoint that the operator created. If the answer to the create was
 * lost, the operator does not know the id of this start.
 */
function isStartOfOurCreate({ createdTime }: Operation, attribution: Attribution): boolean {
  return (
    attribution.createdTime !== undefined &&
    Math.abs(Date.parse(createdTime) - Date.parse(attribution.createdTime)) <= createdTogetherMs
  );
}

/** Actions that the control plane may start by itself. A configuration change is not one of them. */
const controlPlaneActions: readonly string[] = ["check_availability", "suspend_compute", "start_compute"];

/** Adds state and cause to each operation. */
function explain(
  chosen: readonly Operation[],
  log: OperationsSnapshot,
  ownIds: ReadonlySet<string>,
): readonly AttributedOperation[] {
  return chosen.map((operation) => {
    const isByControlPlane =
      controlPlaneActions.includes(operation.action) && !isPartOfForeignChange(operation, log, ownIds);
    const others = isByControlPlane ? "ControlPlane" : "Other";
    return { operation, outcome: outcomeOf(operation), cause: ownIds.has(operation.id) ? "SpecChange" : others };
  });
}

/**
 * Whether a request of another client started the operation. Operations of one request have the same endpoint and
 * creation time, and one of them is a configuration change. The operator's own changes are not checked here, because
 * their answers name all operations of the request.
 */
function isPartOfForeignChange(
  { endpointId, createdTime }: Operation,
  { byEndpoint }: OperationsSnapshot,
  ownIds: ReadonlySet<string>,
): boolean {
  return (
    endpointId !== undefined &&
    (byEndpoint.get(endpointId) ?? []).some(
      (other) => other.action === "apply_config" && other.createdTime === createdTime && !ownIds.has(other.id),
    )
  );
}
