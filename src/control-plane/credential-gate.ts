/** Holds requests back while the control plane refuses the API key. */
import { backoffMs } from "../domain/backoff.ts";
import type { Clock, Timer } from "../domain/clock.ts";
import type { CallGuard } from "../domain/control-plane.ts";
import { ControlPlaneError, type ControlPlaneReason } from "../domain/control-plane-error.ts";
import type { KeySource } from "./key-source.ts";

/** The time until the next probe. It doubles with each refused probe. */
const probeDelays = { firstMs: 5_000, longestMs: 60_000 };

/** The options of the gate. No callback may throw. */
export interface CredentialGateOptions {
  readonly clock: Clock;
  readonly keys: KeySource;
  readonly onNewKey?: () => void;
  readonly onJudged?: (isAccepted: boolean) => void;
}

/** Holds back the requests of all clients that use a refused key. */
export interface CredentialGate {
  readonly guard: CallGuard;
  /** Stops the search for another key. */
  stop(): void;
}

/** While the key is refused, the gate asks the source for another key at this interval, in milliseconds. */
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
 * Makes the gate: it holds back requests after a 401. Only one probe at a time is sent: the first call after a growing
 * delay. While the control plane refuses the key, the gate asks its source for another key every second, and a new key
 * is tried at once.
 * Errors: a call that is held back throws `Unauthorized`, effect `NotApplied`, with the time until the next probe.
 * @param options `onNewKey` is called once for each new key, because requests that were held back can be tried again.
 *   `onJudged` is called when the control plane has accepted or refused a key.
 */
export function createCredentialGate(options: CredentialGateOptions): CredentialGate {
  const { clock, keys, onNewKey = () => {}, onJudged = () => {} } = options;
  const state = createGateState();
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

function createGateState() {
  let refusal: Refusal | undefined;
  let isProbing = false;

  const refuse = (key: string, probes: number, nowMs: number): Refusal => ({
    ...{ key, probes },
    nextProbeMs: nowMs + backoffMs(probes + 1, probeDelays),
  });

  return {
    /** Returns the refused key; `undefined`: the last key was accepted, or none was tried yet. */
    refusedKey: () => refusal?.key,

    enter(key: string, nowMs: number): Entry {
      if (refusal === undefined) {
        return { isAdmitted: true, isProbe: false };
      }
      const waitMs = refusal.key === key ? refusal.nextProbeMs - nowMs : 0;
      if (isProbing || waitMs > 0) {
        return { isAdmitted: false, retryAfterMs: waitMs > 0 ? waitMs : probeDelays.firstMs };
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
        refusal = { key: call.key, probes: refusal?.probes ?? 0, nextProbeMs: nowMs + probeDelays.firstMs };
      }
    },
  };
}
