import { backoffMs } from "../domain/backoff.ts";
import type { Clock } from "../domain/clock.ts";
import type { ControlPlane } from "../domain/control-plane.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { ControlPlaneObserver } from "../domain/control-plane-observer.ts";
import { type LeaderFence, LeaderFenceError } from "../domain/leader-fence.ts";

/** A check before every call: it starts the call, or throws instead. */
export type CallGuard = <Value>(call: () => Promise<Value>) => Promise<Value>;

/** Returns the same control plane with a check before every call. */
export function guardCalls(inner: ControlPlane, guard: CallGuard): ControlPlane {
  return {
    serviceUrl: inner.serviceUrl,
    listEndpoints: (projectId) => guard(() => inner.listEndpoints(projectId)),
    getEndpoint: (projectId, endpointId) => guard(() => inner.getEndpoint(projectId, endpointId)),
    listOperations: (projectId, page) => guard(() => inner.listOperations(projectId, page)),
    getOperation: (projectId, operationId) => guard(() => inner.getOperation(projectId, operationId)),
    createEndpoint: (projectId, creation) => guard(() => inner.createEndpoint(projectId, creation)),
    updateEndpoint: (projectId, endpointId, changes) =>
      guard(() => inner.updateEndpoint(projectId, endpointId, changes)),
    changePower: (projectId, endpointId, action) => guard(() => inner.changePower(projectId, endpointId, action)),
    deleteEndpoint: (projectId, endpointId) => guard(() => inner.deleteEndpoint(projectId, endpointId)),
  };
}

/**
 * Returns a control plane whose writes start only while the leader fence is open for the duration of the write. Reads
 * are always allowed.
 */
export function withLeaderFence(controlPlane: ControlPlane, fence: LeaderFence, writeTimeoutMs: number): ControlPlane {
  const permitted = <Answer>(write: () => Promise<Answer>): Promise<Answer> =>
    fence.mayStartEffect(writeTimeoutMs) ? write() : Promise.reject(new LeaderFenceError());
  return {
    serviceUrl: controlPlane.serviceUrl,
    listEndpoints: (projectId) => controlPlane.listEndpoints(projectId),
    getEndpoint: (projectId, endpointId) => controlPlane.getEndpoint(projectId, endpointId),
    listOperations: (projectId, page) => controlPlane.listOperations(projectId, page),
    getOperation: (projectId, operationId) => controlPlane.getOperation(projectId, operationId),
    createEndpoint: (projectId, creation) => permitted(() => controlPlane.createEndpoint(projectId, creation)),
    updateEndpoint: (projectId, endpointId, changes) =>
      permitted(() => controlPlane.updateEndpoint(projectId, endpointId, changes)),
    changePower: (projectId, endpointId, action) =>
      permitted(() => controlPlane.changePower(projectId, endpointId, action)),
    deleteEndpoint: (projectId, endpointId) => permitted(() => controlPlane.deleteEndpoint(projectId, endpointId)),
  };
}

/** What the gate after a 429 needs. */
interface ThrottleGateOptions {
  readonly clock: Clock;
  readonly observer: Pick<ControlPlaneObserver, "throttled">;
  /** The pause after a 429 without a retry-after, in milliseconds. It doubles with each further 429. @default 5000 */
  readonly firstPauseMs?: number;
  /** The longest such pause, in milliseconds. @default 60000 */
  readonly longestPauseMs?: number;
}

/**
 * Returns a control plane that holds back every call after a 429 until the retry-after is over. All callers must wait,
 * because the limit is that of the account.
 * Errors: a call that is held back throws `Throttled`, effect `NotApplied`, with the remaining time. The observer
 * counts only such calls; the client counts the 429 itself.
 */
export function withThrottleGate(inner: ControlPlane, options: ThrottleGateOptions): ControlPlane {
  return guardCalls(inner, throttleGuard(options));
}

/** Makes the check alone, for every client of the account. */
export function throttleGuard(options: ThrottleGateOptions): CallGuard {
  const { clock, observer, firstPauseMs = 5_000, longestPauseMs = 60_000 } = options;
  let openAtMs = Number.NEGATIVE_INFINITY;
  let pausesInARow = 0;

  function pause(retryAfterMs: number | undefined, startedMs: number): number {
    const nowMs = clock.monotonicMs();
    // Calls that began before the last pause belong to the same burst, so they do not make the pause longer.
    pausesInARow = startedMs >= openAtMs ? pausesInARow + 1 : Math.max(1, pausesInARow);
    const ownPauseMs = backoffMs(pausesInARow, { firstMs: firstPauseMs, longestMs: longestPauseMs });
    // "Retry-After: 0" with a 429 does not help: an immediate request would be refused again.
    openAtMs = Math.max(openAtMs, nowMs + (retryAfterMs || ownPauseMs));
    return openAtMs - nowMs;
  }

  return async (call) => {
    const startedMs = clock.monotonicMs();
    if (startedMs < openAtMs) {
      observer.throttled("HeldBack");
      throw throttled("the control plane asked to wait (429)", openAtMs - startedMs);
    }
    try {
      const value = await call();
      pausesInARow = startedMs >= openAtMs ? 0 : pausesInARow;
      return value;
    } catch (error) {
      if (error instanceof ControlPlaneError && error.reason === "Throttled") {
        throw throttled(error.message, pause(error.retryAfterMs, startedMs), error);
      }
      throw error;
    }
  };
}

function throttled(message: string, retryAfterMs: number, cause?: unknown): ControlPlaneError {
  const subject = cause instanceof ControlPlaneError ? cause.subject : undefined;
  return new ControlPlaneError("Throttled", message, { effect: "NotApplied", retryAfterMs, subject, cause });
}
