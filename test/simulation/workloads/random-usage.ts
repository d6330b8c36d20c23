/** Makes random runs in which computes start, suspend and change their size. */
import type { SeededRandom } from "../../support/seeded-random.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import { faultless } from "../faults/fault-plan.ts";
import type { JsonObject } from "../kubernetes/merge-patch.ts";
import { annotations } from "../ports.ts";
import type { Action, Step } from "../run/actions.ts";
import type { RunPlan } from "../run/run.ts";
import { randomPlanOf } from "./random-plan.ts";
import { branch, readWrite, size } from "./specs.ts";

const busyMs = 600_000;

const names = ["orders", "billing"] as const;

const common = ["Wake", "Wake", "Suspend", "PersonStarts", "PersonStarts", "PersonSuspends", "Crash", "Stop"] as const;

/**
 * What happens in one run. docs/cost.md names what the others together could hide: a size that another client sets and
 * the operator takes back unseen, and a size that changes while lists are late.
 */
const families = [
  [...common, "FailNext", "ListLag"],
  [...common, "FailNext", "Resize", "Resize"],
  [...common, "Resize", "PersonResizes"],
] as const;

/** Draws a run. Processes crash and take over. */
export function randomUsagePlan(seed: number): RunPlan {
  const random = createSeededRandom(seed * 1_274_126_177);
  const family = random.pick(families);
  const plan = randomPlanOf(random, { seed, busyMs, hasUsage: true }, () => randomSteps(random, family));
  const hasOthers = (family as readonly string[]).includes("PersonResizes");
  return hasOthers ? { ...plan, world: { ...plan.world, faults: faultless } } : plan;
}

function randomSteps(random: SeededRandom, kinds: readonly string[]): readonly Step[] {
  const isFixed = random.next() < 0.5;
  const randomSize = () => {
    const units = random.pick([0.25, 0.5, 1, 2]);
    return size(units, isFixed ? units : units * random.pick([1, 2, 4]));
  };
  const specOf = (at: number) =>
    readWrite(branch(at), {
      ...randomSize(),
      suspend: { mode: "After", afterSeconds: random.pick([60, 120, 300, 600]) },
    });
  const steps: Step[] = names.map((name, at) => ({ atMs: 1_000, action: { kind: "Apply", name, spec: specOf(at) } }));
  const enabled = kinds.filter(() => random.next() < 0.6);
  for (let at = 0, atMs = 20_000; at < 40 && enabled.length > 0 && atMs < busyMs; at += 1) {
    const subject = random.below(names.length);
    steps.push({ atMs, action: randomAction(random, random.pick(enabled), { subject, spec: specOf(subject) }) });
    atMs += random.pick([2_000, 20_000, 60_000, 120_000]);
  }
  return steps;
}

interface Subject {
  readonly subject: number;
  readonly spec: JsonObject;
}

function randomAction(random: SeededRandom, kind: string, { subject, spec }: Subject): Action {
  const [name, branchId] = [names[subject] ?? "", branch(subject)];
  const asked = String(random.below(100_000));
  switch (kind) {
    case "Wake":
      return { kind: "Annotate", name, annotations: { [annotations.wakeRequestedAt]: asked } };
    case "Suspend":
      return { kind: "Annotate", name, annotations: { [annotations.suspendRequestedAt]: asked } };
    case "PersonStarts":
    case "PersonSuspends":
      return { kind, branchId };
    case "Resize":
      return { kind: "Apply", name, spec };
    case "PersonResizes":
      return { kind: "PersonChanges", branchId, changes: { minUnits: 1, maxUnits: 4 } };
    case "FailNext":
      return { kind, action: random.pick(["start_compute", "suspend_compute"] as const) };
    case "ListLag":
      return { kind, lagMs: random.pick([0, 0, 5_000, 30_000]) };
    default:
      return { kind: kind === "Stop" ? "Stop" : "Crash", replica: random.below(2) };
  }
}
