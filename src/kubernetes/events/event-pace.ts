import type { Clock } from "../../domain/clock.ts";
import { TokenBucket } from "../../runtime/token-bucket.ts";

/** Limits the rate of events, so that events never delay the work of the operator. */
export interface EventPace {
  /** Resolves when one more event may be sent. */
  turn(): Promise<void>;
  /** From now on `turn` does not wait, because the process ends. */
  hurry(): void;
}

/** The rate of events. */
export interface EventPaceOptions {
  readonly clock: Clock;
  /** Events that may be sent at once. */
  readonly burst: number;
  /** Events per second after that. */
  readonly perSecond: number;
}

/** Makes the pace of one sender that takes its turns one after the other. */
export function createEventPace({ clock, burst, perSecond }: EventPaceOptions): EventPace {
  const bucket = new TokenBucket({ clock, capacity: burst, perSecond });
  const hurried = Promise.withResolvers<void>();
  let isHurried = false;
  return {
    async turn() {
      while (!bucket.tryTake() && !isHurried) {
        const due = Promise.withResolvers<void>();
        const timer = clock.after(bucket.waitMs(), due.resolve);
        await Promise.race([due.promise, hurried.promise]);
        timer.cancel();
      }
    },
    hurry() {
      isHurried = true;
      hurried.resolve();
    },
  };
}
