import { backoffMs } from "../domain/backoff.ts";
import type { Clock, Timer } from "../domain/clock.ts";
import type { ControlPlane } from "../domain/control-plane.ts";
import { ControlPlaneError, type ControlPlaneReason } from "../domain/control-plane-error.ts";
import { type CallGuard, guardCalls } from "./guard-calls.ts";
import type { KeySource } from "./key-source.ts";

/** What the gate after a 401 needs. */
export interface CredentialGateOptions {
  readonly clock: Clock;
  readonly keys: KeySource;
  /** The time until the first probe, in milliseconds. It doubles with each refused probe. @default 5000 */
  readonly firstProbeAfterMs?: number;
  /** The longest time between two probes, in milliseconds. @default 60000 */
  readonly longestProbeAfterMs?: number;
}

/** The callbacks of a gate. None of them may throw. */
interface CredentialReports {
  readonly onNewKey?: () => void;
  readonly onJudged?: (isAccepted: boolean) => void;
}

/** Holds back the requests of all clients that use a refused key. */
export interface CredentialGate {
  readonly guard: CallGuard;
  /** Stops the search for another key. */
  stop(): void;
}

/** While the key is refused, the source is asked for another key at this interval, in milliseconds. */
const nextKeyAfterMs = 1_000;

/** Failure reasons that prove a valid key: the control plane answers like this only after it has accepted the key. */
const reasonsBehindTheDoor: ReadonlySet<ControlPlaneReason> = new Set([
  "Malformed",
  "Forbidden",
  "NotFound",
  "Conflict",
  "PreconditionFailed",
  "Rejected",
  "Locked",
]);

/**
 * Returns a control plane that holds back requests after a 401. Only one probe at a time is sent: the first call after
 * a growing delay. A new key is tried at once.
 * Errors: a call that is held back throws `Unauthorized`, effect `NotApplied`, with the time until the next probe.
 */
export function withCredentialGate(inner: ControlPlane, options: CredentialGateOptions): ControlPlane {
  return guardCalls(inner, createCredentialGate(options).guard);
}

/**
 * Makes the gate. While a key is refused, the gate looks for another key every second.
 * @param options `onNewKey` is called once for each new key, because held-back calls can be tried again. `onJudged` is called
 * when the control plane has accepted or refused a key.
 */
export function createCredentialGate({
  onNewKey = () => {},
  onJudged = () => {},
  ...options
}: CredentialGateOptions & CredentialReports): CredentialGate {
  const { clock, keys } = options;
  const state = createGateState(options);
  let timer: Timer | undefined;
  let isStopped = false;

  const lookForKeyLater = () => {
    if (!isStopped && state.refusedKey() !== undefined) timer ??= clock.after(nextKeyAfterMs, () => void lookForKey());
  };
  const lookForKey = async () => {
    const key = await keys.current().catch(() => undefined);
    timer = undefined;
    if (key !== undefined && state.refusedKey() !== undefined && key !== state.refusedKey()) {
      onNewKey();
    } else {
      lookForKeyLater();
    }
  };
  const guard: CallGuard = async (call) => {
    const key = await keys.current();
    const entry = state.enter(key, clock.monotonicMs());
    if (!entry.isAdmitted) {
      throw new ControlPlaneError("Unauthorized", "the control plane does not accept the API key (401)", {
        effect: "NotApplied",
        retryAfterMs: entry.retryAfterMs,
      });
    }
    let keyState: CredentialState = "Unclear";
    try {
      const value = await call();
      keyState = "Accepted";
      return value;
    } catch (error) {
      keyState = credentialStateAfter(error);
      throw error;
    } finally {
      state.leave({ key, isProbe: entry.isProbe }, keyState, clock.monotonicMs());
      if (keyState === "Refused") keys.refused?.(key);
      if (keyState !== "Unclear") onJudged(state.refusedKey() === undefined);
      lookForKeyLater();
    }
  };
  return {
    guard,
    stop() {
      isStopped = true;
      timer?.cancel();
    },
  };
}

/** What the result of a call shows about the key. */
export type CredentialState = "Accepted" | "Refused" | "Unclear";

/** Returns what an error shows about the key with which the call was sent. Pure. */
export function credentialStateAfter(error: unknown): CredentialState {
  if (!(error instanceof ControlPlaneError)) {
    return "Unclear";
  }
  if (error.reason === "Unauthorized") {
    return "Refused";
  }
  return reasonsBehindTheDoor.has(error.reason) ? "Accepted" : "Unclear";
}

/** The refused key, and when it may be tried again. */
interface Refusal {
  readonly key: string;
  /** The number of refused probes with this key. */
  readonly probes: number;
  /** When the next probe may be sent, in monotonic milliseconds. */
  readonly nextProbeMs: number;
}

type Entry =
  | { readonly isAdmitted: true; readonly isProbe: boolean }
  | { readonly isAdmitted: false; readonly retryAfterMs: number };

function createGateState(options: Pick<CredentialGateOptions, "firstProbeAfterMs" | "longestProbeAfterMs">) {
  const { firstProbeAfterMs = 5_000, longestProbeAfterMs = 60_000 } = options;
  let refusal: Refusal | undefined;
  let isProbing = false;

  const refuse = (key: string, probes: number, nowMs: number): Refusal => {
    const delayMs = backoffMs(probes + 1, { firstMs: firstProbeAfterMs, longestMs: longestProbeAfterMs });
    return { key, probes, nextProbeMs: nowMs + delayMs };
  };

  return {
    /** Returns the refused key; `undefined`: the last key was accepted, or none was tried yet. */
    refusedKey: () => refusal?.key,

    enter(key: string, nowMs: number): Entry {
      if (refusal === undefined) {
        return { isAdmitted: true, isProbe: false };
      }
      const waitMs = refusal.key === key ? refusal.nextProbeMs - nowMs : 0;
      if (isProbing || waitMs > 0) {
        return { isAdmitted: false, retryAfterMs: waitMs > 0 ? waitMs : firstProbeAfterMs };
      }
      isProbing = true;
      return { isAdmitted: true, isProbe: true };
    },

    leave(call: { readonly key: string; readonly isProbe: boolean }, keyState: CredentialState, nowMs: number): void {
      if (!call.isProbe) {
        // If calls are sent at the same time, the first refusal counts; later results of the others change nothing.
        refusal ??= keyState === "Refused" ? refuse(call.key, 0, nowMs) : undefined;
        return;
      }
      isProbing = false;
      if (keyState === "Accepted") {
        refusal = undefined;
      } else if (keyState === "Refused") {
        refusal = refuse(call.key, refusal?.key === call.key ? refusal.probes + 1 : 0, nowMs);
      } else {
        // An unreachable control plane shows nothing about the key, so the next probe comes soon, without a longer
        // delay.
        refusal = { key: call.key, probes: refusal?.probes ?? 0, nextProbeMs: nowMs + firstProbeAfterMs };
      }
    },
  };
}
