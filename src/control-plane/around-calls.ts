/** What stands around the calls of a control plane: API key, request budget, pause after a 429, refused API key. */
import { backoffMs, type Clock, type Timer } from "../domain/clock.ts";
import type { Caller, ControlPlaneObserver } from "../domain/control-plane.ts";
import { ControlPlaneError, type ControlPlaneReason } from "../domain/control-plane-error.ts";
import { type Call, isWrite, type KeyedCall, type KeySource } from "./call.ts";
import type { RequestBudget } from "./request-budget.ts";

/** The source is asked once, at the first request: all requests of one reconcile use one API key. */
export function withOneKey(send: KeyedCall, keys: Pick<KeySource, "current">) {
  let asked: Promise<string> | undefined;
  const key = () => {
    asked ??= keys.current();
    return asked;
  };
  const call: Call = async (request) => await send(request, await key());
  return { call, key };
}

export function withBudget(call: Call, budget: Pick<RequestBudget, "take">, caller: Caller) {
  let reserved = 0;
  const paid: Call = async (request) => {
    if (isWrite(request) && reserved > 0) {
      reserved -= 1;
    } else {
      await budget.take(caller);
    }
    return await call(request);
  };
  const reserve = async (): Promise<void> => {
    await budget.take({ ...caller, urgency: "Urgent" });
    reserved += 1;
  };
  return { call: paid, reserve };
}

interface ThrottleOptions {
  readonly clock: Clock;
  readonly observer: Pick<ControlPlaneObserver, "callBegan" | "throttled">;
}

/** The pause after a 429 without `Retry-After`, or with 0: an immediate request would be refused again. */
const throttlePauseMs = 15_000;

/** After a 429 all callers wait, because the limit belongs to the account. */
export function holdAfterThrottling(send: KeyedCall, { clock, observer }: ThrottleOptions): KeyedCall {
  let openAtMs = Number.NEGATIVE_INFINITY;
  return async (request, key) => {
    observer.callBegan();
    const startedMs = clock.monotonicMs();
    if (startedMs < openAtMs) {
      observer.throttled("HeldBack");
      throw throttled("the control plane asked to wait (429)", openAtMs - startedMs);
    }
    try {
      return await send(request, key);
    } catch (error) {
      if (!(error instanceof ControlPlaneError) || error.reason !== "Throttled") {
        throw error;
      }
      const nowMs = clock.monotonicMs();
      openAtMs = Math.max(openAtMs, nowMs + (error.retryAfterMs || throttlePauseMs));
      throw throttled(error.message, openAtMs - nowMs, error);
    }
  };
}

function throttled(message: string, retryAfterMs: number, cause?: ControlPlaneError): ControlPlaneError {
  const { subject } = cause ?? {};
  return new ControlPlaneError("Throttled", message, { effect: "NotApplied", retryAfterMs, subject, cause });
}

const probeDelays = { firstMs: 5_000, longestMs: 60_000 };

/** While the key is refused, the source is asked for its key at this interval, so that it reports another one soon. */
const nextKeyAfterMs = 1_000;

interface RefusedKeyOptions {
  readonly clock: Clock;
  readonly keys: KeySource;
}

/** After a 401 calls are held back. After each growing delay one call is sent as a probe, never two at a time. */
export function holdAfterRefusedKey(send: KeyedCall, { clock, keys }: RefusedKeyOptions) {
  /** `undefined`: the last key was accepted, or none was tried yet. `probes`: how many were refused with this key. */
  let refusal: { readonly key: string; readonly probes: number; readonly nextProbeMs: number } | undefined;
  let isProbing = false;
  let timer: Timer | undefined;
  let isStopped = false;

  const refusalAfter = (key: string, state: CredentialState): typeof refusal => {
    const nowMs = clock.monotonicMs();
    if (state === "Unclear") {
      // An unreachable control plane shows nothing about the key: the next probe comes soon, without a longer delay.
      return refusal && { key, probes: refusal.probes, nextProbeMs: nowMs + probeDelays.firstMs };
    }
    const probes = refusal?.key === key ? refusal.probes + 1 : 0;
    return state === "Accepted" ? undefined : { key, probes, nextProbeMs: nowMs + backoffMs(probes + 1, probeDelays) };
  };
  const lookForKey = () => {
    if (isStopped || refusal === undefined) return;
    timer ??= clock.after(nextKeyAfterMs, async () => {
      await keys.current().catch(() => undefined);
      timer = undefined;
      lookForKey();
    });
  };
  /** Returns whether the call is a probe. @throws ControlPlaneError when it is held back */
  const enter = (key: string): boolean => {
    const isProbe = refusal !== undefined;
    const waitMs = refusal?.key === key ? refusal.nextProbeMs - clock.monotonicMs() : 0;
    if (isProbe && (isProbing || waitMs > 0)) {
      throw new ControlPlaneError("Unauthorized", "the control plane does not accept the API key (401)", {
        effect: "NotApplied",
        retryAfterMs: waitMs > 0 ? waitMs : probeDelays.firstMs,
      });
    }
    isProbing ||= isProbe;
    return isProbe;
  };
  const call: KeyedCall = async (request, key) => {
    const isProbe = enter(key);
    let state = credentialStateAfter(undefined);
    try {
      return await send(request, key);
    } catch (error) {
      state = credentialStateAfter(error);
      throw error;
    } finally {
      isProbing &&= !isProbe;
      // Of several calls that were sent at the same time, only the first refusal counts.
      if (isProbe || refusal === undefined) refusal = refusalAfter(key, state);
      if (state === "Refused") keys.refused?.(key);
      lookForKey();
    }
  };
  const stop = () => {
    isStopped = true;
    timer?.cancel();
  };
  return { call, stop };
}

export type CredentialState = "Accepted" | "Refused" | "Unclear";

/** The errors that concern the control plane as a whole. It answers with another error only after it accepted the key. */
export const reasonsOfPlane: ReadonlySet<ControlPlaneReason> = new Set([
  "Unauthorized",
  "Throttled",
  "Unavailable",
  "ServerError",
  "Unreachable",
  "TimedOut",
  "ConnectionLost",
  "UnreadableAnswer",
]);

/** What a call shows of its key. @param error `undefined`: it succeeded */
export function credentialStateAfter(error: unknown): CredentialState {
  if (error instanceof ControlPlaneError && reasonsOfPlane.has(error.reason)) {
    return error.reason === "Unauthorized" ? "Refused" : "Unclear";
  }
  return error === undefined || error instanceof ControlPlaneError ? "Accepted" : "Unclear";
}
