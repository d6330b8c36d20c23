/** The pure reducer of the operation log: computes status, metrics and events of one resource from a snapshot. */
import type { ObservedEndpoint } from "../domain/endpoint.ts";
import {
  compareNewestFirst,
  durationMsOf,
  type EndedOperation,
  isInFlight,
  isLater,
  type Operation,
  outcomeOf,
} from "../domain/operation.ts";
import type { ResourceKey } from "../domain/resource-store.ts";
import type { ComputeEndpointStatus, Ownership } from "../resource/status-schema.ts";
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

/** An ended operation as the metrics count it, without the name of its resource. */
export type CountedOperation = Omit<EndedOperation, keyof ResourceKey>;

/** The result of one snapshot for one resource. */
export interface OperationLogStep {
  /** The new part of status. It must be stored before `ended` is counted. */
  readonly state: OperationLogState;
  /** Whether `state` must be stored even if only its watermark changed. */
  readonly mustStore: boolean;
  /** Operations that ended since the last stored step. They are counted after `state` is stored. */
  readonly ended: readonly CountedOperation[];
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
 * If the floor of the watermark has risen by this many milliseconds, the watermark is stored although nothing else
 * changed. This limits how far back a new process reads.
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

/**
 * Returns the step for a resource whose log was not read, or has not begun. Only the annotation can change its state.
 */
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

/** Notes in the watermark which endpoint the resource owned before, so that its last operations are still counted. */
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
    : beginAdopted(
        endpoint,
        previous,
        attribute(clock.log, state, { owner: ownership, subject, mark: undefined }).own,
        clock,
      );
}

interface CountInput {
  readonly clock: LogClock;
  readonly subject: LogSubject;
  readonly owner: Ownership;
  /** The mark that status holds; `undefined`: the log begins now. */
  readonly stored: LogMark | undefined;
  readonly mark: LogMark;
}

/** Counts the ended operations that the watermark does not mark as counted yet, and computes the new state. */
function counted(state: OperationLogState, { clock, subject, owner, stored, mark }: CountInput): OperationLogStep {
  const { log } = clock;
  const { own, left } = attribute(log, state, { owner, subject, mark });
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
    ended: step.ended.map(countedOperation),
    failed: isOwned ? failedActions.filter(({ operationId }) => !knownIds.has(operationId)) : [],
    dropped: step.dropped,
    ownInFlight: isOwned ? ownInFlightOf(own, log) : [],
  };
}

function countedOperation({ operation, cause }: AttributedOperation): CountedOperation {
  return {
    operationId: operation.id,
    action: operation.action,
    outcome: outcomeOf(operation) === "Succeeded" ? "succeeded" : "failed",
    cause,
    durationMs: durationMsOf(operation),
  };
}

/**
 * Whether an operation may never have been counted: the log of the endpoint had begun when it was created, but its time
 * is not after `floorMs`, and `met` does not hold it. An operation that was counted long ago looks the same. The caller
 * tells the two apart by what status shows.
 */
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

/** Actions that the control plane may start by itself. A configuration change is not one of them. */
const controlPlaneActions: readonly string[] = ["check_availability", "suspend_compute", "start_compute"];

/**
 * Selects the operations of one resource, and adds to each what caused it. `own`, newest first: those of its endpoint,
 * of its branch, and of the operator's own calls. `left`: those of a replaced endpoint, or of a former branch. They are
 * still counted, but not shown any more.
 *
 * @param mark names the branch whose operations count although they name no endpoint; `undefined`: the log begins now.
 */
function attribute(
  { byEndpoint, byId }: OperationsSnapshot,
  { operations: shown = [] }: OperationLogState,
  { owner, subject, mark }: Pick<CountInput, "owner" | "subject"> & { readonly mark: LogMark | undefined },
) {
  const { endpoint, answered, ownOperationIds } = subject;
  const shownIds = shown.filter(({ cause }) => cause === "SpecChange").map(({ id }) => id);
  const ourIds = new Set([...shownIds, ...ownOperationIds, ...answered.map(({ id }) => id)]);
  const branch = mark?.branch?.id === endpoint?.branchId ? mark?.branch : undefined;
  const withoutEndpoint = (byEndpoint.get("") ?? []).filter(
    ({ id, branchId, createdTime }) =>
      ourIds.has(id) || (branch !== undefined && branchId === branch.id && isLater(createdTime, branch.sinceTime)),
  );
  const own = [...(byEndpoint.get(owner.endpointId) ?? []), ...withoutEndpoint].sort(compareNewestFirst);
  const firstStart = own.findLast(({ action }) => action === "start_compute");
  if (firstStart !== undefined && owner.origin !== "Adopted" && isCreatedTogether(firstStart, endpoint)) {
    // The answer to the create was lost, so the operator did not know the id of this start.
    ourIds.add(firstStart.id);
  }
  const ownIds = new Set(own.map(({ id }) => id));
  const awaited = (mark?.unfinishedIds ?? []).flatMap((id) => byId.get(id) ?? []);
  const former = mark?.formerEndpointId === undefined ? [] : (byEndpoint.get(mark.formerEndpointId) ?? []);
  const left = new Set([...awaited, ...former]);
  const withCause = (operation: Operation): AttributedOperation => {
    const isByControlPlane =
      controlPlaneActions.includes(operation.action) && !isPartOfForeignChange(operation, byEndpoint, ourIds);
    return { operation, cause: ourIds.has(operation.id) ? "SpecChange" : isByControlPlane ? "ControlPlane" : "Other" };
  };
  return { own: own.map(withCause), left: [...left].filter(({ id }) => !ownIds.has(id)).map(withCause) };
}

function isCreatedTogether({ createdTime }: Operation, endpoint: ObservedEndpoint | undefined): boolean {
  return Math.abs(Date.parse(createdTime) - Date.parse(endpoint?.createdTime ?? "")) <= createdTogetherMs;
}

/**
 * Whether a request of another client started the operation. Operations of one request have the same endpoint and
 * creation time, and one of them is a configuration change. The operator's own changes are not checked here, because
 * their answers name all operations of the request.
 */
function isPartOfForeignChange(
  { endpointId = "", createdTime }: Operation,
  byEndpoint: OperationsSnapshot["byEndpoint"],
  ourIds: ReadonlySet<string>,
): boolean {
  return (
    endpointId !== "" &&
    (byEndpoint.get(endpointId) ?? []).some(
      (other) => other.action === "apply_config" && other.createdTime === createdTime && !ourIds.has(other.id),
    )
  );
}
