import type { Clock, Timer } from "../domain/clock.ts";
import type { ControlPlane } from "../domain/control-plane.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { ControlPlaneObserver } from "../domain/control-plane-observer.ts";
import type { Caller, RequestBudget, Urgency } from "../domain/request-budget.ts";
import { FairLine, type LineEntry } from "../runtime/fair-line.ts";
import { TokenBucket } from "../runtime/token-bucket.ts";

/** The options of a budget. */
export interface RequestBudgetOptions {
  readonly clock: Clock;
  /** The maximum number of requests in any 60 seconds. At least 10. */
  readonly requestsPerMinute: number;
  /** The maximum number of requests in any second. At least 1. */
  readonly requestsPerSecond: number;
  readonly observer: Pick<ControlPlaneObserver, "throttled" | "budgetWaited">;
  /** The longest wait of a request, in milliseconds. After it, the request is refused. @default 240000 */
  readonly maxWaitMs?: number;
}

/** After this many urgent requests in a row one background request is sent, so that polls never stop. */
const urgentInARow = 16;

/** The number of requests in one poll of a project: one for its operations and one for its endpoints. */
const requestsPerPoll = 2;

/** The maximum number of waiting requests. A further request is refused at once. */
const maxWaiting = 10_000;

/**
 * Makes a budget.
 * Guarantees: in any second and in any minute, no more requests are sent than allowed. The budget starts empty, because
 * another process may have used its whole budget right before this one started. Background requests use at most half of
 * it. Urgent requests go first, and namespaces take turns.
 */
export function createRequestBudget(options: RequestBudgetOptions): RequestBudget {
  return new FairRequestBudget(options);
}

/**
 * Returns the control plane of one reconcile: every request waits until the budget allows it.
 * If the connection of a read broke, the read is sent once more, because the server may have closed the kept
 * connection. The second try counts as a request of its own. A write is never sent twice.
 */
export function withRequestBudget(controlPlane: ControlPlane, budget: RequestBudget, caller: Caller): ControlPlane {
  const write = async <Answer>(send: () => Promise<Answer>): Promise<Answer> => {
    await budget.take(caller);
    return await send();
  };
  const read = async <Answer>(send: () => Promise<Answer>): Promise<Answer> => {
    try {
      return await write(send);
    } catch (error) {
      if (error instanceof ControlPlaneError && error.reason === "ConnectionLost") {
        return await write(send);
      }
      throw error;
    }
  };
  return {
    serviceUrl: controlPlane.serviceUrl,
    listEndpoints: (projectId) => read(() => controlPlane.listEndpoints(projectId)),
    getEndpoint: (projectId, endpointId) => read(() => controlPlane.getEndpoint(projectId, endpointId)),
    listOperations: (projectId, page) => read(() => controlPlane.listOperations(projectId, page)),
    getOperation: (projectId, operationId) => read(() => controlPlane.getOperation(projectId, operationId)),
    createEndpoint: (projectId, creation) => write(() => controlPlane.createEndpoint(projectId, creation)),
    updateEndpoint: (projectId, endpointId, changes) =>
      write(() => controlPlane.updateEndpoint(projectId, endpointId, changes)),
    changePower: (projectId, endpointId, action) =>
      write(() => controlPlane.changePower(projectId, endpointId, action)),
    deleteEndpoint: (projectId, endpointId) => write(() => controlPlane.deleteEndpoint(projectId, endpointId)),
  };
}

/** Capacity and rate of a token bucket. */
interface BucketSize {
  readonly capacity: number;
  readonly perSecond: number;
}

/**
 * Returns the bucket that keeps both limits: for t = 1 second and t = 60 seconds, `capacity + perSecond × t` is at most
 * the limit.
 * With a capacity of 1 requests are evenly spaced, and only their distance matters.
 */
export function bucketFor(requestsPerMinute: number, requestsPerSecond: number): BucketSize {
  const capacity = Math.min((60 * requestsPerSecond - requestsPerMinute) / 59, requestsPerMinute / 2);
  return capacity > 1
    ? { capacity, perSecond: (requestsPerMinute - capacity) / 60 }
    : { capacity: 1, perSecond: Math.min(requestsPerSecond, requestsPerMinute / 60) };
}

/** Returns the bucket that keeps background requests within half of these limits. */
function halfOf({ capacity, perSecond }: BucketSize): BucketSize {
  return { capacity: Math.max(1, capacity / 2), perSecond: perSecond / 2 };
}

interface Waiting extends LineEntry {
  readonly caller: Caller;
  readonly sinceMs: number;
  readonly grant: () => void;
  readonly refuse: (error: ControlPlaneError) => void;
  timer: Timer | undefined;
}

class FairRequestBudget implements RequestBudget {
  readonly pollsPerMinute: number;
  readonly #options: Required<RequestBudgetOptions>;
  readonly #all: TokenBucket;
  readonly #background: TokenBucket;
  readonly #waiting = { Urgent: new FairLine<Waiting>(), Background: new FairLine<Waiting>() };
  /** Callers that were granted a request before. They go first. */
  readonly #begun = new WeakSet<Caller>();
  readonly #allPerSecond: number;
  #urgentGranted = 0;
  #sequence = 0;
  #timer: Timer | undefined;

  constructor(options: RequestBudgetOptions) {
    const { clock, requestsPerMinute, requestsPerSecond } = options;
    this.#options = { maxWaitMs: 240_000, ...options };
    const size = bucketFor(requestsPerMinute, requestsPerSecond);
    this.#all = new TokenBucket({ clock, ...size, initial: 0 });
    this.#background = new TokenBucket({ clock, ...halfOf(size), initial: 0 });
    this.#allPerSecond = size.perSecond;
    this.pollsPerMinute = (halfOf(size).perSecond * 60) / requestsPerPoll;
  }

  take(caller: Caller): Promise<void> {
    const { clock, maxWaitMs } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#sequence += 1;
    const waiting: Waiting = {
      id: String(this.#sequence),
      group: caller.namespace,
      caller,
      sinceMs: clock.monotonicMs(),
      grant: resolve,
      refuse: reject,
      timer: undefined,
    };
    if (this.#waiting.Urgent.size + this.#waiting.Background.size >= maxWaiting) {
      this.#refuse(waiting);
      return promise;
    }
    const line = this.#waiting[caller.urgency];
    if (this.#begun.has(caller)) {
      line.joinFirst(waiting);
    } else {
      line.join(waiting);
    }
    this.#grantAll();
    if (line.get(waiting) !== undefined) {
      waiting.timer = clock.after(maxWaitMs, () => {
        line.leave(waiting);
        this.#refuse(waiting);
      });
    }
    return promise;
  }

  /** Grants every request that the buckets allow now, and sets the timer for the next token. */
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
   * Returns which kind of request comes next: urgent, but after some urgent requests one background request;
   * `undefined`: nothing waits.
   */
  #next(): Urgency | undefined {
    const { Urgent: urgent, Background: background } = this.#waiting;
    if (urgent.size === 0) {
      return background.size === 0 ? undefined : "Background";
    }
    const isBackgroundDue = this.#urgentGranted >= urgentInARow && background.size > 0;
    return isBackgroundDue && this.#background.waitMs() === 0 ? "Background" : "Urgent";
  }

  #waitMs(urgency: Urgency): number {
    return urgency === "Urgent" ? this.#all.waitMs() : Math.max(this.#all.waitMs(), this.#background.waitMs());
  }

  #grant(urgency: Urgency): void {
    const granted = this.#waiting[urgency].takeNext();
    if (granted === undefined) {
      return;
    }
    this.#all.tryTake();
    if (urgency === "Background") {
      this.#background.tryTake();
    }
    this.#urgentGranted = urgency === "Urgent" ? this.#urgentGranted + 1 : 0;
    granted.timer?.cancel();
    this.#begun.add(granted.caller);
    this.#options.observer.budgetWaited(urgency, this.#waitedSeconds(granted));
    granted.grant();
  }

  #refuse(waiting: Waiting): void {
    const { observer } = this.#options;
    observer.budgetWaited(waiting.caller.urgency, this.#waitedSeconds(waiting));
    observer.throttled("BudgetUsedUp");
    const ahead = this.#waiting.Urgent.size + this.#waiting.Background.size;
    waiting.refuse(
      new ControlPlaneError("Throttled", "the request budget of the operator is used up", {
        effect: "NotApplied",
        retryAfterMs: Math.ceil(((ahead + 1) / this.#allPerSecond) * 1_000),
      }),
    );
  }

  #waitedSeconds({ sinceMs }: Waiting): number {
    return (this.#options.clock.monotonicMs() - sinceMs) / 1_000;
  }
}
