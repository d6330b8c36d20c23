/** Shortens a run that breaks a promise. */
import { rightControlPlaneClock } from "../control-plane/calendar.ts";
import { rightClock } from "../time/machine.ts";
import type { Step } from "./actions.ts";
import { type RunPlan, run } from "./run.ts";
import type { Violation } from "./violation.ts";

/** Whether a run still shows the problem. */
export type Shows = (violations: readonly Violation[]) => boolean;

/** The maximum number of runs that are tried. */
const runLimit = 400;

/** Makes a failing plan shorter, as long as it still fails: fewer steps, fewer faults, right clocks. */
export async function shrink(plan: RunPlan, shows: Shows): Promise<RunPlan> {
  let best = await withScriptedFaults(plan);
  let runs = 0;
  let isShorter = true;
  while (isShorter) {
    isShorter = false;
    for (const shorten of shorteningsOf(best)) {
      const candidate = shorten(best);
      runs += 1;
      if (runs > runLimit) return best;
      if (candidate !== undefined && shows((await run(candidate)).violations)) {
        best = candidate;
        isShorter = true;
      }
    }
  }
  return best;
}

type Shorten = (plan: RunPlan) => RunPlan | undefined;

/**
 * Returns functions that each remove one part of the plan, wherever that part is now. They return `undefined` if the
 * part is gone already.
 */
function shorteningsOf({ steps, world }: RunPlan): readonly Shorten[] {
  const keys = world.faults.kind === "Scripted" ? Object.keys(world.faults.faults) : [];
  return [
    rightClocks,
    oneReplica,
    ...steps
      .map(
        (step): Shorten =>
          (plan) =>
            withoutStep(plan, step),
      )
      .reverse(),
    ...keys.map(
      (key): Shorten =>
        (plan) =>
          withoutFault(plan, key),
    ),
  ];
}

function withoutStep(plan: RunPlan, step: Step): RunPlan | undefined {
  const at = plan.steps.indexOf(step);
  return at < 0 ? undefined : { ...plan, steps: plan.steps.toSpliced(at, 1) };
}

/** Returns the same plan with every fault named, so that single faults can be removed. */
async function withScriptedFaults(plan: RunPlan): Promise<RunPlan> {
  const { world } = await run(plan);
  return {
    ...plan,
    world: { ...plan.world, faults: { kind: "Scripted", faults: Object.fromEntries(world.faults.hit) } },
  };
}

function withoutFault(plan: RunPlan, key: string): RunPlan {
  if (plan.world.faults.kind !== "Scripted") return plan;
  const { [key]: _, ...faults } = plan.world.faults.faults;
  return { ...plan, world: { ...plan.world, faults: { kind: "Scripted", faults } } };
}

function rightClocks(plan: RunPlan): RunPlan | undefined {
  const isRight =
    plan.world.controlPlaneClock === rightControlPlaneClock &&
    plan.world.machines.every((clock) => clock === rightClock);
  if (isRight) return undefined;
  return {
    ...plan,
    world: {
      ...plan.world,
      controlPlaneClock: rightControlPlaneClock,
      machines: plan.world.machines.map(() => rightClock),
    },
  };
}

function oneReplica(plan: RunPlan): RunPlan | undefined {
  return plan.world.machines.length < 2
    ? undefined
    : { ...plan, world: { ...plan.world, machines: plan.world.machines.slice(0, 1) } };
}
