/** Named cases with creates whose answer is lost, late or refused. */
import { rightControlPlaneClock } from "../control-plane/calendar.ts";
import { world as places } from "../control-plane/engine.ts";
import { annotations } from "../ports.ts";
import type { Step } from "../run/actions.ts";
import { branch, readOnly, readWrite, size } from "../workloads/specs.ts";
import { type NamedCase, planOf, scripted, wasReadyBy } from "./named-case.ts";

const firstPost = `POST project of ${places.project} #1`;
const secondPost = `POST project of ${places.project} #2`;
const apply = (atMs: number, name: string, spec: ReturnType<typeof readWrite>) =>
  ({ atMs, action: { kind: "Apply", name, spec } }) as const;

/**
 * Returns steps: the endpoint of `orders` is created. Then etcd goes back to a state before its record, and no client
 * can parse the endpoint.
 */
const withoutOwnership = (spec: ReturnType<typeof readWrite>): readonly Step[] => [
  apply(1_000, "billing", readWrite(branch(3))),
  apply(4_000, "orders", spec),
  { atMs: 12_000, action: { kind: "Backup" } },
  { atMs: 119_000, action: { kind: "Unreadable", branchId: branch(1), isOn: true } },
  { atMs: 120_000, action: { kind: "Crash", replica: 0 } },
  { atMs: 120_500, action: { kind: "RestoreEtcd" } },
];

const answer = (atMs: number, value: string | null): Step => ({
  atMs,
  action: { kind: "Annotate", name: "orders", annotations: { [annotations.resolveCreate]: value } },
});

/** Cases with creates whose answer is lost, late or refused. */
export const createCases: readonly NamedCase[] = [
  {
    id: "late POST and deletion",
    name: "the first POST lands late, the resource is deleted meanwhile → no endpoint is left",
    why: "a database runs, costs money, and nothing in the cluster knows of it",
    plan: planOf({
      faults: scripted({ [firstPost]: { kind: "AppliedLate", afterMs: 100_000, asTimeout: false } }),
      steps: [
        apply(1_000, "orders", readWrite(branch(1))),
        { atMs: 40_000, action: { kind: "Delete", name: "orders" } },
      ],
    }),
  },
  {
    id: "late POST and move",
    name: "the first POST lands late, the resource is moved to another branch meanwhile → one endpoint",
    why: "the late endpoint lives on beside the one that the resource knows",
    plan: planOf({
      faults: scripted({ [firstPost]: { kind: "AppliedLate", afterMs: 100_000, asTimeout: false } }),
      steps: [apply(1_000, "orders", readWrite(branch(1))), apply(40_000, "orders", readWrite(branch(2)))],
    }),
  },
  {
    id: "late POST of a replica",
    name: "the POST of a replica lands late → no second one beside it",
    why: "the control plane refuses a second read-write endpoint, but takes any number of replicas",
    plan: planOf({
      world: { profile: "seed" },
      faults: scripted({ [firstPost]: { kind: "AppliedLate", afterMs: 100_000, asTimeout: true } }),
      steps: [apply(1_000, "orders", readOnly(branch(0)))],
    }),
  },
  {
    id: "late POST and clock",
    name: "the control plane's clock steps back before the POST of a replica lands → no second one beside it",
    why: "the endpoint is dated before the intent, and without a name only its date and fields could tell whose it is",
    plan: planOf({
      world: {
        profile: "seed",
        controlPlaneClock: { ...rightControlPlaneClock, steps: [{ fromMs: 30_000, byMs: -3_600_000 }] },
      },
      faults: scripted({ [firstPost]: { kind: "AppliedLate", afterMs: 60_000, asTimeout: false } }),
      steps: [apply(1_000, "orders", readOnly(branch(0)))],
    }),
  },
  {
    id: "answer lost beside a person's endpoint",
    name: "a person makes an endpoint after a list and before the intent, and the answer to the POST is lost → it stays theirs",
    why: "the operator changes and restarts another team's database",
    plan: planOf({
      world: { profile: "seed" },
      faults: scripted({ [secondPost]: { kind: "RequestLost", asTimeout: false } }),
      steps: [
        apply(1_000, "billing", readWrite(branch(3))),
        {
          atMs: 61_500,
          action: {
            kind: "PersonCreates",
            projectId: places.project,
            creation: { branchId: branch(1), type: "ReadWrite", name: "by-hand" },
          },
        },
        apply(63_000, "orders", readWrite(branch(1))),
        apply(90_000, "orders", readWrite(branch(1), size(2))),
      ],
    }),
  },
  {
    id: "status lost",
    name: "etcd goes back to a state without ownership, and the resource is deleted → its endpoint goes too",
    why: "the control plane shows the token, so the endpoint can be found",
    plan: planOf({
      world: { operationLatencyMs: { min: 15_000, max: 20_000 } },
      steps: [
        apply(1_000, "billing", readWrite(branch(3))),
        apply(4_000, "orders", readWrite(branch(1))),
        { atMs: 12_000, action: { kind: "Backup" } },
        { atMs: 120_000, action: { kind: "Crash", replica: 0 } },
        { atMs: 120_500, action: { kind: "RestoreEtcd" } },
        { atMs: 121_000, action: { kind: "Delete", name: "orders" } },
      ],
    }),
    judge: (world) =>
      world.endpoints().some(({ branchId }) => branchId === branch(1)) ? ["S4: the endpoint lives on"] : [],
  },
  {
    id: "status lost, unreadable endpoint",
    name: "etcd goes back to a state without ownership, the endpoint cannot be parsed, the resource is deleted → the endpoint goes too, once it can be parsed",
    why: "the list still shows the name with the token, so the resource must wait",
    plan: planOf({
      world: { operationLatencyMs: { min: 15_000, max: 20_000 } },
      steps: [
        ...withoutOwnership(readWrite(branch(1))),
        { atMs: 121_000, action: { kind: "Delete", name: "orders" } },
        // At the same time, another resource of the project is created.
        apply(125_000, "search", readWrite(branch(2))),
      ],
      quietFromMs: 300_000,
    }),
    judge: (world) => [
      ...(world.endpoints().some(({ branchId }) => branchId === branch(1)) ? ["S4: the endpoint lives on"] : []),
      ...(wasReadyBy(world, "search", 300_000) ? [] : ["L1: one bad object holds up another resource"]),
    ],
  },
  {
    id: "status lost, unreadable replica",
    name: "etcd goes back to a state without ownership, and the replica's endpoint cannot be parsed → no second one",
    why: "the list still shows the name with the token, so the resource must wait",
    plan: planOf({
      world: { operationLatencyMs: { min: 15_000, max: 20_000 } },
      steps: withoutOwnership(readOnly(branch(1))),
      quietFromMs: 300_000,
    }),
    judge: (world) => (world.endpoints().length === 2 ? [] : [`S2: ${world.endpoints().length} endpoints`]),
  },
  {
    id: "restored record",
    name: "etcd goes back to the record of an endpoint that another one has replaced, and the resource is deleted → a person decides",
    why: "the endpoint of the record is gone, so the resource would be let go, and its present endpoint would live on",
    plan: planOf({
      steps: [
        apply(1_000, "orders", readWrite(branch(1))),
        { atMs: 12_000, action: { kind: "Backup" } },
        { atMs: 20_000, action: { kind: "PersonDeletes", branchId: branch(1) } },
        { atMs: 120_000, action: { kind: "Crash", replica: 0 } },
        { atMs: 120_500, action: { kind: "RestoreEtcd" } },
        { atMs: 121_000, action: { kind: "Delete", name: "orders" } },
      ],
    }),
    judge: (world) =>
      world.stored("orders") === undefined && world.endpoints().length > 0 ? ["S4: the endpoint lives on"] : [],
  },
  {
    id: "restored open create",
    name: "etcd goes back to an open create, and the replica has been moved since → no second one",
    why: "the name with the token is on another branch, so the create seems to have made nothing",
    plan: planOf({
      faults: scripted({ [firstPost]: { kind: "CrashAfter" } }),
      steps: [
        apply(1_000, "orders", readOnly(branch(1))),
        { atMs: 1_500, action: { kind: "Backup" } },
        apply(40_000, "orders", readOnly(branch(2))),
        { atMs: 60_000, action: { kind: "RestoreEtcd" } },
      ],
      quietFromMs: 500_000,
    }),
    judge: (world) => (world.endpoints().length === 1 ? [] : [`S2: ${world.endpoints().length} endpoints`]),
  },
  {
    id: "clock behind, killed",
    name: "the control plane's clock is two minutes behind ours, and the operator is killed before it records → nothing leaks",
    why: "a time of the control plane is compared with a time of ours, so the endpoint looks older than the intent",
    plan: planOf({
      world: {
        profile: "seed",
        controlPlaneClock: { offsetMs: -120_000, steps: [], secondMachineMs: 0, wholeSeconds: false },
      },
      faults: scripted({ [firstPost]: { kind: "CrashAfter" } }),
      steps: [
        apply(1_000, "orders", readWrite(branch(1))),
        { atMs: 20_000, action: { kind: "Delete", name: "orders" } },
      ],
    }),
  },
  {
    id: "pause before POST",
    name: "a pause is stored while the operator stands still between intent and POST → no POST",
    why: "the person who paused relies on it that nothing happens any more",
    plan: planOf({
      faults: scripted({ "patch status of ComputeEndpoint shop/orders #1": { kind: "Paused", durationMs: 20_000 } }),
      steps: [
        apply(1_000, "orders", readWrite(branch(1))),
        { atMs: 8_000, action: { kind: "Annotate", name: "orders", annotations: { [annotations.paused]: "true" } } },
      ],
    }),
    judge: ({ history }) => (history.posts.length === 0 ? [] : ["S6: a POST was sent for a paused resource"]),
  },
  {
    id: "copied name",
    name: "a person copies the endpoint's name onto another branch → the copy is never touched",
    why: "the operator deletes a database because of its name",
    plan: planOf({
      faults: scripted({ [secondPost]: { kind: "RequestLost", asTimeout: false } }),
      steps: [
        apply(1_000, "orders", readWrite(branch(1))),
        {
          atMs: 20_000,
          action: { kind: "PersonCopies", fromBranchId: branch(1), branchId: branch(2), type: "ReadWrite" },
        },
        { atMs: 40_000, action: { kind: "PersonDeletes", branchId: branch(1) } },
        {
          atMs: 45_000,
          action: { kind: "Annotate", name: "orders", annotations: { [annotations.reconcileRequestedAt]: "1" } },
        },
        { atMs: 60_000, action: { kind: "Delete", name: "orders" } },
      ],
    }),
    judge: (world) =>
      world.endpoints().some(({ branchId }) => branchId === branch(2)) ? [] : ["S1: the copy is gone"],
  },
  {
    id: "copied name of a replica",
    name: "a person copies the replica's name on the same branch and deletes the replica → the copy is never touched",
    why: "the operator takes another client's endpoint for its own, and deletes it with the resource",
    plan: planOf({
      steps: [
        apply(1_000, "orders", readOnly(branch(1))),
        {
          atMs: 20_000,
          action: { kind: "PersonCopies", fromBranchId: branch(1), branchId: branch(1), type: "ReadOnly" },
        },
        { atMs: 40_000, action: { kind: "PersonDeletes", branchId: branch(1) } },
        {
          atMs: 45_000,
          action: { kind: "Annotate", name: "orders", annotations: { [annotations.reconcileRequestedAt]: "1" } },
        },
        { atMs: 100_000, action: { kind: "Delete", name: "orders" } },
      ],
    }),
    judge: (world) => (world.endpoints().length === 1 ? [] : ["S1: the copy is gone"]),
  },
  ...([false, true] as const).map(
    (isAnsweredAnew): NamedCase => ({
      id: isAnsweredAnew ? "old answer, then a new one" : "old answer",
      name: `a replica carries abandon=all from an older question, and status is lost → no second one${isAnsweredAnew ? " before a person says so again" : ""}`,
      why: "the operator takes the old answer for an answer about the present endpoint, and makes another one",
      plan: planOf({
        steps: [
          apply(1_000, "orders", readOnly(branch(1))),
          answer(20_000, "abandon=all"),
          // Another client makes a copy, so that the search for the token finds two.
          {
            atMs: 21_000,
            action: { kind: "PersonCopies", fromBranchId: branch(1), branchId: branch(1), type: "ReadOnly" },
          },
          { atMs: 40_000, action: { kind: "PatchStatus", name: "orders", status: null } },
          { atMs: 80_000, action: { kind: "Crash", replica: 0 } },
          ...(isAnsweredAnew ? [answer(100_000, null), answer(120_000, "abandon=all")] : []),
        ],
      }),
      judge: (world) =>
        world.endpoints().length === (isAnsweredAnew ? 3 : 2) ? [] : [`S2: ${world.endpoints().length} endpoints`],
    }),
  ),
  {
    id: "denied by one machine",
    name: "a resource is gone when its create is answered, and one machine of the control plane denies the endpoint → it is deleted all the same",
    why: "a database runs, costs money, and nothing in the cluster knows of it",
    plan: planOf({
      faults: scripted({
        [firstPost]: { kind: "Paused", durationMs: 10_000 },
        "DELETE ep-twilight-river-22129148 of green-fox-1 #1": { kind: "Refused", status: 404 },
        "GET ep-twilight-river-22129148 of green-fox-1 #1": { kind: "Refused", status: 404 },
      }),
      steps: [
        apply(1_000, "orders", readWrite(branch(1))),
        { atMs: 5_000, action: { kind: "RestoreWithoutStatus", name: "orders" } },
      ],
    }),
    judge: (world) => {
      const denials = world.log.entries.filter(({ text }) => text.includes("refuses with 404")).length;
      return wasReadyBy(world, "orders", 100_000) && denials === 2 ? [] : [`L1: not Ready after ${denials} denials`];
    },
  },
];
