import type { Clock, Timer } from "../domain/clock.ts";
import type { WorkQueueStats } from "./work-queue.ts";

/** When a process counts as stuck, in milliseconds. Only what a restart would cure. */
export interface LivenessLimits {
  /** Between two looks. */
  readonly tickMs: number;
  /** No look for so long: timers do not fire any more. */
  readonly silenceMs: number;
  /** A look that comes so late was held up by the event loop. One alone may be a process that was paused. */
  readonly lateMs: number;
  /** So many late looks in a row. */
  readonly lateTicks: number;
  /** Every call of a pass is bounded; one that takes so long hangs. */
  readonly longestPassMs: number;
  /** Keys wait for so long while workers have nothing to do. */
  readonly idleQueueMs: number;
}

/** What production uses. */
export const defaultLivenessLimits: LivenessLimits = {
  tickMs: 1_000,
  silenceMs: 30_000,
  lateMs: 5_000,
  lateTicks: 3,
  longestPassMs: 600_000,
  idleQueueMs: 60_000,
};

/** How a watchdog is made. */
export interface LivenessWatchdogOptions {
  readonly clock: Clock;
  readonly queueStats: () => Pick<WorkQueueStats, "depth" | "working" | "longestRunningSeconds">;
  /** Keys worked on at once. */
  readonly workers: number;
  /** @default defaultLivenessLimits */
  readonly limits?: LivenessLimits;
}

/** Watches event loop and work queue, by the monotonic clock. */
export interface LivenessWatchdog {
  start(): void;
  stop(): void;
  /** Each with a name and what is wrong at this moment; `undefined`: nothing. Has the shape of a health check. */
  readonly checks: readonly { readonly name: string; readonly problem: () => string | undefined }[];
}

/** A watchdog; see `LivenessWatchdog`. */
export function createLivenessWatchdog(options: LivenessWatchdogOptions): LivenessWatchdog {
  const watchdog = new TickingWatchdog(options);
  return {
    start: () => watchdog.start(),
    stop: () => watchdog.stop(),
    checks: [
      { name: "event-loop", problem: () => watchdog.loopProblem() },
      { name: "work-queue", problem: () => watchdog.queueProblem() },
    ],
  };
}

class TickingWatchdog {
  readonly #options: LivenessWatchdogOptions;
  readonly #limits: LivenessLimits;
  #timer: Timer | undefined;
  #dueMs = 0;
  #lateInARow = 0;
  #idleSinceMs: number | undefined;

  constructor(options: LivenessWatchdogOptions) {
    this.#options = options;
    this.#limits = options.limits ?? defaultLivenessLimits;
  }

  start(): void {
    const { clock } = this.#options;
    this.#dueMs = clock.monotonicMs() + this.#limits.tickMs;
    this.#timer = clock.after(this.#limits.tickMs, () => this.#tick());
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  loopProblem(): string | undefined {
    const { silenceMs, lateTicks, lateMs } = this.#limits;
    if (this.#timer !== undefined && this.#options.clock.monotonicMs() - this.#dueMs > silenceMs) {
      return `no timer has fired for ${silenceMs / 1_000} s`;
    }
    return this.#lateInARow >= lateTicks ? `timers keep firing more than ${lateMs / 1_000} s late` : undefined;
  }

  queueProblem(): string | undefined {
    const { longestPassMs, idleQueueMs } = this.#limits;
    if (this.#options.queueStats().longestRunningSeconds * 1_000 > longestPassMs) {
      return `a pass has been running for more than ${longestPassMs / 1_000} s`;
    }
    const idleMs = this.#idleSinceMs === undefined ? 0 : this.#options.clock.monotonicMs() - this.#idleSinceMs;
    return idleMs > idleQueueMs ? `keys have waited for ${idleQueueMs / 1_000} s while workers were idle` : undefined;
  }

  #tick(): void {
    const nowMs = this.#options.clock.monotonicMs();
    this.#lateInARow = nowMs - this.#dueMs > this.#limits.lateMs ? this.#lateInARow + 1 : 0;
    const { depth, working } = this.#options.queueStats();
    const isStuck = depth > 0 && working < this.#options.workers;
    this.#idleSinceMs = isStuck ? (this.#idleSinceMs ?? nowMs) : undefined;
    this.start();
  }
}
