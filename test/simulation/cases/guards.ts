/** Named cases that would fail if a safeguard became weaker. */
import { world as places } from "../control-plane/engine.ts";
import { annotations } from "../ports.ts";
import { planOf } from "../run/plain-plan.ts";
import { conditionOf } from "../run/settled.ts";
import { ownershipOf } from "../run/stored-records.ts";
import { rightClock } from "../time/machine.ts";
import { branch, readWrite, size } from "../workloads/specs.ts";
import { apply, at, type NamedCase, remove, wasReadyBy } from "./named-case.ts";

const byHand = (atMs: number, branchId: string) =>
  ({
    atMs,
    action: {
      kind: "PersonCreates",
      projectId: places.project,
      creation: { branchId, type: "ReadWrite", name: "by-hand" },
    },
  }) as const;

/** Safeguards that work today. If a change weakens one, its case fails. */
export const guardCases: readonly NamedCase[] = [
  {
    id: "many reads and budget",
    name: "many reads are due and the budget is small → it is never exceeded, and all become Ready",
    why: "the account of the whole company is throttled",
    plan: planOf({
      world: { settings: { CONTROL_PLANE_REQUESTS_PER_MINUTE: "30", CONTROL_PLANE_REQUESTS_PER_SECOND: "5" } },
      steps: [
        apply(1_000, "orders", readWrite(branch(1))),
        apply(1_500, "billing", readWrite(branch(2))),
        apply(2_000, "free", { projectId: places.freeProject, branchId: places.freeBranches[1], type: "ReadWrite" }),
      ],
      quietFromMs: 600_000,
    }),
  },
  {
    id: "adopted and gone",
    name: "another client deletes an adopted endpoint → EndpointGone, and nothing is created in its place",
    why: "an empty database appears under the name of one that a person has deleted",
    plan: planOf({
      steps: [
        byHand(500, branch(1)),
        apply(5_000, "orders", readWrite(branch(1), { adoption: { policy: "AdoptOnly" } })),
        at(30_000, { kind: "PersonDeletes", branchId: branch(1) }),
        at(40_000, { kind: "Annotate", name: "orders", annotations: { [annotations.reconcileRequestedAt]: "1" } }),
      ],
    }),
    judge: (world) => {
      const stored = world.stored("orders");
      const reason = stored && conditionOf(stored, "Stalled")?.reason;
      return reason === "EndpointGone" ? [] : [`S10: Stalled is ${reason}`];
    },
  },
  {
    id: "observed",
    name: "a managed endpoint is only observed from now on, a person resizes it, the resource is deleted → nothing is sent",
    why: "a person asked the operator to look only, and it restarts or deletes the database",
    plan: planOf({
      steps: [
        apply(1_000, "orders", readWrite(branch(1), size(1))),
        apply(30_000, "orders", readWrite(branch(1), { ...size(2), management: "Observe", deletionPolicy: "Delete" })),
        at(60_000, { kind: "PersonChanges", branchId: branch(1), changes: { minUnits: 0.5, maxUnits: 0.5 } }),
        remove(120_000, "orders"),
      ],
    }),
    judge: (world) => {
      const late = world.log.entries.filter(
        ({ atMs, text }) => atMs > 30_000 && /to (update|delete) the endpoint/.test(text),
      );
      const sizes = world.endpoints().map(({ minUnits }) => minUnits);
      const isGone = world.stored("orders") === undefined;
      return late.length === 0 && isGone && sizes.length === 1 && sizes[0] === 0.5
        ? []
        : [`S1: ${late.length} ${sizes}`];
    },
  },
  {
    id: "lost event",
    name: "the watch loses the event of a new resource → one relist period later it is made up for",
    why: "a resource is never looked at",
    plan: planOf({
      steps: [
        apply(1_000, "orders", readWrite(branch(1))),
        at(20_000, { kind: "WatchLoss", lostPerMille: 1_000, repeatedPerMille: 0 }),
        apply(30_000, "billing", readWrite(branch(2))),
        at(31_000, { kind: "WatchLoss", lostPerMille: 0, repeatedPerMille: 0 }),
      ],
      quietFromMs: 40_000,
    }),
    judge: (world) => (wasReadyBy(world, "billing", 700_000) ? [] : ["L5: not Ready one relist period later"]),
  },
  {
    id: "elder",
    name: "two resources find one endpoint to adopt at once → the older one gets it",
    why: "which resource owns a database depends on chance",
    plan: planOf({
      steps: [
        byHand(100, branch(1)),
        at(200, { kind: "Cut", replica: 0, server: "control plane", isOn: true }),
        apply(1_000, "orders", readWrite(branch(1), { adoption: { policy: "AdoptOrCreate" } })),
        apply(5_000, "billing", readWrite(branch(1), { adoption: { policy: "AdoptOrCreate" } })),
        at(20_000, { kind: "Cut", replica: 0, server: "control plane", isOn: false }),
      ],
    }),
    judge: (world) => {
      const stored = world.stored("orders");
      return stored && ownershipOf(stored) !== undefined ? [] : ["S3: the younger one has it"];
    },
  },
  {
    id: "standby",
    name: "a resource comes every 300 ms while a second replica stands by → the first one alone writes",
    why: "two replicas write at once",
    plan: planOf({
      world: { machines: [rightClock, rightClock], hasElection: true },
      steps: Array.from({ length: 60 }, (_, at) =>
        apply(500 + 300 * at, `replica-${at}`, { ...readWrite(branch(1)), type: "ReadOnly" }),
      ),
    }),
  },
];
