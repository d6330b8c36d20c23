/** Named cases with wrong clocks. */
import type { ControlPlaneClock } from "../control-plane/calendar.ts";
import { rightControlPlaneClock } from "../control-plane/calendar.ts";
import { ownershipOf } from "../run/stored-records.ts";
import { branch, readWrite, size } from "../workloads/specs.ts";
import { type NamedCase, planOf, wasReadyBy } from "./named-case.ts";

const hourMs = 3_600_000;
const clock = (parts: Partial<ControlPlaneClock>) => ({ controlPlaneClock: { ...rightControlPlaneClock, ...parts } });
const apply = (atMs: number, name: string, spec: ReturnType<typeof readWrite>) =>
  ({ atMs, action: { kind: "Apply", name, spec } }) as const;

/** Cases with wrong clocks, of the control plane or of the operator's machines. */
export const clockCases: readonly NamedCase[] = [
  {
    id: "clock back, edit",
    name: "the control plane's clock steps back an hour → an edit is Ready within minutes",
    why: "a resource is Not Ready for an hour although its database is as it should be",
    plan: planOf({
      world: {
        ...clock({ steps: [{ fromMs: 5_000, byMs: -hourMs }] }),
        operationLatencyMs: { min: 15_000, max: 20_000 },
      },
      steps: [apply(1_000, "orders", readWrite(branch(1))), apply(60_000, "orders", readWrite(branch(1), size(2)))],
    }),
  },
  {
    id: "clock back, deletion",
    name: "the control plane's clock steps back an hour → a deletion ends",
    why: "the deletion never starts, and the namespace cannot be removed",
    plan: planOf({
      world: clock({ steps: [{ fromMs: 30_000, byMs: -hourMs }] }),
      steps: [
        apply(1_000, "orders", readWrite(branch(1))),
        apply(60_000, "orders", readWrite(branch(1), size(2))),
        { atMs: 90_000, action: { kind: "Delete", name: "orders" } },
      ],
    }),
  },
  {
    id: "two clocks",
    name: "two machines of the control plane differ by a minute → Ready soon after the operation has ended",
    why: "a finished operation counts as running, because an older answer carries a later time",
    plan: planOf({
      world: clock({ secondMachineMs: 60_000, steps: [{ fromMs: 8_000, byMs: -60_000 }] }),
      steps: [apply(7_000, "orders", readWrite(branch(1)))],
    }),
    judge: (world) => (wasReadyBy(world, "orders", 80_000) ? [] : ["L1: not Ready within 73 seconds"]),
  },
  {
    id: "operation dated ahead",
    name: "an operation that is dated ahead never ends → the resource can be deleted",
    why: "a wrong record of the control plane blocks the deletion of a namespace for hours",
    plan: planOf({
      steps: [
        apply(1_000, "orders", readWrite(branch(1))),
        { atMs: 30_000, action: { kind: "DisguiseNext", status: "running", aheadMs: 3 * hourMs } },
        apply(31_000, "orders", readWrite(branch(1), size(2))),
        { atMs: 60_000, action: { kind: "Delete", name: "orders" } },
      ],
      quietFromMs: 900_000,
    }),
    judge: ({ history }) => {
      const goneMs = Math.max(0, ...history.goneMs.values());
      return goneMs > 0 && goneMs < 900_000 ? [] : ["L8: the endpoint is still there after 14 minutes"];
    },
  },
  {
    id: "clock a year ahead",
    name: "our clock was a year ahead when a change was acknowledged, and is set right → drift is mended within a resync",
    why: "the next look at the database is due in a year",
    plan: planOf({
      world: { machines: [{ offsetMs: 365 * 24 * hourMs, rate: 1 }] },
      steps: [
        apply(1_000, "orders", readWrite(branch(1), size(1))),
        { atMs: 60_000, action: { kind: "StepClock", replica: 0, byMs: -365 * 24 * hourMs } },
        { atMs: 90_000, action: { kind: "PersonChanges", branchId: branch(1), changes: { minUnits: 2, maxUnits: 2 } } },
      ],
    }),
  },
  {
    id: "clock three hours ahead",
    name: "the control plane is three hours ahead, and one apply_config fails → the database is restarted few times",
    why: "eight restarts in three hours, each of which drops every connection",
    plan: planOf({
      world: clock({ offsetMs: 3 * hourMs }),
      steps: [
        apply(1_000, "orders", readWrite(branch(1), size(1))),
        { atMs: 30_000, action: { kind: "FailNext", action: "apply_config" } },
        apply(31_000, "orders", readWrite(branch(1), size(2))),
      ],
      quietFromMs: 3 * hourMs,
    }),
    judge: (world) => {
      const changes = world.log.entries.filter(({ text }) => text.includes("asks the control plane to update")).length;
      return changes <= 3 ? [] : [`L1: ${changes} changes were sent`];
    },
  },
  ...[
    { id: "clock behind, failed change", words: "behind", clock: { offsetMs: -3 * hourMs } },
    { id: "whole seconds, failed change", words: "in whole seconds", clock: { wholeSeconds: true } },
  ].map(
    (row): NamedCase => ({
      id: row.id,
      name: `the control plane's times are ${row.words}, and an apply_config fails and is undone → the change is sent again`,
      why: "DriftPersists in place of another try: a person has to act on a failure that was over in a second",
      plan: planOf({
        world: clock(row.clock),
        steps: [
          apply(1_000, "orders", readWrite(branch(1), size(1))),
          { atMs: 30_000, action: { kind: "FailNext", action: "apply_config", isReverted: true } },
          apply(31_000, "orders", readWrite(branch(1), size(2))),
        ],
        quietFromMs: 900_000,
      }),
      judge: (world) => {
        const stored = world.stored("orders");
        const id = stored && ownershipOf(stored)?.endpointId;
        const units = world.endpoints().find((endpoint) => endpoint.id === id)?.minUnits;
        return units === 2 ? [] : [`L1: the size is ${units}, not 2`];
      },
    }),
  ),
];
