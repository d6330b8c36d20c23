import { backoffMs } from "../domain/backoff.ts";
import type { Clock } from "../domain/clock.ts";
import type { ControlPlane } from "../domain/control-plane.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { ControlPlaneObserver } from "../domain/control-plane-observer.ts";
import { guardCalls } from "./guard-calls.ts";

/** What the throttle gate needs. */
export interface ThrottleGateOptions {
  readonly clock: Clock;
  readonly observer: Pick<ControlPlaneObserver, "throttled">;
  /** When the service does not say how long; doubles while it goes on. @default 5000 */
  readonly firstPauseMs?: number;
  /** @default 60000 */
  readonly longestPauseMs?: number;
}

/**
 * After a 429 nobody calls the service until the time it asked for is over: the limit counts for the account, so one
 * caller's patience would be eaten up by the others.
 *
 * Errors: a call that is held back throws `Throttled`, effect `NotApplied`, with the time that remains. The observer
 * hears of those only; the 429 itself is told by the client.
 */
export function withThrottleGate(inner: ControlPlane, options: ThrottleGateOptions): ControlPlane {
  const { clock, observer, firstPauseMs = 5_000, longestPauseMs = 60_000 } = options;
  let openAtMs = Number.NEGATIVE_INFINITY;
  let pausesInARow = 0;

  function pause(retryAfterMs: number | undefined, startedMs: number): number {
    const nowMs = clock.monotonicMs();
    // Calls that began before the gate last shut belong to the same burst and do not make the pause grow.
    pausesInARow = startedMs >= openAtMs ? pausesInARow + 1 : Math.max(1, pausesInARow);
    const ownPauseMs = backoffMs(pausesInARow, { firstMs: firstPauseMs, longestMs: longestPauseMs });
    // "Retry-After: 0" beside a 429 says nothing: sent again at once, it would be refused again.
    openAtMs = Math.max(openAtMs, nowMs + (retryAfterMs || ownPauseMs));
    return openAtMs - nowMs;
  }

  return guardCalls(inner, async (call) => {
    const startedMs = clock.monotonicMs();
    if (startedMs < openAtMs) {
      observer.throttled("HeldBack");
      throw throttled("the service asked to wait (429)", openAtMs - startedMs);
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
  });
}

function throttled(message: string, retryAfterMs: number, cause?: unknown): ControlPlaneError {
  const subject = cause instanceof ControlPlaneError ? cause.subject : undefined;
  return new ControlPlaneError("Throttled", message, { effect: "NotApplied", retryAfterMs, subject, cause });
}
