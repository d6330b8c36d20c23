/** The pure reducer of the operation log: computes status and counts of one resource from a snapshot. */
import type { ObservedEndpoint } from "../domain/endpoint.ts";
import {
  type AttributedOperation,
  compareNewestFirst,
  isInFlight,
  type Operation,
  type OperationCause,
  outcomeOf,
  type UsageTotals,
} from "../domain/operation.ts";
import { type Watermark, watermarkIn } from "../resource/bookkeeping.ts";
import type { ComputeEndpointStatus, Ownership, StatusOperation } from "../resource/status-schema.ts";
import { createdMsOf, type OperationsSnapshot } from "./reader.ts";
import { failuresAfter, shownOperations } from "./status-operations.ts";
import { largestLagMs, totalsAt, usageAfter } from "./usage.ts";

export type OperationLogState = Pick<ComputeEndpointStatus, "operations" | "failedActions" | "bookkeeping" | "usage">;

export interface LogSubject {
  /** The ownership record that status will hold after this reconcile. */
  readonly ownership: Ownership | undefined;
  readonly previousOwnership: Ownership | undefined;
  /** The endpoint as this reconcile last saw it; `undefined`: it did not see the endpoint. */
  readonly endpoint: ObservedEndpoint | undefined;
  /** Operations that answers of this reconcile named. Those in flight are new, whatever their times are. */
  readonly answeredIds: readonly string[];
  /** What caused them. @default SpecChange */
  readonly answeredCause?: "Drift" | undefined;
  readonly acknowledgedOperationId: string | undefined;
  /** Of the endpoint: those that status holds, that this reconcile read, and that the control plane answered. */
  readonly sizes: readonly Pick<ObservedEndpoint, "minUnits" | "maxUnits">[];
  /** When the reconcile began, in epoch milliseconds. */
  readonly readMs: number;
}

export interface OperationLogStep {
  readonly state: OperationLogState;
  /** Whether `state` must be stored even if only its watermark changed. */
  readonly mustStore: boolean;
  /** Operations that ended since the last stored step. They are counted once a stored watermark holds them. */
  readonly ended: readonly AttributedOperation[];
  /** What the compute used for certain. @default the log was not read */
  readonly used?: UsageTotals | undefined;
  /** Unfinished operations of the operator's own calls, newest first, without those that cannot be found. */
  readonly ownInFlight: readonly Operation[];
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
  const previous = watermarkIn(state);
  const stored = isReplaced ? undefined : previous;
  // Operations of a replaced endpoint are not shown any more.
  const before = isReplaced ? { usage: state.usage } : state;
  const isCreated = isReplaced && ownership.origin !== "Adopted";
  const log: Log = { snapshot, state: before, subject, owner, begins: stored === undefined };
  const from = stored ?? firstWatermark(log, previous, isCreated);
  return from === undefined ? untouched(before, subject) : advanced(log, stored, from);
}

interface Log {
  readonly snapshot: OperationsSnapshot;
  readonly state: OperationLogState;
  readonly subject: LogSubject;
  readonly owner: Ownership;
  readonly begins: boolean;
}

/** The log was not read, or has not begun: only the annotation can change the state. */
function untouched(
  { operations, failedActions = [], bookkeeping, usage }: OperationLogState,
  subject: LogSubject,
): OperationLogStep {
  const remembered = failuresAfter(failedActions, [], new Map(), subject);
  const state = { operations, failedActions: remembered, bookkeeping, usage };
  return { state, mustStore: false, ended: [], ownInFlight: [] };
}

/** The log of a created endpoint begins this many milliseconds before its creation, because clocks differ. */
const beforeCreationMs = 60_000;

/**
 * Begins the log of an endpoint. For an adopted one, or if the watermark cannot be parsed, operations that have ended by
 * now are never counted. Unfinished ones are counted when they end, also those of an endpoint that this one replaces.
 * @returns `undefined`: there is no endpoint, or this reconcile did not see it.
 */
function firstWatermark(log: Log, previous: Watermark | undefined, isCreated: boolean): Watermark | undefined {
  const { endpoint, ownership } = log.subject;
  if (ownership === undefined || endpoint === undefined) {
    return undefined;
  }
  const { counted = [], unfinishedIds = [] } = previous ?? {};
  const createdMs = createdMsOf(endpoint);
  if (isCreated) {
    const floorMs = Math.max(createdMs - beforeCreationMs, previous?.floorMs ?? Number.NEGATIVE_INFINITY);
    return { floorMs, counted, unfinishedIds };
  }
  const { own } = attribute(log, unfinishedIds);
  const inFlightIds = own.filter(isInFlight).map(({ id }) => id);
  const floorMs = Math.max(createdMs, newestMsOf(log.snapshot));
  return { floorMs, counted, unfinishedIds: [...unfinishedIds, ...inFlightIds] };
}

function newestMsOf({ operations }: OperationsSnapshot): number {
  return createdMsOf(operations[0]);
}

/**
 * Finds the ended operations that the watermark does not hold yet, and computes the new state.
 * @param stored the watermark that status holds; `undefined`: the log begins now.
 */
function advanced(log: Log, stored: Watermark | undefined, from: Watermark): OperationLogStep {
  const { snapshot, subject, state } = log;
  const { own, left } = attribute(log, from.unfinishedIds);
  const step = advanceWatermark(from, [...own, ...left].sort(compareNewestFirst), log);
  const isOwned = subject.ownership !== undefined;
  const operations = shownOperations(own, state.operations ?? [], snapshot);
  const failedActions = failuresAfter(state.failedActions ?? [], step.ended, snapshot.byId, subject);
  const bookkeeping = { ...state.bookkeeping, operationWatermark: JSON.stringify(step.watermark) };
  const shownIds = new Set((state.operations ?? []).map(({ id }) => id));
  const endedIds = new Set(step.ended.map(({ id }) => id));
  const usage = usageAfter({
    ...subject,
    before: state.usage,
    operations: own,
    isGone: !isOwned,
    begins: stored !== undefined ? "No" : log.owner.origin === "Adopted" ? "Found" : "Created",
    isKnown: (operation) => (isInFlight(operation) ? shownIds.has(operation.id) : !endedIds.has(operation.id)),
  });
  const sizes = subject.sizes.at(-1);
  return {
    state: { ...(isOwned && { operations, failedActions }), bookkeeping, usage },
    used: usage && sizes && totalsAt(usage, sizes, subject.readMs - largestLagMs),
    mustStore: step.ended.length > 0 || isWorthStoring(stored, step.watermark),
    ended: step.ended,
    ownInFlight: own.filter((operation) => isOwned && isOurs(operation) && isInFlight(operation)),
  };
}

/**
 * Selects the operations of one resource, and adds to each what caused it. `own`, newest first: those of its endpoint,
 * of its branch, and of the operator's own calls. `left`: unfinished ones of a replaced endpoint, or of a former branch.
 * They are still counted, but not shown any more.
 */
function attribute({ snapshot, state, subject, owner, begins }: Log, unfinishedIds: readonly string[]) {
  const { byEndpoint, byId } = snapshot;
  const { endpoint, answeredIds } = subject;
  const shown = (state.operations ?? []).filter(isOurs);
  const ours = new Map<string, OperationCause>([
    ...answeredIds.map((id) => [id, subject.answeredCause ?? "SpecChange"] as const),
    ...shown.map(({ id, cause }) => [id, cause] as const),
  ]);
  const withoutEndpoint = (byEndpoint.get("") ?? []).filter(
    (operation) => ours.has(operation.id) || isOfBranch(operation, endpoint),
  );
  const own = [...(byEndpoint.get(owner.endpointId) ?? []), ...withoutEndpoint].sort(compareNewestFirst);
  if (begins && owner.origin !== "Adopted") {
    // The answer to the create was lost, so the operator did not know the id of this start.
    for (const { id } of own.filter(({ action }) => action === "start_compute")) {
      ours.set(id, "SpecChange");
    }
  }
  const ownIds = new Set(own.map(({ id }) => id));
  const left = unfinishedIds.flatMap((id) => byId.get(id) ?? []).filter(({ id }) => !ownIds.has(id));
  const withCause = (operation: Operation) => ({ ...operation, cause: causeOf(operation, ours, byEndpoint) });
  return { own: own.map(withCause), left: left.map(withCause) };
}

/** What the status of a branch shows: its own operations, and not those of its endpoints. */
export function branchOperations(
  snapshot: OperationsSnapshot,
  { id, answeredIds }: { readonly id: string; readonly answeredIds: readonly string[] },
  previous: readonly StatusOperation[] = [],
): StatusOperation[] {
  const own = (snapshot.byEndpoint.get("") ?? []).filter(({ branchId }) => branchId === id);
  // The operator alone creates the branch of a DatabaseBranch.
  const ours = own.filter((each) => answeredIds.includes(each.id) || each.action === "create_branch");
  const causes = new Map(ours.map((each) => [each.id, "SpecChange"] as const));
  const withCause = (each: Operation) => ({ ...each, cause: causeOf(each, causes, snapshot.byEndpoint) });
  return shownOperations(own.map(withCause), previous, snapshot);
}

const isOurs = ({ cause }: { readonly cause: OperationCause }) => cause === "SpecChange" || cause === "Drift";

/** An operation that names no endpoint belongs to the read-write endpoint of its branch, if that is older. */
function isOfBranch({ branchId, createdTime }: Operation, endpoint: ObservedEndpoint | undefined): boolean {
  const isOfMain = endpoint?.type === "ReadWrite" && endpoint.branchId === branchId;
  return isOfMain && Date.parse(createdTime) > Date.parse(endpoint.createdTime);
}

/**
 * Returns what started an operation. The control plane starts and suspends computes by itself. But if the request of
 * another client did so, an operation of the same endpoint and creation time changes the configuration. The operator's
 * own changes are not checked in this way, because their answers name all operations of the request.
 */
function causeOf(
  { id, action, endpointId = "", createdTime }: Operation,
  ours: ReadonlyMap<string, OperationCause>,
  byEndpoint: OperationsSnapshot["byEndpoint"],
): OperationCause {
  const own = ours.get(id);
  if (own !== undefined) {
    return own;
  }
  if (action === "check_availability") {
    return "ControlPlane";
  }
  const isPower = action === "suspend_compute" || action === "start_compute";
  const ofEndpoint = endpointId === "" ? [] : (byEndpoint.get(endpointId) ?? []);
  const isForeign = ofEndpoint.some(
    (other) => other.action === "apply_config" && other.createdTime === createdTime && !ours.has(other.id),
  );
  return isPower && !isForeign ? "ControlPlane" : "Other";
}

/** Whether a watermark holds an operation. One without a readable time is held unless its id is unfinished. */
export function isHeldBy({ floorMs, counted, unfinishedIds }: Watermark, operation: Operation): boolean {
  const isNew = createdMsOf(operation) > floorMs && counted.every(([id]) => id !== operation.id);
  return !isNew && !unfinishedIds.includes(operation.id);
}

const idsLimit = 32;

/**
 * The floor stays this many milliseconds behind the newest operation. Clocks of the control plane's machines differ by
 * seconds, and an operation may show an unknown status before it ends.
 */
const floorBehindMs = 600_000;

/**
 * If the floor of the watermark has risen by this many milliseconds, the watermark is stored although nothing else
 * changed. This limits how far back a new process reads, and how many operations a process keeps.
 */
const longestBehindMs = 21_600_000;

/** Finds the ended operations that the watermark does not hold, and moves the watermark past them. @param operations newest first */
function advanceWatermark(before: Watermark, operations: readonly AttributedOperation[], { snapshot, subject }: Log) {
  const counted = new Map(before.counted);
  const isDue = (operation: Operation) => !isHeldBy(before, operation);
  const hasEnded = (operation: Operation) => ["Succeeded", "Failed"].includes(outcomeOf(operation));
  const ended = operations.filter((operation) => hasEnded(operation) && isDue(operation));
  const inFlightIds = operations
    .filter((operation) => isInFlight(operation) && (isDue(operation) || subject.answeredIds.includes(operation.id)))
    .map(({ id }) => id);
  const shownIds = new Set(operations.map(({ id }) => id));
  const unseenIds = before.unfinishedIds.filter((id) => !shownIds.has(id));
  for (const operation of ended) counted.set(operation.id, createdMsOf(operation));
  const floorMs = Math.max(before.floorMs, newestMsOf(snapshot) - floorBehindMs);
  const watermark: Watermark = {
    ...boundCounted([...counted], floorMs),
    // The oldest have no room: they are not counted if they end below the floor. Those that no read shows are the oldest.
    unfinishedIds: [...inFlightIds, ...unseenIds].slice(0, idsLimit).sort(),
  };
  return { watermark, ended };
}

/** Forgets the operations at or below the floor. If too many are left, the floor rises to the newest forgotten one. */
function boundCounted(counted: Watermark["counted"], floorMs: number) {
  const above = counted.filter(([, createdMs]) => createdMs > floorMs);
  const newestFirst = above.sort(([a, aMs], [b, bMs]) => bMs - aMs || (a < b ? 1 : -1));
  const raisedMs = newestFirst[idsLimit]?.[1] ?? floorMs;
  return { floorMs: raisedMs, counted: newestFirst.filter(([, createdMs]) => createdMs > raisedMs).reverse() };
}

/** Whether a watermark must be stored although nothing was counted. */
function isWorthStoring(stored: Watermark | undefined, next: Watermark): boolean {
  return stored === undefined || next.floorMs - stored.floorMs >= longestBehindMs;
}
