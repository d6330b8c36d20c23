/** Starts operations and sets their times. */
import { uuid } from "./identifiers.ts";
import type { Action, OperationRecord } from "./records.ts";
import { Refusal } from "./refusal.ts";
import type { World } from "./world.ts";

export interface OperationSubject {
  readonly projectId: string;
  readonly branchId: string;
  readonly endpointId: string | undefined;
}

/**
 * The order in which the operations of one request run.
 * `sequence`: the first runs at once, and each other one when the one before it has ended.
 * `together`: all run at once, and they end in reverse order.
 * `scheduled`: like `sequence`, but the first waits a random latency before it runs.
 * `queued`: like `sequence`, but the first waits until the endpoint's other operations have ended.
 */
export type Course = "sequence" | "together" | "scheduled" | "queued";

/** The operations have the same `createdMs`. `actions` is in the order of the answer. */
export function startOperations(
  world: World,
  subject: OperationSubject,
  { actions, course = "sequence" }: { readonly actions: readonly Action[]; readonly course?: Course },
): readonly OperationRecord[] {
  return startWork(
    world,
    actions.map((action) => ({ ...subject, action })),
    course,
  );
}

export interface WorkStep
  extends OperationSubject,
    Partial<Pick<OperationRecord, "restore" | "schemaOf" | "snapshotId">> {
  readonly action: Action;
}

export function startWork(
  world: World,
  steps: readonly WorkStep[],
  course: Course = "sequence",
): readonly OperationRecord[] {
  const busyUntilMs = course === "queued" ? endOfWorkMs(world, steps[0]?.endpointId) : world.nowMs;
  return spansOf(world, steps.length, { course, fromMs: busyUntilMs }).map((span, index) => {
    const step = steps[index] as WorkStep;
    const runsNow = course === "together" || (course === "sequence" && index === 0);
    const operation = world.saveOperation({
      id: uuid(world.draw),
      sequence: world.nextSequence(),
      ...step,
      status: runsNow ? "running" : "scheduling",
      failuresCount: 0,
      error: undefined,
      plannedError: world.failures.take(step.action, step.endpointId),
      ...span,
      createdMs: world.nowMs,
      updatedMs: world.nowMs,
    });
    armOperationTimer(world, operation);
    return operation;
  });
}

interface Span {
  readonly runsAtMs: number;
  readonly endsAtMs: number;
}

function endOfWorkMs(world: World, endpointId: string | undefined): number {
  const work = endpointId === undefined ? [] : unfinishedWork(world, endpointId);
  return Math.max(world.nowMs, ...work.map(({ endsAtMs }) => endsAtMs));
}

function spansOf(
  world: World,
  count: number,
  { course, fromMs }: { readonly course: Course; readonly fromMs: number },
): readonly Span[] {
  const latenciesMs = Array.from({ length: count }, () => world.drawLatencyMs());
  if (course === "together") {
    return latenciesMs.map((_, index) => ({
      runsAtMs: world.nowMs,
      endsAtMs: latenciesMs.slice(index).reduce((sum, latencyMs) => sum + latencyMs, world.nowMs),
    }));
  }
  let freeFromMs = fromMs + (course === "scheduled" ? world.drawLatencyMs() : 0);
  return latenciesMs.map((latencyMs) => {
    const runsAtMs = freeFromMs;
    freeFromMs += latencyMs;
    return { runsAtMs, endsAtMs: freeFromMs };
  });
}

/** If two timers are due at the same time, the earlier operation ends before the later one runs. */
export function armOperationTimer(world: World, operation: OperationRecord): void {
  const isWaiting = operation.status === "scheduling";
  world.store.timers.put({
    key: `operation ${operation.id}`,
    kind: "operation",
    subjectId: operation.id,
    dueMs: isWaiting ? operation.runsAtMs : operation.endsAtMs,
    rank: operation.sequence * 2 + (isWaiting ? 0 : 1),
  });
}

/** The rank of a timer that is handled after every operation that is due at the same time. */
export const rankAfterOperations = Number.MAX_SAFE_INTEGER;

export function unfinishedWork(world: World, endpointId: string): readonly OperationRecord[] {
  return [...world.store.operations.unfinishedOfEndpoint(endpointId)].filter(holdsLock);
}

/** Refuses a write while an operation of the project has not ended. @throws Refusal Locked */
export function requireUnlocked(world: World, projectId: string): void {
  for (const operation of world.store.operations.unfinishedOfProject(projectId)) {
    if (!holdsLock(operation)) continue;
    throw new Refusal(
      "Locked",
      "project already has running conflicting operations, scheduling of new ones is prohibited",
    );
  }
}

function holdsLock(operation: OperationRecord): boolean {
  return operation.action !== "check_availability";
}
