/** Finds out when the process is stuck and a restart would help, and measures how late timers fire. */
import type { Clock, Timer } from "../domain/clock.ts";
import type { WorkQueueStats } from "../domain/worker.ts";

/** The limits of liveness, in milliseconds. A process beyond one of them is stuck, and a restart would help. */
export const livenessLimits = {
  /** A reconcile that takes this long counts as hanging, because every call within it has a time limit. */
  longestReconcileMs: 600_000,
  /** If keys wait for this long although a reconcile could begin, the queue counts as stuck. */
  idleQueueMs: 60_000,
} as const;

const tickMs = 1_000;

interface LivenessWatchdogOptions {
  readonly clock: Clock;
  readonly queueStats: () => Pick<WorkQueueStats, "depth" | "longestRunningSeconds">;
  readonly hasRoom: () => boolean;
}

export class LivenessWatchdog {
  /** The health checks. Each has a name, and returns its present problem; `undefined` if there is none. */
  readonly checks = [{ name: "work-queue", problem: () => this.#queueProblem() }] as const;
  readonly #options: LivenessWatchdogOptions;
  #timer: Timer | undefined;
  #idleSinceMs: number | undefined;

  constructor(options: LivenessWatchdogOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = this.#options.clock.after(tickMs, () => this.#tick());
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #queueProblem(): string | undefined {
    const { longestReconcileMs, idleQueueMs } = livenessLimits;
    if (this.#options.queueStats().longestRunningSeconds * 1_000 > longestReconcileMs) {
      return `a reconcile has been running for more than ${longestReconcileMs / 1_000} s`;
    }
    const idleMs = this.#idleSinceMs === undefined ? 0 : this.#options.clock.monotonicMs() - this.#idleSinceMs;
    return idleMs > idleQueueMs
      ? `keys have waited for ${idleQueueMs / 1_000} s although a reconcile could begin`
      : undefined;
  }

  #tick(): void {
    const { clock, queueStats, hasRoom } = this.#options;
    const isStuck = queueStats().depth > 0 && hasRoom();
    this.#idleSinceMs = isStuck ? (this.#idleSinceMs ?? clock.monotonicMs()) : undefined;
    this.start();
  }
}

interface EventLoopMonitorOptions {
  readonly clock: Clock;
  readonly onDelay: (seconds: number) => void;
}

/** The timer notices every longer stall of the event loop, and costs almost nothing. */
const sampleMs = 100;

/** Node's own histogram loses the interval of a scrape, or shows the past. @returns a function that ends it */
export function monitorEventLoop({ clock, onDelay }: EventLoopMonitorOptions): () => void {
  let timer: Timer | undefined;
  const tick = () => {
    const dueMs = clock.monotonicMs() + sampleMs;
    timer = clock.after(sampleMs, () => {
      onDelay(Math.max(0, clock.monotonicMs() - dueMs) / 1_000);
      tick();
    });
  };
  tick();
  return () => timer?.cancel();
}
