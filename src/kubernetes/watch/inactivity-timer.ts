import type { Clock, Timer } from "../../domain/clock.ts";

/** Detects that no byte has arrived for a while. */
export interface InactivityTimer {
  /** Bytes have arrived. Cheap: it sets no timer. */
  touch(): void;
  cancel(): void;
}

/** Calls `onSilence` once, `timeoutMs` after the last `touch`, or after now if there is none. */
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
