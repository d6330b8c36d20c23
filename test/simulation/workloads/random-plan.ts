/** Makes random runs. */
import { createSeededRandom, type SeededRandom } from "../../support/seeded-random.ts";
import { type ControlPlaneClock, rightControlPlaneClock } from "../control-plane/calendar.ts";
import { world as places } from "../control-plane/engine.ts";
import { type FaultRates, noRates } from "../faults/fault-plan.ts";
import type { JsonObject } from "../kubernetes/merge-patch.ts";
import { annotations } from "../ports.ts";
import type { Action, Step } from "../run/actions.ts";
import { planOf, restWithinMs } from "../run/plain-plan.ts";
import type { RunPlan } from "../run/run.ts";
import type { WorldOptions } from "../run/world.ts";
import { type ClockError, rightClock } from "../time/machine.ts";
import { branch, readOnly, readWrite, size } from "./specs.ts";

const names = ["orders", "billing", "search"] as const;

/** Users and faults act during this time. */
const busyMs = 300_000;

/** A request budget that every run uses up, so that reads and changes wait for it, in addition to the faults. */
const smallBudget = { CONTROL_PLANE_REQUESTS_PER_MINUTE: "20", CONTROL_PLANE_REQUESTS_PER_SECOND: "2" };

/**
 * Draws a random run by swarm testing: each seed enables only a few kinds of faults and actions, at random rates. So
 * rare combinations occur.
 */
export function randomPlan(seed: number): RunPlan {
  const random = createSeededRandom(seed * 2_654_435_761);
  const hasTwo = random.next() < 0.3;
  const hasClockFaults = random.next() < 0.35;
  const machine = (): ClockError => (hasClockFaults ? wrongClock(random) : rightClock);
  const controlPlaneClock = hasClockFaults ? wrongControlPlaneClock(random) : rightControlPlaneClock;
  return {
    world: {
      seed,
      profile: random.pick(["seed", "public"] as const),
      machines: hasTwo ? [machine(), machine()] : [machine()],
      controlPlaneClock,
      operationLatencyMs: random.pick([
        { min: 300, max: 1_000 },
        { min: 2_000, max: 8_000 },
        { min: 15_000, max: 40_000 },
      ]),
      hasElection: hasTwo || random.next() < 0.2,
      faults: { kind: "Seeded", seed, rates: randomRates(random, hasTwo), spared: [] },
      settings: seed % 8 === 0 ? smallBudget : {},
    },
    steps: randomSteps(random),
    quietFromMs: busyMs + 30_000,
    restWithinMs,
  };
}

function wrongClock(random: SeededRandom): ClockError {
  return {
    offsetMs: random.pick([0, 3_000, -3_000]),
    rate: random.pick([1, 1, 1.002, 0.998]),
  };
}

function wrongControlPlaneClock(random: SeededRandom): ControlPlaneClock {
  return {
    offsetMs: random.pick([0, 0, 3_000, -3_000]),
    secondMachineMs: random.pick([0, 0, 3_000, -3_000]),
    wholeSeconds: random.next() < 0.3,
  };
}

/** Draws a run with right clocks of one kind of workload. */
export function randomPlanOf(
  random: SeededRandom,
  { seed, busyMs: busyForMs, ...world }: Partial<WorldOptions> & { readonly seed: number; readonly busyMs: number },
  stepsOf: (random: SeededRandom) => readonly Step[],
): RunPlan {
  const hasTwo = random.next() < 0.3;
  return planOf({
    world: {
      seed,
      profile: random.pick(["seed", "public"] as const),
      machines: hasTwo ? [rightClock, rightClock] : [rightClock],
      operationLatencyMs: random.pick([
        { min: 300, max: 1_000 },
        { min: 2_000, max: 8_000 },
      ]),
      hasElection: hasTwo,
      ...world,
    },
    faults: { kind: "Seeded", seed, rates: randomRates(random, hasTwo), spared: [] },
    steps: stepsOf(random),
    quietFromMs: busyForMs + 30_000,
  });
}

/**
 * Draws how often each kind of fault happens. Most kinds never happen.
 * @param hasTwo whether two replicas run
 */
function randomRates(random: SeededRandom, hasTwo: boolean): FaultRates {
  const rate = (most: number) => (random.next() < 0.35 ? random.next() * most : 0);
  return {
    ...noRates,
    crashBefore: rate(0.1),
    crashAfter: rate(0.1),
    refused: rate(0.3),
    answerLost: rate(0.3),
    appliedLate: rate(0.3),
    requestLost: rate(0.3),
    paused: hasTwo ? rate(0.1) : 0,
    readFails: rate(0.15),
    conflict: rate(0.3),
  };
}

function randomSteps(random: SeededRandom): readonly Step[] {
  const used = names.slice(0, 1 + random.below(names.length));
  const specs = new Map(used.map((name, at) => [name, randomSpec(random, at)]));
  const steps: Step[] = used.map((name) => ({
    atMs: 1_000 + random.below(20_000),
    action: { kind: "Apply", name, spec: specs.get(name) as JsonObject },
  }));
  const kinds = enabledKinds(random);
  const count = kinds.length === 0 ? 0 : random.below(8);
  for (let at = 0; at < count; at += 1) {
    const name = random.pick(used);
    const action = randomAction(random, random.pick(kinds), { name, spec: specs.get(name) as JsonObject });
    steps.push({ atMs: 5_000 + random.below(busyMs - 5_000), action });
    if (action.kind === "Apply") specs.set(name, action.spec);
  }
  if (random.next() < 0.2) steps.push(...stepsAtOnce(random));
  return steps.sort((a, b) => a.atMs - b.atMs);
}

/** Harms that happen together: the death or a pause of a process, and two more within the same two seconds. */
function stepsAtOnce(random: SeededRandom): readonly Step[] {
  const aroundMs = 5_000 + random.below(busyMs - 5_000);
  const death = random.pick(["Crash", "PauseMachine"] as const);
  const others = Array.from({ length: 2 }, () => random.pick(harms));
  return [death, ...others].map((kind) => ({
    atMs: aroundMs - 1_000 + random.below(2_000),
    action: randomHarm(random, kind, branch(random.below(3))),
  }));
}

export const watchHarms = ["WatchLag", "WatchMute", "WatchBreak", "WatchCut", "WatchLoss"] as const;

/** Harms that may happen together with others. */
const harms = ["ListLag", "Disguise", ...watchHarms, "Compact", "Crash", "PauseMachine", "Cut"] as const;

const actionKinds = [
  "Edit",
  "Edit",
  "Move",
  "Delete",
  "Recreate",
  "Pause",
  "Touch",
  "PersonCreates",
  "PersonChanges",
  "PersonDeletes",
  "PersonSuspends",
  "FailNext",
  ...harms,
  "Unreadable",
  "RestoreWithoutStatus",
  "Power",
  "Resolve",
  "LoseStatus",
  "PersonMoves",
  "PersonReplaces",
  "OtherCluster",
  "Observe",
] as const;
type ActionKind = (typeof actionKinds)[number];

function enabledKinds(random: SeededRandom): readonly ActionKind[] {
  return actionKinds.filter(() => random.next() < 0.25);
}

function randomSpec(random: SeededRandom, at: number): JsonObject {
  const branchId = branch(random.next() < 0.8 ? at : random.below(4));
  const more: JsonObject = {
    ...(random.next() < 0.5 ? size(random.pick([0.25, 0.5, 1, 2])) : {}),
    ...(random.next() < 0.2 ? { suspend: { mode: "After", afterSeconds: random.pick([60, 300]) } } : {}),
    ...(random.next() < 0.2 ? { settings: { pgSettings: { work_mem: random.pick(["4MB", "8MB"]) } } } : {}),
    ...(random.next() < 0.15 ? { deletionPolicy: random.pick(["Delete", "Retain"]) } : {}),
  };
  if (random.next() < 0.25) return readOnly(branchId, more);
  return readWrite(branchId, {
    ...more,
    ...(random.next() < 0.2
      ? { adoption: { policy: "AdoptOrCreate", ...(random.next() < 0.3 ? { takeOver: true } : {}) } }
      : {}),
  });
}

interface Subject {
  readonly name: string;
  readonly spec: JsonObject;
}

function randomAction(random: SeededRandom, kind: ActionKind, { name, spec }: Subject): Action {
  const branchId = branch(random.below(3));
  switch (kind) {
    case "Edit":
      return { kind: "Apply", name, spec: { ...spec, ...size(random.pick([0.25, 0.5, 1, 2, 4])) } };
    case "Move":
      return { kind: "Apply", name, spec: { ...spec, branchId } };
    case "Observe":
      return { kind: "Apply", name, spec: { ...spec, management: random.pick(["Observe", "Observe", "Manage"]) } };
    case "Delete":
      return { kind: "Delete", name };
    case "Recreate":
      return { kind: "Recreate", name, spec };
    case "Pause":
      return { kind: "Annotate", name, annotations: { [annotations.paused]: random.next() < 0.6 ? "true" : null } };
    case "Touch": {
      const value = String(random.below(1_000));
      return { kind: "Annotate", name, annotations: { [annotations.reconcileRequestedAt]: value } };
    }
    case "RestoreWithoutStatus":
      return { kind: "RestoreWithoutStatus", name };
    case "Power": {
      const annotation = random.pick([annotations.wakeRequestedAt, annotations.suspendRequestedAt]);
      return { kind: "Annotate", name, annotations: { [annotation]: String(random.below(1_000)) } };
    }
    case "Resolve": {
      const value = random.pick(["abandon=unknown", "adopt=ep-unknown-1", null]);
      return { kind: "Annotate", name, annotations: { [annotations.resolveCreate]: value } };
    }
    case "LoseStatus":
      return { kind, name };
    case "PersonMoves":
      return { kind: "PersonChanges", branchId, changes: { branchId: branch(random.below(4)) } };
    case "PersonReplaces":
      return { kind: "PersonReplaces", branchId };
    case "OtherCluster":
      return { kind: "OtherClusterCreates", branchId, name: "orders-k8s-abcdefabcdefabcdefabcd" };
    case "PersonCreates": {
      const type = random.pick(["ReadWrite", "ReadOnly"] as const);
      return { kind: "PersonCreates", projectId: places.project, creation: { branchId, type, name: "by-hand" } };
    }
    case "PersonChanges":
      return { kind: "PersonChanges", branchId, changes: { minUnits: 1, maxUnits: 1 } };
    case "PersonDeletes":
    case "PersonSuspends":
      return { kind, branchId };
    case "FailNext":
      return { kind, action: random.pick(["start_compute", "apply_config", "suspend_compute"] as const) };
    default:
      return randomHarm(random, kind, branchId);
  }
}

/** What harms the operator or one of its servers. */
export type Harm = (typeof harms)[number] | "Unreadable";

export function randomHarm(random: SeededRandom, kind: Harm, branchId: string): Action {
  const replica = random.below(2);
  switch (kind) {
    case "ListLag":
      return { kind, lagMs: random.pick([0, 1_000, 5_000]) };
    case "Disguise":
      return random.pick<Action>([
        { kind: "DisguiseNext", status: "running" },
        { kind: "DisguiseNext", status: "somewhere" },
        { kind: "DisguiseNext", isBroken: true },
      ]);
    case "WatchLag":
      return { kind, lagMs: random.pick([5, 2_000, 15_000]) };
    case "WatchMute":
      return { kind, replica };
    case "WatchLoss":
      return { kind, lostPerMille: random.pick([0, 200]), repeatedPerMille: random.pick([0, 300]) };
    case "WatchCut":
      return { kind, cut: random.pick(["Reset", "End"] as const) };
    case "WatchBreak":
    case "Compact":
      return { kind };
    case "Crash":
      return { kind: random.next() < 0.4 ? "Stop" : kind, replica };
    case "PauseMachine":
      return { kind: "Pause", replica, durationMs: 5_000 + random.below(40_000) };
    case "Cut": {
      const server = random.pick(["API server", "control plane"] as const);
      return { kind, replica, server, isOn: random.next() < 0.6 };
    }
    case "Unreadable":
      return { kind, branchId, isOn: random.next() < 0.6 };
  }
}
