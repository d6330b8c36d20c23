/** Named cases about which resource owns an endpoint. */
import { planOf } from "../run/plain-plan.ts";
import { rightClock } from "../time/machine.ts";
import { branch, readWrite, size } from "../workloads/specs.ts";
import { apply, at, type NamedCase, refusalProblems, wasReadyBy } from "./named-case.ts";

const adopting = (policy: "AdoptOrCreate" | "AdoptOnly") => ({ adoption: { policy } });

/** Cases about which resource owns an endpoint. */
export const ownerCases: readonly NamedCase[] = [
  {
    id: "new leader without events",
    name: "a new leader whose watch sent nothing finds an endpoint that another resource owns → it lists before it acts",
    why: "two owners fight over one database, and deleting one resource deletes the other's database",
    plan: planOf({
      world: { machines: [rightClock, rightClock], hasElection: true },
      steps: [
        at(1, { kind: "Crash", replica: 1 }),
        apply(5_000, "orders", readWrite(branch(1), { ...adopting("AdoptOnly"), ...size(2) })),
        at(10_000, { kind: "WatchMute", replica: 1 }),
        apply(11_000, "billing", readWrite(branch(1), size(1))),
        at(20_000, { kind: "Crash", replica: 0 }),
      ],
    }),
  },
  {
    id: "token of another cluster",
    name: "an endpoint carries the token of another cluster → AdoptOrCreate does not take it",
    why: "two clusters fight over one database",
    plan: planOf({
      steps: [
        at(500, { kind: "OtherClusterCreates", branchId: branch(1), name: "orders-k8s-abcdefabcdefabcdefabcd" }),
        apply(10_000, "orders", readWrite(branch(1), adopting("AdoptOrCreate"))),
      ],
    }),
  },
  {
    id: "unreadable endpoint",
    name: "one endpoint of a list cannot be read → other resources of its project become Ready, and it is not created again",
    why: "one malformed object stops all work on a project, or counts as absent",
    plan: planOf({
      steps: [
        apply(1_000, "orders", readWrite(branch(1))),
        at(20_000, { kind: "Unreadable", branchId: branch(1), isOn: true }),
        apply(30_000, "billing", readWrite(branch(2))),
      ],
      quietFromMs: 600_000,
    }),
    judge: (world) =>
      world.endpoints().length === 2 && wasReadyBy(world, "billing", 500_000) ? [] : ["L1: billing had to wait"],
  },
  {
    id: "deletion refused",
    name: "a DELETE is refused for three hours → Stalled once, few status writes, one Warning",
    why: "hundreds of writes and events for nothing, and no condition that says what is wrong",
    plan: planOf({
      faults: { kind: "Always", words: "DELETE ", fault: { kind: "Refused", status: 422 } },
      steps: [apply(1_000, "orders", readWrite(branch(1))), at(20_000, { kind: "Delete", name: "orders" })],
      quietFromMs: 20_000 + 3 * 3_600_000,
    }),
    judge: (world, plan) => refusalProblems(world, plan, 20_000),
  },
  ...[400, 409].map(
    (status): NamedCase => ({
      id: `create refused with ${status}`,
      name: `a create is refused with ${status} for three hours → Stalled once, few status writes, one Warning`,
      why: "a resource that leaves and enters Stalled with every try wakes people in the night",
      plan: planOf({
        faults: { kind: "Always", words: "POST ", fault: { kind: "Refused", status } },
        steps: [apply(1_000, "orders", readWrite(branch(1)))],
        quietFromMs: 1_000 + 3 * 3_600_000,
      }),
      judge: (world, plan) => refusalProblems(world, plan, 1_000),
    }),
  ),
];
