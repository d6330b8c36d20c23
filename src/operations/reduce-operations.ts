/** The pure reducer of the operation log: computes status and counts of one resource from a snapshot. */
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
import { createSnapshot, isBelieved, type OperationsSnapshot } from "./snapshot.ts";
import { failuresAfter, shortError, shownOperations, withoutAcknowledged } from "./status-operations.ts";
import {
  type AttributedOperation,
  advanceMark,
  beginAdopted,
  beginCreated,
  formatMark,
  isWorthStoring,
  type LogMark,
  parseMark,
} from "./watermark.ts";

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
}

/** An ended operation that is counted once a stored watermark holds it. It has no name of a resource. */
export interface CountedOperation extends Omit<EndedOperation, keyof ResourceKey> {
  /** Epoch milliseconds of the control plane's clock. */
  readonly createdMs: number;
  /** The control plane's error text, shortened. `undefined`: there is none. */
  readonly error?: string;
}

export interface OperationLogStep {
  readonly state: OperationLogState;
  /** Whether `state` must be stored even if only its watermark changed. */
  readonly mustStore: boolean;
  /** Operations that ended since the last stored step. They are counted once a stored watermark holds them. */
  readonly ended: readonly CountedOperation[];
  /**
   * Ids of unfinished operations that status has no room for. They are never counted, so they are logged and the gap
   * counter grows.
   */
  readonly dropped: readonly string[];
  /** Unfinished operations of the operator's own calls, newest first, without those that cannot be found. */
  readonly ownInFlight: readonly Operation[];
  /** Up to which time the resource has used the snapshot; `undefined`: its log was not read, or has not begun. */
  readonly usedMs: number | undefined;
}

/**
 * Computes from one snapshot of the operation log what changes in status and metrics of one resource. Pure; never
 * throws. Equal input gives equal output, so a resource at rest causes no write.
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
  const isReplaced = ownership !== undefined && ownership.endpointId !== previousOwnership?.endpointId;
  const stored = parseMark(state.operationWatermark);
  // Operations of a replaced endpoint are not shown any more.
  const before = isReplaced ? {} : state;
  const log: Log = { snapshot: withAnswers(snapshot, subject.answered), state: before, subject, owner };
  if (stored !== undefined && !isReplaced) {
    return counted(log, stored, stored);
  }
  const begun = begunMark(log, stored, isReplaced);
  return begun === undefined ? untouched(before, subject) : counted(log, undefined, begun);
}

interface Log {
  readonly snapshot: OperationsSnapshot;
  readonly state: OperationLogState;
  readonly subject: LogSubject;
  readonly owner: Ownership;
}

/** The log was not read, or has not begun: only the annotation can change the state. */
function untouched(
  { operations, failedActions, operationWatermark }: OperationLogState,
  { acknowledgedOperationId }: LogSubject,
): OperationLogStep {
  const remembered = failedActions && withoutAcknowledged(failedActions, acknowledgedOperationId);
  return {
    state: { operations, failedActions: remembered, operationWatermark },
    mustStore: false,
    ended: [],
    dropped: [],
    ownInFlight: [],
    usedMs: undefined,
  };
}

/** Adds the operations that answers named, because lists may be older than an answer. */
function withAnswers(snapshot: OperationsSnapshot, answered: readonly Operation[]): OperationsSnapshot {
  const news = answered.filter((answer) => isBelieved(snapshot.byId.get(answer.id) ?? answer, answer));
  if (news.length === 0) {
    return snapshot;
  }
  const ids = new Set(news.map(({ id }) => id));
  return createSnapshot({
    ...snapshot,
    operations: [...news, ...snapshot.operations.filter(({ id }) => !ids.has(id))],
  });
}

/**
 * Begins the log of an endpoint. If its watermark cannot be parsed, the log begins like that of an adopted endpoint: it is
 * unknown what has been counted, and counting twice is worse than not counting.
 * @returns `undefined`: there is no endpoint, or this reconcile did not see it.
 */
function begunMark(log: Log, previous: LogMark | undefined, isReplaced: boolean): LogMark | undefined {
  const { ownership, endpoint } = log.subject;
  if (ownership === undefined || endpoint === undefined) {
    return undefined;
  }
  return isReplaced && ownership.origin !== "Adopted"
    ? beginCreated(endpoint, previous, log.snapshot)
    : beginAdopted(endpoint, previous, log.snapshot, attribute(log, undefined, true).own);
}

/**
 * Finds the ended operations that the watermark does not hold yet, and computes the new state.
 * @param stored the mark that status holds; `undefined`: the log begins now.
 */
function counted(log: Log, stored: LogMark | undefined, mark: LogMark): OperationLogStep {
  const { snapshot, subject, state } = log;
  const { own, left } = attribute(log, mark, stored === undefined);
  const step = advanceMark(mark, {
    snapshot,
    operations: [...own, ...left].sort((a, b) => compareNewestFirst(a.operation, b.operation)),
    answeredIds: new Set(subject.answered.map(({ id }) => id)),
    endpoint: subject.endpoint,
  });
  const isOwned = subject.ownership !== undefined;
  const failures = () => failuresAfter(state.failedActions ?? [], step.ended, snapshot.byId, subject);
  return {
    state: {
      operations: isOwned ? shownOperations(own, state.operations ?? [], snapshot) : undefined,
      failedActions: isOwned ? failures() : undefined,
      operationWatermark: formatMark(step.mark),
    },
    mustStore: step.ended.length > 0 || isWorthStoring(stored, step.mark, snapshot),
    ended: step.ended.map(countedOperation),
    dropped: step.dropped,
    ownInFlight: isOwned ? ownInFlightOf(own) : [],
    usedMs: step.mark.floorMs,
  };
}

function countedOperation({ operation, cause }: AttributedOperation): CountedOperation {
  return {
    operationId: operation.id,
    action: operation.action,
    outcome: outcomeOf(operation) === "Succeeded" ? "succeeded" : "failed",
    cause,
    durationMs: durationMsOf(operation),
    createdMs: Date.parse(operation.createdTime),
    ...shortError(operation),
  };
}

function ownInFlightOf(own: readonly AttributedOperation[]): readonly Operation[] {
  return own
    .filter(({ cause, operation }) => cause === "SpecChange" && isInFlight(operation))
    .map(({ operation }) => operation);
}

/** Actions that the control plane starts by itself, unless they are part of a request. */
const powerActions: readonly string[] = ["suspend_compute", "start_compute"];

/**
 * Selects the operations of one resource, and adds to each what caused it. `own`, newest first: those of its endpoint,
 * of its branch, and of the operator's own calls. `left`: unfinished ones of a replaced endpoint, or of a former branch.
 * They are still counted, but not shown any more.
 *
 * @param mark names the branch whose operations count although they name no endpoint; `undefined`: the log begins now.
 * @param begins whether the log of the endpoint begins now.
 */
function attribute({ snapshot, state, subject, owner }: Log, mark: LogMark | undefined, begins: boolean) {
  const { byEndpoint, byId } = snapshot;
  const { endpoint, answered, ownOperationIds } = subject;
  const shownIds = (state.operations ?? []).filter(({ cause }) => cause === "SpecChange").map(({ id }) => id);
  const ourIds = new Set([...shownIds, ...ownOperationIds, ...answered.map(({ id }) => id)]);
  const branch = mark?.branch?.id === endpoint?.branchId ? mark?.branch : undefined;
  const withoutEndpoint = (byEndpoint.get("") ?? []).filter(
    ({ id, branchId, createdTime }) =>
      ourIds.has(id) || (branch !== undefined && branchId === branch.id && isLater(createdTime, branch.sinceTime)),
  );
  const own = [...(byEndpoint.get(owner.endpointId) ?? []), ...withoutEndpoint].sort(compareNewestFirst);
  if (begins && owner.origin !== "Adopted") {
    // The answer to the create was lost, so the operator did not know the id of this start.
    for (const { id } of own.filter(({ action }) => action === "start_compute")) {
      ourIds.add(id);
    }
  }
  const ownIds = new Set(own.map(({ id }) => id));
  const awaited = (mark?.unfinishedIds ?? []).flatMap((id) => byId.get(id) ?? []);
  const withCause = (operation: Operation): AttributedOperation => {
    const { action } = operation;
    const isByControlPlane =
      action === "check_availability" ||
      (powerActions.includes(action) && !isPartOfForeignChange(operation, byEndpoint, ourIds));
    return { operation, cause: ourIds.has(operation.id) ? "SpecChange" : isByControlPlane ? "ControlPlane" : "Other" };
  };
  return { own: own.map(withCause), left: awaited.filter(({ id }) => !ownIds.has(id)).map(withCause) };
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
