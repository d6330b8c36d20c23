/** Runs one simulation from its plan. */
import type { Step } from "./actions.ts";
import { performAction } from "./perform-action.ts";
import type { Violation } from "./violation.ts";
import { World, type WorldOptions } from "./world.ts";

/** A whole run as data. The same plan gives the same run. */
export interface RunPlan {
  readonly world: WorldOptions;
  readonly steps: readonly Step[];
  /** No fault happens after this time. True milliseconds. */
  readonly quietFromMs: number;
  /** The world must be at rest this long after the last fault. */
  readonly restWithinMs: number;
}

/** The result of a run. */
export interface RunResult {
  readonly world: World;
  readonly violations: readonly Violation[];
}

/** Observes a run at a time before its end. */
export interface Probe {
  /** True milliseconds. */
  readonly atMs: number;
  readonly look: (world: World) => void;
}

/** Runs a plan, from an empty cluster until rest. */
export async function run(plan: RunPlan, probes: readonly Probe[] = []): Promise<RunResult> {
  const world = new World(plan.world);
  const outside = { isDead: false, pausedUntilMs: 0 };
  for (const { atMs, look } of probes) world.time.at(atMs, outside, () => look(world));
  for (const { atMs, action } of plan.steps) world.time.at(atMs, outside, () => performAction(world, action));
  world.time.at(plan.quietFromMs, outside, () => world.becomeQuiet());
  for (const replica of world.replicas) replica.start();
  await world.time.run(plan.quietFromMs, () => false);
  await world.time.run(plan.quietFromMs + plan.restWithinMs, () => world.isAtRest());
  if (world.isUnquietAtRest()) world.violate("L3", "the operator goes on writing although every resource is settled");
  for (const replica of world.replicas) replica.end();
  world.metricsPages = await Promise.all(world.lastPages);
  for (const oracle of world.oracles) await oracle.atEnd?.();
  return { world, violations: world.violations };
}
