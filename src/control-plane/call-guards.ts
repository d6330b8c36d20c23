/** The checks before the calls of a control plane: leader fence, request budget, pause after a 429, refused API key. */
import { backoffMs, type Clock, type Timer } from "../domain/clock.ts";
import type { Caller, CallGuard, CallGuards, ControlPlaneObserver } from "../domain/control-plane.ts";
import { ControlPlaneError, type ControlPlaneReason } from "../domain/control-plane-error.ts";
import { type LeaderFence, LeaderFenceError } from "../domain/leader-fence.ts";
import type { KeySource } from "./key-source.ts";
import type { RequestBudget } from "./request-budget.ts";

/** Returns the check of writes: each starts only while the leader fence is open for the duration of the write. */
export function fenceGuard(fence: LeaderFence, writeTimeoutMs: number): CallGuard {
  return (write) => (fence.mayStartEffect(writeTimeoutMs) ? write() : Promise.reject(new LeaderFenceError()));
}

/** If the connection of a read broke, the read is sent once more. A write is never sent twice. */
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

interface ThrottleGuardOptions {
  readonly clock: Clock;
  readonly observer: Pick<ControlPlaneObserver, "throttled">;
}

/** The pause after a 429 without `Retry-After`. It doubles with each further 429, up to a limit. */
const throttlePauses = { firstMs: 5_000, longestMs: 60_000 };

/** Holds all callers back after a 429, because the limit belongs to the account. The client counts the 429 itself. */
export function throttleGuard({ clock, observer }: ThrottleGuardOptions): CallGuard {
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

const probeDelays = { firstMs: 5_000, longestMs: 60_000 };

/** While the key is refused, the guard asks the source for another key at this interval, in milliseconds. */
const nextKeyAfterMs = 1_000;

/** The clock and the API key of the guard, and its callbacks. No callback may throw. */
interface RefusedKeyGuardOptions {
  readonly clock: Clock;
  readonly keys: KeySource;
  /** Called once for each new key, because requests that were held back can be tried again. */
  readonly onNewKey?: () => void;
  readonly onJudged?: (isAccepted: boolean) => void;
}

interface RefusedKeyGuard {
  guardFor(keys: Pick<KeySource, "current">): CallGuard;
  stop(): void;
}

interface Refusal {
  readonly key: string;
  /** The number of refused probes with this key. */
  readonly probes: number;
  /** When the next probe may be sent, in monotonic milliseconds. */
  readonly nextProbeMs: number;
}

/** After a 401 it holds calls back. After each growing delay one call is sent as a probe, never two at a time. */
export function createRefusedKeyGuard(options: RefusedKeyGuardOptions): RefusedKeyGuard {
  const { clock, keys, onNewKey = () => {}, onJudged = () => {} } = options;
  /** `undefined`: the last key was accepted, or none was tried yet. */
  let refusal: Refusal | undefined;
  let isProbing = false;
  let timer: Timer | undefined;
  let isStopped = false;

  const refuse = (key: string, probes: number): Refusal => ({
    ...{ key, probes },
    nextProbeMs: clock.monotonicMs() + backoffMs(probes + 1, probeDelays),
  });
  /** Returns whether the call is a probe. @throws ControlPlaneError when it is held back */
  const enter = (key: string): boolean => {
    if (refusal === undefined) {
      return false;
    }
    const waitMs = refusal.key === key ? refusal.nextProbeMs - clock.monotonicMs() : 0;
    if (isProbing || waitMs > 0) {
      throw new ControlPlaneError("Unauthorized", "the control plane does not accept the API key (401)", {
        effect: "NotApplied",
        retryAfterMs: waitMs > 0 ? waitMs : probeDelays.firstMs,
      });
    }
    isProbing = true;
    return true;
  };
  const leave = (key: string, isProbe: boolean, state: CredentialState) => {
    if (!isProbe) {
      // Of several calls that were sent at the same time, only the first refusal counts.
      refusal ??= state === "Refused" ? refuse(key, 0) : undefined;
      return;
    }
    isProbing = false;
    if (state === "Accepted") {
      refusal = undefined;
    } else if (state === "Refused") {
      refusal = refuse(key, refusal?.key === key ? refusal.probes + 1 : 0);
    } else {
      // An unreachable control plane shows nothing about the key: the next probe comes soon, without a longer delay.
      refusal = { key, probes: refusal?.probes ?? 0, nextProbeMs: clock.monotonicMs() + probeDelays.firstMs };
    }
  };
  const lookForKeyLater = () => {
    if (!isStopped && refusal !== undefined) timer ??= clock.after(nextKeyAfterMs, () => void lookForKey());
  };
  const lookForKey = async () => {
    const key = await keys.current().catch(() => undefined);
    timer = undefined;
    if (key !== undefined && refusal !== undefined && key !== refusal.key) {
      onNewKey();
    } else {
      lookForKeyLater();
    }
  };
  const guarded = async <Value>(key: string, call: () => Promise<Value>) => {
    const isProbe = enter(key);
    let state: CredentialState = "Unclear";
    try {
      const value = await call();
      state = "Accepted";
      return value;
    } catch (error) {
      state = credentialStateAfter(error);
      throw error;
    } finally {
      leave(key, isProbe, state);
      if (state === "Refused") keys.refused?.(key);
      if (state !== "Unclear") onJudged(refusal === undefined);
      lookForKeyLater();
    }
  };
  const stop = () => {
    isStopped = true;
    timer?.cancel();
  };
  return {
    guardFor: (own) => async (call) => await guarded(await own.current(), call),
    stop,
  };
}

export type CredentialState = "Accepted" | "Refused" | "Unclear";

/** The control plane answers like this only after it has accepted the key. */
const reasonsThatProveTheKey: ReadonlySet<ControlPlaneReason> = new Set([
  "Malformed",
  "Forbidden",
  "NotFound",
  "Conflict",
  "PreconditionFailed",
  "Rejected",
  "Locked",
]);

export function credentialStateAfter(error: unknown): CredentialState {
  if (!(error instanceof ControlPlaneError)) {
    return "Unclear";
  }
  if (error.reason === "Unauthorized") {
    return "Refused";
  }
  return reasonsThatProveTheKey.has(error.reason) ? "Accepted" : "Unclear";
}
