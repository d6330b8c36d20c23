import type { Clock, Timer } from "../../domain/clock.ts";

/** Notices that nothing has been heard for a while. */
export interface InactivityTimer {
  /** Something was heard. Cheap: no timer is set anew. */
  touch(): void;
  cancel(): void;
}

/** Calls `onSilence` once, `timeoutMs` after the last `touch` (or after now, when there is none). */
export function createInactivityTimer(clock: Clock, timeoutMs: number, onSilence: () => void): InactivityTimer {
  let heardAtMs = clock.monotonicMs();
  let timer: Timer;
  const check = () => {
    const leftMs = heardAtMs + timeoutMs - clock.monotonicMs();
    if (leftMs > 0) {
      timer = clock.after(leftMs, check);
      return;
    }
    onSilence();
  };
  timer = clock.after(timeoutMs, check);
  return {
    touch() {
      heardAtMs = clock.monotonicMs();
    },
    cancel() {
      timer.cancel();
    },
  };
}
