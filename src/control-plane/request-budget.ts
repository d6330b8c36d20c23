/** Limits how often the operator sends requests to one control plane. */
import type { Clock, Timer } from "../domain/clock.ts";
import type { Caller, ControlPlaneObserver, Urgency } from "../domain/control-plane.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import { LeaderFenceError, PutOffError } from "../domain/leader-fence.ts";
import { FairLine, type LineEntry, TokenBucket, type TokenBucketOptions } from "../runtime/fair-line.ts";

interface RequestBudgetOptions {
  readonly clock: Clock;
  /** The maximum number of requests in any 60 seconds. At least 10. */
  readonly requestsPerMinute: number;
  /** The maximum number of requests in any second. At least 1. */
  readonly requestsPerSecond: number;
  readonly observer: Pick<ControlPlaneObserver, "throttled" | "budgetWaited">;
  /**
   * The longest wait of a request, in milliseconds. After it, the request is refused. It is shorter than the time after
   * which a reconcile counts as hanging. @default 240000
   */
  readonly maxWaitMs?: number;
}

/** After this many urgent requests in a row one background request is sent, so that polls never stop. */
const urgentInARow = 16;

/** The number of requests in one poll of a project: one for its operations and one for its endpoints. */
const requestsPerPoll = 2;

/** The maximum number of waiting requests. A further request is refused at once. */
const maxWaiting = 10_000;

type BucketSize = Pick<TokenBucketOptions, "capacity" | "perSecond">;

/**
 * Returns the bucket that keeps both limits: for t = 1 second and t = 60 seconds, `capacity + perSecond × t` is at most
 * the limit. With a capacity of 1, requests are evenly spaced, so `perSecond` alone limits them.
 */
export function bucketFor(requestsPerMinute: number, requestsPerSecond: number): BucketSize {
  const capacity = Math.min((60 * requestsPerSecond - requestsPerMinute) / 59, requestsPerMinute / 2);
  return capacity > 1
    ? { capacity, perSecond: (requestsPerMinute - capacity) / 60 }
    : { capacity: 1, perSecond: Math.min(requestsPerSecond, requestsPerMinute / 60) };
}

/** Returns the bucket that limits background requests to half of what all requests may use. */
function halfOf({ capacity, perSecond }: BucketSize): BucketSize {
  return { capacity: Math.max(1, capacity / 2), perSecond: perSecond / 2 };
}

interface Waiting extends LineEntry {
  readonly caller: Caller;
  readonly sinceMs: number;
  readonly grant: () => void;
  readonly refuse: (error: ControlPlaneError | PutOffError) => void;
  timer: Timer | undefined;
}

interface Buckets {
  readonly all: TokenBucket;
  readonly background: TokenBucket;
  readonly size: BucketSize;
}

/**
 * The number of requests that the operator may send to one control plane.
 * Guarantees: in any second and in any minute, no more requests are allowed than the limits say. The budget starts
 * empty, because another process may have used its whole budget right before this one started. Background requests use
 * at most half of the budget. Urgent requests go first, and namespaces take turns. A request counts when it is allowed,
 * even if it is sent later: a change may be allowed before the reads of its reconcile, and is sent after them.
 */
export class RequestBudget {
  readonly #options: Required<RequestBudgetOptions>;
  #buckets: Buckets;
  readonly #waiting = { Urgent: new FairLine<Waiting>(), Background: new FairLine<Waiting>() };
  /** Callers that have already got a request from the budget. Their further requests go first. */
  readonly #begun = new WeakSet<Caller>();
  /** Background callers whose requests have become urgent. */
  readonly #madeUrgent = new WeakSet<Caller>();
  #urgentGranted = 0;
  #sequence = 0;
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(options: RequestBudgetOptions) {
    this.#options = { maxWaitMs: 240_000, ...options };
    this.#buckets = this.#newBuckets(options.requestsPerMinute);
  }

  /** How many projects can be polled in one minute. A poll takes two requests, and polls may use half of the budget. */
  get pollsPerMinute(): number {
    return (halfOf(this.#buckets.size).perSecond * 60) / requestsPerPoll;
  }

  /** Changes the limit. Requests that wait keep their places, and the budget starts empty again. */
  setRequestsPerMinute(requestsPerMinute: number): void {
    this.#buckets = this.#newBuckets(requestsPerMinute);
    this.#grantAll();
  }

  #newBuckets(requestsPerMinute: number): Buckets {
    const { clock, requestsPerSecond } = this.#options;
    const size = bucketFor(requestsPerMinute, requestsPerSecond);
    return {
      size,
      all: new TokenBucket({ clock, ...size, initial: 0 }),
      background: new TokenBucket({ clock, ...halfOf(size), initial: 0 }),
    };
  }

  /**
   * Resolves when the caller may send one request, and counts the request.
   * @throws ControlPlaneError `Throttled`, effect `NotApplied`, if an urgent request has waited too long or too many
   *   requests wait. PutOffError for a background request in these cases. LeaderFenceError after `close`.
   */
  take(caller: Caller): Promise<void> {
    if (this.#isClosed) {
      return Promise.reject(new LeaderFenceError());
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#sequence += 1;
    const waiting: Waiting = {
      id: String(this.#sequence),
      group: caller.namespace,
      caller,
      sinceMs: this.#options.clock.monotonicMs(),
      grant: resolve,
      refuse: reject,
      timer: undefined,
    };
    if (this.#waiting.Urgent.size + this.#waiting.Background.size >= maxWaiting) {
      this.#refuse(waiting);
      return promise;
    }
    this.#join(waiting);
    this.#grantAll();
    return promise;
  }

  /**
   * Makes the waiting background requests of a project urgent, and those that the same reconciles send later. An edit
   * of the project then does not wait for the turn of a poll.
   */
  makeUrgent(project: string): void {
    const polls = [...this.#waiting.Background].filter(({ caller }) => caller.project === project);
    for (const waiting of polls) {
      this.#leave(waiting);
    }
    for (const waiting of polls) {
      this.#madeUrgent.add(waiting.caller);
      this.#join(waiting);
    }
    if (polls.length > 0) {
      this.#grantAll();
    }
  }

  /** Refuses the waiting requests and all later ones, because the process stops. */
  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
    for (const line of Object.values(this.#waiting)) {
      for (let waiting = line.takeNext(); waiting !== undefined; waiting = line.takeNext()) {
        waiting.timer?.cancel();
        waiting.refuse(new LeaderFenceError());
      }
    }
  }

  #urgencyOf(caller: Caller): Urgency {
    return this.#madeUrgent.has(caller) ? "Urgent" : caller.urgency;
  }

  /** Puts a request into the line of its urgency, and sets its longest wait. */
  #join(waiting: Waiting): void {
    const { caller } = waiting;
    const line = this.#waiting[this.#urgencyOf(caller)];
    if (this.#begun.has(caller)) {
      line.joinFirst(waiting);
    } else {
      line.join(waiting);
    }
    const { clock, maxWaitMs } = this.#options;
    waiting.timer = clock.after(maxWaitMs, () => {
      this.#leave(waiting);
      this.#refuse(waiting);
    });
  }

  #leave(waiting: Waiting): void {
    waiting.timer?.cancel();
    this.#waiting[this.#urgencyOf(waiting.caller)].leave(waiting);
  }

  /** Grants every request that the buckets allow now, and sets the timer for the next token of a bucket. */
  #grantAll(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    for (let urgency = this.#next(); urgency !== undefined; urgency = this.#next()) {
      const waitMs = this.#waitMs(urgency);
      if (waitMs > 0) {
        this.#timer = this.#options.clock.after(waitMs, () => this.#grantAll());
        return;
      }
      this.#grant(urgency);
    }
  }

  /**
   * Returns the urgency of the request that goes next; `undefined` if nothing waits. Urgent requests go first, but
   * after some of them one background request goes if the limits allow it.
   */
  #next(): Urgency | undefined {
    const { Urgent: urgent, Background: background } = this.#waiting;
    if (urgent.size === 0) {
      return background.size === 0 ? undefined : "Background";
    }
    const isBackgroundDue = this.#urgentGranted >= urgentInARow && background.size > 0;
    return isBackgroundDue && this.#buckets.background.waitMs() === 0 ? "Background" : "Urgent";
  }

  #waitMs(urgency: Urgency): number {
    return urgency === "Urgent"
      ? this.#buckets.all.waitMs()
      : Math.max(this.#buckets.all.waitMs(), this.#buckets.background.waitMs());
  }

  #grant(urgency: Urgency): void {
    const granted = this.#waiting[urgency].takeNext();
    if (granted === undefined) {
      return;
    }
    this.#buckets.all.tryTake();
    if (urgency === "Background") {
      this.#buckets.background.tryTake();
    }
    this.#urgentGranted = urgency === "Urgent" ? this.#urgentGranted + 1 : 0;
    granted.timer?.cancel();
    this.#begun.add(granted.caller);
    this.#options.observer.budgetWaited(urgency, this.#waitedSeconds(granted));
    granted.grant();
  }

  #refuse(waiting: Waiting): void {
    const { observer } = this.#options;
    const urgency = this.#urgencyOf(waiting.caller);
    observer.budgetWaited(urgency, this.#waitedSeconds(waiting));
    if (urgency === "Background") {
      // After a restart with many projects such a refusal is ordinary: the poll only comes later.
      waiting.refuse(new PutOffError("the request budget has no room for a poll yet"));
      return;
    }
    observer.throttled("BudgetUsedUp");
    const ahead = this.#waiting.Urgent.size + this.#waiting.Background.size;
    waiting.refuse(
      new ControlPlaneError("Throttled", "the request budget of the operator is used up", {
        effect: "NotApplied",
        retryAfterMs: Math.ceil(((ahead + 1) / this.#buckets.size.perSecond) * 1_000),
      }),
    );
  }

  #waitedSeconds({ sinceMs }: Waiting): number {
    return (this.#options.clock.monotonicMs() - sinceMs) / 1_000;
  }
}
