/** Makes operations and statuses for tests of the operation log. */
import type { ObservedEndpoint } from "../../../src/domain/endpoint.ts";
import type { Operation } from "../../../src/domain/operation.ts";
import { createSnapshot, type OperationsSnapshot } from "../../../src/operations/reader.ts";
import {
  type LogSubject,
  type OperationLogState,
  type OperationLogStep,
  reduceOperations,
} from "../../../src/operations/reduce-operations.ts";
import type { Ownership } from "../../../src/resource/status-schema.ts";
import { observedEndpoint } from "../../support/fakes/observed-endpoint.ts";
import { observedOperation } from "../../support/fakes/observed-operation.ts";

/** The time of the control plane in these tests; epoch milliseconds. */
export const nowMs = Date.UTC(2026, 10, 21, 12);
export const project = "green-fox-123456";
export const branch = "br-main-1";
export const otherBranch = "br-other-2";

/** Returns `nowMs` plus this number of seconds, as RFC 3339. */
export function at(seconds: number): string {
  return new Date(nowMs + seconds * 1_000).toISOString();
}

/** Makes an endpoint of the main branch, created an hour ago. */
export function endpoint(change: Partial<ObservedEndpoint> = {}): ObservedEndpoint {
  return observedEndpoint({ id: "ep-own-1", projectId: project, branchId: branch, createdTime: at(-3_600), ...change });
}

/** Makes a finished start of that endpoint, `seconds` after `nowMs`. */
export function operation(id: string, seconds: number, change: Partial<Operation> = {}): Operation {
  const given = { id, projectId: project, branchId: branch, endpointId: "ep-own-1" };
  return observedOperation({ ...given, createdTime: at(seconds), updatedTime: at(seconds), ...change });
}

/** Makes the record of an endpoint that the operator created. */
export function ownership(change: Partial<Ownership> = {}): Ownership {
  return {
    endpointId: "ep-own-1",
    origin: "Created",
    resourceUid: "uid-orders",
    clusterId: "cluster-a",
    serviceUrl: "https://service.example/api/v2",
    projectId: project,
    ...change,
  };
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
