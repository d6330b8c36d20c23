/** Makes random runs with events that concern a whole service: the control plane, a project or the operator. */
import { createSeededRandom, type SeededRandom } from "../../support/seeded-random.ts";
import { type ClosedStatus, type EndedWork, type EngineAction, world as places } from "../control-plane/engine.ts";
import { annotations } from "../ports.ts";
import type { Action, Step } from "../run/actions.ts";
import type { RunPlan } from "../run/run.ts";
import type { WorldOptions } from "../run/world.ts";
import { rightClock } from "../time/machine.ts";
import { randomPlan } from "./random-plan.ts";
import { branch, size } from "./specs.ts";

/** What an upheaval adds to a run. */
interface Upheaval {
  readonly steps: readonly Step[];
  readonly world?: Partial<WorldOptions>;
}

type DrawUpheaval = (random: SeededRandom, base: RunPlan) => Upheaval;

/** Draws a plain random run with the same seed, and adds upheavals of one or several kinds. */
export function randomUpheavalPlan(seed: number): RunPlan {
  const random = createSeededRandom(seed * 1_597_334_677);
  const first = random.pick(upheavals);
  const base = randomPlan(seed);
  const drawn = upheavals.filter((kind) => kind === first || random.next() < 0.2).map((draw) => draw(random, base));
  const steps = [...base.steps, ...drawn.flatMap((upheaval) => upheaval.steps)].sort((a, b) => a.atMs - b.atMs);
  return {
    ...base,
    world: Object.assign({}, base.world, ...drawn.map(({ world }) => world)),
    steps,
    quietFromMs: Math.max(base.quietFromMs, (steps.at(-1)?.atMs ?? 0) + 30_000),
  };
}

/** What users do with the resource `orders`, which every run has, between two times. */
function stir(random: SeededRandom, { steps }: RunPlan, fromMs: number, toMs: number): readonly Step[] {
  const spec = steps.map(({ action }) => action).find((action) => action.kind === "Apply" && action.name === "orders");
  if (spec?.kind !== "Apply") return [];
  const orders = { name: "orders", spec: spec.spec };
  const { wakeRequestedAt, suspendRequestedAt } = annotations;
  return Array.from({ length: random.below(4) }, () => ({
    atMs: fromMs + random.below(toMs - fromMs),
    action: random.pick<Action>([
      { kind: "Apply", ...orders, spec: { ...orders.spec, ...size(random.pick([0.25, 0.5, 1, 2])) } },
      { kind: "Apply", ...orders, spec: { ...orders.spec, branchId: branch(random.below(4)) } },
      { kind: "Annotate", name: "orders", annotations: { [wakeRequestedAt]: String(random.below(1_000)) } },
      { kind: "Annotate", name: "orders", annotations: { [suspendRequestedAt]: String(random.below(1_000)) } },
      { kind: "FailNext", action: "apply_config" },
      { kind: "Recreate", ...orders },
      { kind: "PersonDeletes", branchId: String(orders.spec.branchId) },
    ]),
  }));
}

/** A time at which users are still active. */
const anyMs = (random: SeededRandom): number => 5_000 + random.below(250_000);

/** A project moves to an account that the key cannot reach, and comes back: soon, or after `ProjectNotFound`. */
const transfer: DrawUpheaval = (random, base) => {
  const atMs = anyMs(random);
  const backMs = atMs + random.pick([5_000, 60_000, 400_000]);
  const move = (status: 403 | 404 | null): Action => ({ kind: "Transfer", projectId: places.project, status });
  return {
    steps: [
      { atMs, action: move(random.pick([403, 404, 404] as const)) },
      { atMs: backMs, action: move(null) },
      ...stir(random, base, atMs - 4_000, backMs + 4_000),
    ],
  };
};

/** Fields of which an earlier version may have known nothing. All are optional. */
const addedFields = [
  "spec.suspend",
  "spec.settings",
  "status.acknowledged.operationIds",
  "status.createIntent.fields",
  "status.createIntent.serviceTime",
  "status.createIntent.suspectIds",
  "status.failedActions",
  "status.lastActiveTime",
  "status.lastHandledReconcileAt",
  "status.lastHandledSuspendAt",
  "status.lastHandledWakeAt",
  "status.operationWatermark.branch",
  "status.operationWatermark.formerEndpointId",
  "status.pendingState",
] as const;

/** CRD and operator are upgraded one after the other; some upgrades are taken back and done again. */
const upgrade: DrawUpheaval = (random, base) => {
  const { machines } = base.world;
  const crdMs = anyMs(random);
  const rollOut = (fromMs: number, isOld: boolean): readonly Step[] =>
    [0, 1].map((replica) => ({ atMs: fromMs + random.below(30_000), action: { kind: "RollOut", replica, isOld } }));
  const isTakenBack = random.next() < 0.3;
  const afterMs = crdMs + random.below(20_000);
  return {
    world: {
      machines: [machines[0] ?? rightClock, machines[1] ?? rightClock],
      hasElection: true,
      newFields: addedFields.filter(() => random.next() < 0.3),
    },
    steps: [
      { atMs: crdMs, action: { kind: "UpgradeCrd" } },
      ...rollOut(afterMs, false),
      ...(isTakenBack ? [...rollOut(afterMs + 40_000, true), ...rollOut(afterMs + 90_000, false)] : []),
      ...stir(random, base, afterMs - 5_000, afterMs + 120_000),
    ],
  };
};

const actions: readonly EngineAction[] = [
  "apply_config",
  "apply_storage_config",
  "check_availability",
  "create_branch",
  "create_timeline",
  "delete_tenant",
  "start_compute",
  "suspend_compute",
];

/** Operations of every action end without an effect. */
const closedOperations: DrawUpheaval = (random) => ({
  steps: Array.from({ length: 2 + random.below(6) }, () => {
    const status = random.pick<ClosedStatus>(["cancelled", "skipped"]);
    const action = random.pick(actions);
    const work: EndedWork = { action, status, isOfBranch: random.next() < 0.3 };
    return {
      atMs: random.below(250_000),
      action: random.pick<Action>([
        { kind: "EndNext", action: random.pick(["apply_config", "start_compute", "suspend_compute"]), status },
        { kind: "EndNext", action, status },
        { kind: "Maintain", branchId: branch(random.below(3)), count: 1 + random.below(3), work },
        { kind: "DisguiseNext", status: "cancelling" },
      ]),
    };
  }),
});

/** The control plane's clock jumps by hours, and the leader changes within the same seconds. */
const clockJumps: DrawUpheaval = (random, { world: { machines, controlPlaneClock } }) => {
  const jumps = Array.from({ length: 1 + random.below(3) }, () => ({
    fromMs: anyMs(random),
    byMs: random.pick([-6, -2, -1, 1, 2, 6]) * 3_600_000,
  }));
  const near = (fromMs: number) => Math.max(0, fromMs - 3_000 + random.below(6_000));
  return {
    world: {
      machines: [machines[0] ?? rightClock, machines[1] ?? rightClock],
      hasElection: true,
      controlPlaneClock: {
        ...controlPlaneClock,
        steps: [...controlPlaneClock.steps, ...jumps].sort((a, b) => a.fromMs - b.fromMs),
      },
    },
    steps: jumps.flatMap(({ fromMs }): readonly Step[] => {
      const end = random.pick(["Crash", "Stop"] as const);
      const pause: Action = { kind: "Pause", replica: random.below(2), durationMs: 20_000 + random.below(20_000) };
      return [
        { atMs: near(fromMs), action: { kind: end, replica: random.below(2) } },
        ...(random.next() < 0.5 ? [{ atMs: near(fromMs), action: pause }] : []),
      ];
    }),
  };
};

/** The control plane loses what happened since its backup: new endpoints and operations vanish, old ones come back. */
const restore: DrawUpheaval = (random, base) => {
  const backUpMs = random.below(150_000);
  const restoreMs = backUpMs + 5_000 + random.below(150_000);
  const reusesIds = random.next() < 0.3;
  return {
    steps: [
      { atMs: backUpMs, action: { kind: "BackUpControlPlane" } },
      { atMs: restoreMs, action: { kind: "RestoreControlPlane", reusesIds } },
      ...stir(random, base, backUpMs, restoreMs + 1_000),
    ],
  };
};

const upheavals: readonly DrawUpheaval[] = [transfer, upgrade, closedOperations, clockJumps, restore];
