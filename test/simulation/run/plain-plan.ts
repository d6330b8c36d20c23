/** Makes runs that differ little from a plain one. */
import { rightControlPlaneClock } from "../control-plane/calendar.ts";
import { type FaultPlan, faultless } from "../faults/fault-plan.ts";
import { rightClock } from "../time/machine.ts";
import type { Step } from "./actions.ts";
import type { RunPlan } from "./run.ts";
import type { WorldOptions } from "./world.ts";

/** The resync interval with its jitter, the longest backoff, and the settle time of a POST. */
export const restWithinMs = 600_000 * 1.3 + 300_000 + 160_000;

/** The differences to a plain run: one replica, right clocks, no faults, profile public, quick operations. */
export interface PlanParts {
  readonly steps: readonly Step[];
  readonly faults?: FaultPlan;
  readonly world?: Partial<WorldOptions>;
  /** No fault happens after this time. @default 200 s */
  readonly quietFromMs?: number;
  readonly restWithinMs?: number;
}

/** Makes a plain run with these differences. */
export function planOf({ steps, faults = faultless, world = {}, ...times }: PlanParts): RunPlan {
  return {
    world: {
      seed: 1,
      profile: "public",
      machines: [rightClock],
      controlPlaneClock: rightControlPlaneClock,
      operationLatencyMs: { min: 300, max: 1_000 },
      hasElection: false,
      faults,
      settings: {},
      ...world,
    },
    steps,
    quietFromMs: 200_000,
    restWithinMs,
    ...times,
  };
}
