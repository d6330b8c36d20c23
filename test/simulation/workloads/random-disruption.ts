/** Makes random runs of hours with windows, approvals and schedules, also over the change of clocks. */
import { createSeededRandom, type SeededRandom } from "../../support/seeded-random.ts";
import type { JsonObject } from "../kubernetes/merge-patch.ts";
import { annotations } from "../ports.ts";
import type { Action, Step } from "../run/actions.ts";
import type { RunPlan } from "../run/run.ts";
import { epochMs } from "../time/machine.ts";
import { type Harm, randomHarm, randomPlanOf, watchHarms } from "./random-plan.ts";
import { branch, readWrite, size } from "./specs.ts";

/** Users and faults act during this time. */
const busyMs = 150 * 60_000;

/** When a run begins, what begins during it, and when the second of these does. No begin is in the hour that clocks skip or repeat. */
const days = [
  // Clocks go back at 01:00 UTC.
  { startMs: Date.UTC(2026, 9, 25, 0, 0), begins: ["30 1 * * *", "15 3 * * *"], opensMs: 8_100_000 },
  // Clocks go forward at 01:00 UTC.
  { startMs: Date.UTC(2026, 2, 29, 0, 15), begins: ["30 1 * * *", "30 3 * * *"], opensMs: 4_500_000 },
  { startMs: Date.UTC(2026, 5, 15, 10, 0), begins: ["20 12 * * *", "0 13 * * *"], opensMs: 3_600_000 },
] as const;
type Day = (typeof days)[number];

export function randomDisruptionPlan(seed: number): RunPlan {
  const random = createSeededRandom(seed * 1_540_483_477);
  const day = random.pick(days);
  const plan = randomPlanOf(random, { seed, busyMs }, () => randomSteps(random, day));
  const offsetMs = day.startMs - epochMs;
  const { machines, controlPlaneClock } = plan.world;
  const world = {
    ...plan.world,
    machines: machines.map((clock) => ({ ...clock, offsetMs })),
    controlPlaneClock: { ...controlPlaneClock, offsetMs },
    ...(random.next() < 0.2 && { amnesia: { rate: 0.3, stretches: [] } }),
  };
  return { ...plan, world };
}

const names = ["orders", "billing"] as const;

function randomSteps(random: SeededRandom, day: Day): readonly Step[] {
  const used = names.slice(0, 1 + random.below(2));
  const specs = new Map(used.map((name, at) => [name, randomSpec(random, day, branch(at + 1))]));
  const steps: Step[] = used.map((name) => ({
    atMs: 1_000 + random.below(20_000),
    action: { kind: "Apply", name, spec: specs.get(name) as JsonObject },
  }));
  const kinds = actionKinds.filter(() => random.next() < 0.7);
  for (let at = 0; at < 24 && kinds.length > 0; at += 1) {
    const name = random.pick(used);
    const atMs = 30_000 + random.below(busyMs - 30_000);
    const spec = specs.get(name) as JsonObject;
    const actions = randomActions(random, random.pick(kinds), { name, spec, day });
    steps.push(...actions.map((action, index) => ({ atMs: atMs + index * 40_000, action })));
    const [first] = actions;
    if (first?.kind === "Apply") specs.set(name, first.spec);
  }
  for (const [at, name] of used.entries()) {
    if (random.next() < 0.5)
      steps.push(
        ...stepsAroundOpening(day, { name, spec: specs.get(name) as JsonObject, at, isForced: random.next() < 0.5 }),
      );
  }
  return steps.filter(({ atMs }) => atMs < busyMs).sort((a, b) => a.atMs - b.atMs);
}

interface Opening {
  readonly name: string;
  readonly spec: JsonObject;
  readonly at: number;
  readonly isForced: boolean;
}

/** A compute stays active while a wait ends, by a window or by force, and shortly before that its size shall change. */
function stepsAroundOpening({ opensMs, begins }: Day, { name, spec, at, isForced }: Opening): Step[] {
  const works = Array.from({ length: 16 }, (_, each) => ({
    atMs: opensMs - 400_000 + each * 100_000,
    action: { kind: "PersonConnects" as const, branchId: branch(at + 1) },
  }));
  const { schedules: _before, ...others } = spec;
  const windows = [{ schedule: begins[1], durationSeconds: 900, timeZone: "Europe/Berlin" }];
  const forced = { when: "WhenIdle", forceAfterSeconds: 600 };
  const changed = { ...others, ...size(3), disruption: isForced ? forced : { when: "InWindow", windows } };
  return [...works, { atMs: opensMs - 200_000, action: { kind: "Apply", name, spec: changed } }];
}

function randomSpec(random: SeededRandom, day: Day, branchId: string): JsonObject {
  return readWrite(branchId, {
    ...size(random.pick([0.25, 0.5, 1])),
    suspend: random.pick<JsonObject>([{ mode: "After", afterSeconds: 120 }, { mode: "Never" }]),
    ...randomPolicy(random, day),
  });
}

function randomPolicy(random: SeededRandom, { begins }: Day): JsonObject {
  const when = random.pick(["Immediately", "WhenIdle", "WhenIdle", "InWindow", "InWindow"]);
  const recurring = () => ({
    schedule: random.pick(begins),
    durationSeconds: random.pick([900, 3_600, 7_200]),
    timeZone: "Europe/Berlin",
  });
  const schedules = [
    { name: "small", ...recurring(), suspend: { mode: "After", afterSeconds: 300 } },
    { name: "large", ...recurring(), ...(when === "InWindow" ? { suspend: { mode: "Never" } } : size(2, 4)) },
  ];
  return {
    disruption: {
      when,
      windows: [recurring(), ...(random.next() < 0.3 ? [recurring()] : [])],
      ...(random.next() < 0.4 && { approval: "Required" }),
      ...(random.next() < 0.4 && { forceAfterSeconds: random.pick([600, 3_600]) }),
    },
    ...(random.next() < 0.5 && { schedules: schedules.slice(random.below(2)) }),
  };
}

const harms = ["ListLag", ...watchHarms, "Crash", "PauseMachine", "Cut"] as const satisfies readonly Harm[];
const actionKinds = [
  ...[
    "Edit",
    "Edit",
    "Edit",
    "Move",
    "Policy",
    "Work",
    "Work",
    "Suspend",
    "Drift",
    "Approve",
    "Approve",
    "WrongApproval",
  ],
  ...["Pause", "LoseStatus", ...harms],
] as const;

interface Subject {
  readonly name: string;
  readonly spec: JsonObject;
  readonly day: Day;
}

/** Actions that follow each other after 40 s. */
function randomActions(random: SeededRandom, kind: string, { name, spec, day }: Subject): readonly Action[] {
  const branchId = String(spec.branchId);
  const apply = (change: JsonObject): readonly Action[] => [{ kind: "Apply", name, spec: { ...spec, ...change } }];
  switch (kind) {
    case "Edit":
      return apply(size(random.pick([0.25, 0.5, 1, 4])));
    case "Move":
      return apply({ branchId: branch(3) });
    case "Policy": {
      const { schedules: _before, ...others } = spec;
      return [{ kind: "Apply", name, spec: { ...others, ...randomPolicy(random, day) } }];
    }
    case "Work":
      return Array.from({ length: 3 + random.below(40) }, () => ({ kind: "PersonConnects", branchId }));
    case "Suspend":
      return [{ kind: "PersonSuspends", branchId }];
    case "Drift":
      return [{ kind: "PersonChanges", branchId, changes: { minUnits: 8, maxUnits: 8 } }];
    case "Approve":
      return [{ kind: "PersonApproves", name }];
    case "WrongApproval":
      return [{ kind: "Annotate", name, annotations: { [annotations.approveChange]: "0123456789abcdef" } }];
    case "Pause":
      return ["true", null].map((value) => ({ kind: "Annotate", name, annotations: { [annotations.paused]: value } }));
    case "LoseStatus":
      return [{ kind, name }];
    default:
      return [randomHarm(random, kind as Harm, branchId)];
  }
}
