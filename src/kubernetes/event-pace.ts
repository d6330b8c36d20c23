import type { Clock } from "../domain/clock.ts";

/** Spreads the sending of events, so that what people read never holds up what the operator does. */
export interface EventPace {
  /** Comes to its end when one more may be sent. */
  turn(): Promise<void>;
  /** From now on nobody waits: the process ends. */
  hurry(): void;
}

/** How fast events go out. */
export interface EventPaceOptions {
  readonly clock: Clock;
  /** So many at once. */
  readonly burst: number;
  /** So many a second after that. */
  readonly perSecond: number;
}

/** A token bucket for one sender that takes its turns one after the other. */
export function createEventPace({ clock, burst, perSecond }: EventPaceOptions): EventPace {
  const hurried = Promise.withResolvers<void>();
  let isHurried = false;
  let tokens = burst;
  let atMs = clock.monotonicMs();
  return {
    async turn() {
      const nowMs = clock.monotonicMs();
      tokens = Math.min(burst, tokens + ((nowMs - atMs) / 1000) * perSecond) - 1;
      atMs = nowMs;
      if (tokens >= 0 || isHurried) {
        return;
      }
      const due = Promise.withResolvers<void>();
      const timer = clock.after((-tokens / perSecond) * 1000, due.resolve);
      await Promise.race([due.promise, hurried.promise]);
      timer.cancel();
    },
    hurry() {
      isHurried = true;
      hurried.resolve();
    },
  };
}
