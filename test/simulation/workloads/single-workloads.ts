/** The workloads: short sequences of actions of users and clients, without faults. */
import { world as places } from "../control-plane/engine.ts";
import { annotations } from "../ports.ts";
import type { Action, Step } from "../run/actions.ts";
import { branch, readOnly, readWrite, size } from "./specs.ts";

/** A sequence of actions of users and clients in which no fault happens. */
export interface Workload {
  readonly name: string;
  readonly steps: readonly Step[];
  /** How long one operation runs. @default 300 to 1000 */
  readonly operationLatencyMs?: { readonly min: number; readonly max: number };
}

/**
 * Makes a step. The time between two steps is long, so that everything that a fault has delayed ends before the next
 * step. Some workloads need shorter times.
 */
const at = (slot: number, action: Action): Step => ({ atMs: slot * 30_000 - 29_000, action });
const soon = (seconds: number, action: Action): Step => ({ atMs: seconds * 1_000, action });
const apply = (slot: number, name: string, spec: ReturnType<typeof readWrite>) =>
  at(slot, { kind: "Apply", name, spec });
const remove = (slot: number, name: string) => at(slot, { kind: "Delete", name });
const pause = (slot: number, name: string, isOn: boolean) =>
  at(slot, { kind: "Annotate", name, annotations: { [annotations.paused]: isOn ? "true" : null } });
const byHand = (slot: number, branchId: string, type: "ReadWrite" | "ReadOnly") =>
  at(slot, { kind: "PersonCreates", projectId: places.project, creation: { branchId, type, name: "by-hand" } });
const adopting = { adoption: { policy: "AdoptOrCreate" } };
const main = branch(0);
const orders = branch(1);
const staging = branch(2);

/** The workloads: every way in which resources are created, changed and deleted. */
export const workloads: readonly Workload[] = [
  { name: "create", steps: [apply(1, "a", readWrite(orders))] },
  { name: "create with a size", steps: [apply(1, "a", readWrite(orders, size(2)))] },
  { name: "create a replica", steps: [apply(1, "a", readOnly(main))] },
  {
    name: "create with everything",
    steps: [
      apply(
        1,
        "a",
        readWrite(orders, {
          ...size(0.5, 2),
          suspend: { mode: "After", afterSeconds: 120 },
          pooler: { enabled: true, mode: "Transaction" },
          settings: { pgSettings: { work_mem: "8MB" } },
        }),
      ),
    ],
  },
  { name: "create disabled", steps: [apply(1, "a", readWrite(orders, { disabled: true }))] },
  { name: "resize", steps: [apply(1, "a", readWrite(orders)), apply(10, "a", readWrite(orders, size(2)))] },
  {
    name: "change settings",
    steps: [
      apply(1, "a", readWrite(orders)),
      apply(10, "a", readWrite(orders, { settings: { pgSettings: { work_mem: "8MB" } } })),
    ],
  },
  { name: "move", steps: [apply(1, "a", readWrite(orders)), apply(10, "a", readWrite(staging))] },
  { name: "delete", steps: [apply(1, "a", readWrite(orders)), remove(10, "a")] },
  {
    name: "delete by policy",
    steps: [apply(1, "a", readWrite(orders, { deletionPolicy: "Delete" })), remove(10, "a")],
  },
  { name: "delete a replica", steps: [apply(1, "a", readOnly(main)), remove(10, "a")] },
  {
    name: "delete and retain",
    steps: [apply(1, "a", readWrite(orders, { deletionPolicy: "Retain" })), remove(10, "a")],
  },
  {
    name: "adopt and resize",
    steps: [byHand(1, orders, "ReadWrite"), apply(5, "a", readWrite(orders, { ...adopting, ...size(1) }))],
  },
  {
    name: "adopt and delete the resource",
    steps: [byHand(1, orders, "ReadWrite"), apply(5, "a", readWrite(orders, adopting)), remove(15, "a")],
  },
  {
    name: "adopt and delete the endpoint with it",
    steps: [
      byHand(1, orders, "ReadWrite"),
      apply(5, "a", readWrite(orders, { ...adopting, deletionPolicy: "Delete" })),
      remove(15, "a"),
    ],
  },
  {
    name: "an endpoint is there, then consent is given",
    steps: [
      byHand(1, orders, "ReadWrite"),
      apply(5, "a", readWrite(orders)),
      apply(15, "a", readWrite(orders, adopting)),
    ],
  },
  {
    name: "recreate under the same name",
    steps: [
      apply(1, "a", readWrite(orders)),
      at(10, { kind: "Recreate", name: "a", spec: readWrite(orders, size(1)) }),
    ],
  },
  {
    name: "pause, edit and go on",
    steps: [
      apply(1, "a", readWrite(orders)),
      pause(8, "a", true),
      apply(10, "a", readWrite(orders, size(1))),
      pause(15, "a", false),
    ],
  },
  { name: "two branches", steps: [apply(1, "a", readWrite(orders)), apply(2, "b", readWrite(staging))] },
  {
    name: "two resources want one branch, the first goes",
    steps: [apply(1, "a", readWrite(orders)), apply(5, "b", readWrite(orders)), remove(15, "a")],
  },
  {
    name: "two resources change places over a free branch",
    steps: [
      apply(1, "a", readWrite(orders)),
      apply(2, "b", readWrite(staging)),
      apply(20, "a", readWrite(main)),
      apply(40, "b", readWrite(orders)),
      apply(60, "a", readWrite(staging)),
    ],
  },
  {
    name: "another client deletes the endpoint",
    steps: [
      apply(1, "a", readWrite(orders)),
      at(10, { kind: "PersonDeletes", branchId: orders }),
      at(12, { kind: "Annotate", name: "a", annotations: { [annotations.reconcileRequestedAt]: "1" } }),
    ],
  },
  {
    name: "another client resizes the endpoint",
    steps: [
      apply(1, "a", readWrite(orders, size(1))),
      at(10, { kind: "PersonChanges", branchId: orders, changes: { minUnits: 2, maxUnits: 2 } }),
    ],
  },
  {
    name: "the start fails",
    steps: [soon(0.5, { kind: "FailNext", action: "start_compute" }), apply(1, "a", readWrite(orders))],
  },
  {
    name: "applying a change fails",
    steps: [
      apply(1, "a", readWrite(orders, size(1))),
      at(9, { kind: "FailNext", action: "apply_config" }),
      apply(10, "a", readWrite(orders, size(2))),
    ],
  },
  {
    name: "a writer and a replica on one branch",
    steps: [apply(1, "a", readWrite(orders)), apply(2, "b", readOnly(orders)), remove(20, "b")],
  },
  {
    name: "the free plan",
    steps: [apply(1, "a", { projectId: places.freeProject, branchId: places.freeBranches[1], type: "ReadWrite" })],
  },
  {
    name: "delete while it is being created",
    operationLatencyMs: { min: 15_000, max: 20_000 },
    steps: [apply(1, "a", readWrite(orders)), soon(5, { kind: "Delete", name: "a" })],
  },
  {
    name: "edit while it is being created",
    operationLatencyMs: { min: 15_000, max: 20_000 },
    steps: [apply(1, "a", readWrite(orders)), soon(5, { kind: "Apply", name: "a", spec: readWrite(orders, size(1)) })],
  },
];
