import type { Clock } from "../../domain/clock.ts";
import { TokenBucket } from "../../runtime/token-bucket.ts";

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
