/** Named cases of counting: every ended operation is counted once, whatever ends or hides in between. */
import type { Step } from "../run/actions.ts";
import { planOf } from "../run/plain-plan.ts";
import { branch, readOnly, readWrite, size } from "../workloads/specs.ts";
import { apply, at, type NamedCase } from "./named-case.ts";

/** Makes one step at each of these times. The times and the steps do not repeat together, so many pairs occur. */
const every = (intervalMs: number, count: number, step: (at: number) => Step["action"]): readonly Step[] =>
  Array.from({ length: count }, (_, at) => ({ atMs: 30_000 + at * intervalMs, action: step(at) }));

const sizes = [0.25, 0.5, 1, 2];

/** Causes operations: edits, changes of other clients, checks of the control plane, and failures. */
const busySteps: readonly Step[] = [
  apply(1_000, "orders", readWrite(branch(1))),
  apply(2_000, "billing", readWrite(branch(2))),
  apply(3_000, "search", readOnly(branch(1))),
  ...every(11_000, 40, (at) => ({
    kind: "Apply",
    name: "orders",
    spec: readWrite(branch(1), size(sizes[at % 4] as number)),
  })),
  ...every(13_000, 35, (at) => ({
    kind: "PersonChanges",
    branchId: branch(2),
    changes: { minUnits: sizes[at % 3] as number, maxUnits: 2 },
  })),
  ...every(83_000, 6, (at) => ({ kind: "Apply", name: "billing", spec: readWrite(branch(2 + (at % 2))) })),
  ...every(119_000, 4, () => ({ kind: "PersonDeletes", branchId: branch(3) })),
  ...every(17_000, 25, () => ({ kind: "PersonSuspends", branchId: branch(1) })),
  ...every(29_000, 15, (at) => ({
    kind: "FailNext",
    action: (["apply_config", "start_compute", "suspend_compute"] as const)[at % 3] as "apply_config",
  })),
  // A successful check changes only the watermark.
  ...every(31_000, 14, (at) => ({ kind: "Maintain", branchId: branch(1 + (at % 2)), count: 1 })),
  ...every(37_000, 12, (at) => ({ kind: "ListLag", lagMs: [0, 500, 4_000][at % 3] as number })),
];

/** Operations must be counted exactly. The oracle of counting judges them. */
export const countCases: readonly NamedCase[] = [
  {
    id: "stops",
    name: "the operator is stopped and started again and again → each ended operation is counted once",
    why: "a rollout of the operator changes the numbers on the dashboard",
    plan: planOf({
      steps: [
        ...busySteps,
        ...every(7_300, 60, () => ({ kind: "Stop", replica: 0 })),
        // Nothing else changes after these checks, so their counts alone must be stored.
        at(520_000, { kind: "Maintain", branchId: branch(1), count: 20 }),
      ],
      quietFromMs: 600_000,
    }),
  },
  {
    id: "long outage",
    name: "more operations end while the control plane cannot be reached than a page shows → each is counted once",
    why: "the operations of an outage are what a person looks for afterwards",
    plan: planOf({
      steps: [
        apply(1_000, "orders", readWrite(branch(1))),
        at(25_000, { kind: "Cut", replica: 0, server: "control plane", isOn: true }),
        ...every(3_000, 150, (at) => ({
          kind: "PersonChanges",
          branchId: branch(1),
          changes: { minUnits: sizes[at % 2] as number, maxUnits: 2 },
        })),
        at(300_000, { kind: "Stop", replica: 0 }),
        at(490_000, { kind: "Cut", replica: 0, server: "control plane", isOn: false }),
      ],
      quietFromMs: 520_000,
    }),
  },
];
