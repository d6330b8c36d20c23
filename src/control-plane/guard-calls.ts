/** The checks before the calls of a control plane: the leader fence, the request budget, and the pause after a 429. */
import { backoffMs } from "../domain/backoff.ts";
import type { Clock } from "../domain/clock.ts";
import type { CallGuard, CallGuards } from "../domain/control-plane.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { Caller, ControlPlaneObserver } from "../domain/control-plane-requests.ts";
import { type LeaderFence, LeaderFenceError } from "../domain/leader-fence.ts";
import type { RequestBudget } from "./request-budget.ts";

/** Returns the check of writes: each starts only while the leader fence is open for the duration of the write. */
export function fenceGuard(fence: LeaderFence, writeTimeoutMs: number): CallGuard {
  return (write) => (fence.mayStartEffect(writeTimeoutMs) ? write() : Promise.reject(new LeaderFenceError()));
}

/**
 * Returns the checks for the calls of one reconcile: every request waits until the budget allows it.
 * If the connection of a read broke, the read is sent once more, because the server may have closed the kept
 * connection. The second try counts as a request of its own. A write is never sent twice.
 */
export function budgetGuards(budget: Pick<RequestBudget, "take">, caller: Caller): CallGuards {
  const write: CallGuard = async (send) => {
    await budget.take(caller);
    return await send();
  };
  const read: CallGuard = async (send) => {
    try {
      return await write(send);
    } catch (error) {
      if (error instanceof ControlPlaneError && error.reason === "ConnectionLost") {
        return await write(send);
      }
      throw error;
    }
  };
  return { read, write };
}

/** The options of the gate after a 429. */
interface ThrottleGateOptions {
  readonly clock: Clock;
  readonly observer: Pick<ControlPlaneObserver, "throttled">;
}

/** The pause after a 429 without `Retry-After`. It doubles with each further 429. */
const throttlePauses = { firstMs: 5_000, longestMs: 60_000 };

/**
 * Returns the check that holds every call back after a 429, for the time of its `Retry-After`. All callers wait,
 * because the limit belongs to the whole account.
 * Errors: a call that is held back throws `Throttled`, effect `NotApplied`, with the remaining time. The observer
 * counts only such calls; the client counts the 429 itself.
 */
export function throttleGuard({ clock, observer }: ThrottleGateOptions): CallGuard {
  let openAtMs = Number.NEGATIVE_INFINITY;
  let pausesInARow = 0;

  function pause(retryAfterMs: number | undefined, startedMs: number): number {
    const nowMs = clock.monotonicMs();
    // A call that began before the last pause ended belongs to the same burst. Its 429 does not double the pause, but it
    // may move the end.
    pausesInARow = startedMs >= openAtMs ? pausesInARow + 1 : Math.max(1, pausesInARow);
    const ownPauseMs = backoffMs(pausesInARow, throttlePauses);
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
