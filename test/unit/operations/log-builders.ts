/** Makes operations and statuses for tests of the operation log. */
import type { Operation } from "../../../src/domain/operation.ts";
import { createSnapshot, type OperationsSnapshot } from "../../../src/operations/reader.ts";
import {
  type LogSubject,
  type OperationLogState,
  type OperationLogStep,
  reduceOperations,
} from "../../../src/operations/reduce-operations.ts";
import { operation as anyOperation, endpoint, nowMs, ownership, timeAt } from "../kinds/endpoint/builders.ts";

/** Returns the time of the other builders plus this number of seconds, as RFC 3339. */
export const at = (seconds: number) => timeAt(seconds * 1_000);

/** Makes a finished start of the default endpoint, `seconds` after that time. */
export function operation(id: string, seconds: number, change: Partial<Operation> = {}): Operation {
  return anyOperation({ id, createdTime: at(seconds), ...change });
}

/** Makes a snapshot that shows these operations. */
export function snapshot(operations: readonly Operation[], unseenIds: readonly string[] = []): OperationsSnapshot {
  return createSnapshot(operations, new Set(unseenIds));
}

/** Makes a resource that has owned its endpoint for some time. No answer of this reconcile names an operation. */
export function subject(change: Partial<LogSubject> = {}): LogSubject {
  const owner = "ownership" in change ? change.ownership : ownership();
  return {
    ownership: owner,
    previousOwnership: owner,
    endpoint: endpoint(),
    answeredIds: [],
    acknowledgedOperationId: undefined,
    sizes: [],
    readMs: nowMs,
    ...change,
  };
}

/** Returns the state as the next process parses it. */
export function stored(state: OperationLogState): OperationLogState {
  return JSON.parse(JSON.stringify(state)) as OperationLogState;
}

/** One read of the log: its operations, and other differences. */
export interface Look {
  readonly listed: readonly Operation[];
  readonly subject?: Partial<LogSubject>;
}

/** The state at the start of the endpoint's log, before a read has shown any operation. */
export function begunState(change: Partial<LogSubject> = {}): OperationLogState {
  const recording = subject({ previousOwnership: undefined, ...change });
  return stored(reduceOperations({}, snapshot([]), recording).state);
}

/** Reduces several reads one after the other, and stores the state after each. */
export function reduceAll(looks: readonly Look[], from: OperationLogState = begunState()): readonly OperationLogStep[] {
  let state = from;
  return looks.map((look) => {
    const step = reduceOperations(state, snapshot(look.listed), subject(look.subject));
    state = stored(step.state);
    return step;
  });
}

/** Returns the ids of the operations that a step counts, sorted. */
export function endedIds({ ended }: Pick<OperationLogStep, "ended">): readonly string[] {
  return ended.map(({ id }) => id).sort();
}
