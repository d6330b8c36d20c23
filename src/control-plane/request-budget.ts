import type { Clock, Timer } from "../domain/clock.ts";
import type { Caller, ControlPlaneObserver, Urgency } from "../domain/control-plane.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import { LeaderFenceError, PutOffError } from "../domain/leader-fence.ts";
import { TokenBucket, type TokenBucketOptions } from "../runtime/token-bucket.ts";

interface RequestBudgetOptions {
  readonly clock: Clock;
  /** The maximum number of requests in any 60 seconds. At least 10. */
  readonly requestsPerMinute: number;
  /** The maximum number of requests in any second. At least 1. */
  readonly requestsPerSecond: number;
  readonly observer: Pick<ControlPlaneObserver, "throttled" | "budgetWaited">;
  /** Shorter than the time after which a reconcile counts as hanging. @default 240000 */
  readonly maxWaitMs?: number;
}

/** After this many urgent requests in a row one background request is sent, so that polls never stop. */
const urgentInARow = 16;

/** The number of requests in one poll of a project: one for its operations and one for its endpoints. */
const requestsPerPoll = 2;

type BucketSize = Pick<TokenBucketOptions, "capacity" | "perSecond">;

/**
 * Returns the bucket that keeps both limits: for t = 1 second and t = 60 seconds, `capacity + perSecond × t` is at most
 * the limit. With a capacity of 1, requests are evenly spaced, so `perSecond` alone limits them.
 */
function bucketFor(requestsPerMinute: number, requestsPerSecond: number): BucketSize {
  const capacity = Math.min((60 * requestsPerSecond - requestsPerMinute) / 59, requestsPerMinute / 2);
  return capacity > 1
    ? { capacity, perSecond: (requestsPerMinute - capacity) / 60 }
    : { capacity: 1, perSecond: Math.min(requestsPerSecond, requestsPerMinute / 60) };
}

interface Waiting {
  readonly caller: Caller;
  readonly sinceMs: number;
  readonly grant: () => void;
  readonly refuse: (error: ControlPlaneError | PutOffError) => void;
  readonly timer: Timer;
}

/**
 * In any second and in any minute, no more requests are allowed than the limits say. It starts empty, because another
 * process may have used its budget right before. Background requests use at most half, and urgent ones go first.
 */
export class RequestBudget {
  readonly #options: Required<RequestBudgetOptions>;
  /** Background requests take from both buckets. */
  readonly #buckets: { readonly Urgent: TokenBucket; readonly Background: TokenBucket; readonly perSecond: number };
  /** The waiting requests of each urgency; the oldest goes first. */
  readonly #waiting = { Urgent: new Set<Waiting>(), Background: new Set<Waiting>() };
  #urgentGranted = 0;
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(options: RequestBudgetOptions) {
    this.#options = { maxWaitMs: 240_000, ...options };
    this.#buckets = bucketsOf(this.#options);
  }

  /** How many projects can be polled in one minute: polls may use half of the budget. */
  get pollsPerMinute(): number {
    return (this.#buckets.perSecond * 60) / 2 / requestsPerPoll;
  }

  /** @throws after `maxWaitMs`: `Throttled` for an urgent request, else PutOffError; after `close`: LeaderFenceError */
  take(caller: Caller): Promise<void> {
    if (this.#isClosed) {
      return Promise.reject(new LeaderFenceError());
    }
    const { clock, maxWaitMs } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = clock.after(maxWaitMs, () => this.#refuse(waiting));
    const waiting: Waiting = { caller, sinceMs: clock.monotonicMs(), grant: resolve, refuse: reject, timer };
    this.#waiting[caller.urgency].add(waiting);
    this.#grantAll();
    return promise;
  }

  /** Also those that the same reconciles send later. An edit of the project does not wait for the turn of a poll. */
  makeUrgent(project: string): void {
    for (const waiting of this.#waiting.Background) {
      if (waiting.caller.project === project) {
        this.#waiting.Background.delete(waiting);
        waiting.caller.urgency = "Urgent";
        this.#waiting.Urgent.add(waiting);
      }
    }
    this.#grantAll();
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
    for (const line of Object.values(this.#waiting)) {
      for (const { timer, refuse } of line) {
        timer.cancel();
        refuse(new LeaderFenceError());
      }
      line.clear();
    }
  }

  #grantAll(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const { urgency } = next.caller;
      const waitMs = this.#waitMs(urgency);
      if (waitMs > 0) {
        this.#timer = this.#options.clock.after(waitMs, () => this.#grantAll());
        return;
      }
      this.#buckets.Urgent.tryTake();
      if (urgency === "Background") this.#buckets.Background.tryTake();
      this.#urgentGranted = urgency === "Urgent" ? this.#urgentGranted + 1 : 0;
      this.#leave(next);
      next.grant();
    }
  }

  /** Urgent requests go first, but after some of them one background request goes if the limits allow it. */
  #next(): Waiting | undefined {
    const [urgent] = this.#waiting.Urgent;
    const [background] = this.#waiting.Background;
    const isBackgroundDue = this.#urgentGranted >= urgentInARow && this.#buckets.Background.waitMs() === 0;
    return (isBackgroundDue ? background : undefined) ?? urgent ?? background;
  }

  #waitMs(urgency: Urgency): number {
    const { Urgent: all, Background: background } = this.#buckets;
    return urgency === "Urgent" ? all.waitMs() : Math.max(all.waitMs(), background.waitMs());
  }

  #leave(waiting: Waiting): void {
    waiting.timer.cancel();
    this.#waiting[waiting.caller.urgency].delete(waiting);
    const waitedMs = this.#options.clock.monotonicMs() - waiting.sinceMs;
    this.#options.observer.budgetWaited(waiting.caller.urgency, waitedMs / 1_000);
  }

  #refuse(waiting: Waiting): void {
    this.#leave(waiting);
    if (waiting.caller.urgency === "Background") {
      // After a restart with many projects such a refusal is ordinary: the poll only comes later.
      waiting.refuse(new PutOffError("the request budget has no room for a poll yet"));
      return;
    }
    this.#options.observer.throttled("BudgetUsedUp");
    const ahead = this.#waiting.Urgent.size + this.#waiting.Background.size;
    waiting.refuse(
      new ControlPlaneError("Throttled", "the request budget of the operator is used up", {
        effect: "NotApplied",
        retryAfterMs: Math.ceil(((ahead + 1) / this.#buckets.perSecond) * 1_000),
      }),
    );
  }
}

function bucketsOf({ clock, requestsPerMinute, requestsPerSecond }: RequestBudgetOptions) {
  const { capacity, perSecond } = bucketFor(requestsPerMinute, requestsPerSecond);
  const half = { capacity: Math.max(1, capacity / 2), perSecond: perSecond / 2 };
  return {
    Urgent: new TokenBucket({ clock, capacity, perSecond, initial: 0 }),
    Background: new TokenBucket({ clock, ...half, initial: 0 }),
    perSecond,
  };
}
