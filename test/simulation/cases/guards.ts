/** Named cases that would fail if a safeguard became weaker. */
import { world as places } from "../control-plane/engine.ts";
import { annotations } from "../ports.ts";
import { conditionOf } from "../run/settled.ts";
import { ownershipOf } from "../run/stored-records.ts";
import { rightClock } from "../time/machine.ts";
import { branch, readWrite, size } from "../workloads/specs.ts";
import { type NamedCase, planOf, scripted, wasReadyBy } from "./named-case.ts";

const apply = (atMs: number, name: string, spec: ReturnType<typeof readWrite>) =>
  ({ atMs, action: { kind: "Apply", name, spec } }) as const;
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
        { atMs: 30_000, action: { kind: "PersonDeletes", branchId: branch(1) } },
        {
          atMs: 40_000,
          action: { kind: "Annotate", name: "orders", annotations: { [annotations.reconcileRequestedAt]: "1" } },
        },
      ],
    }),
    judge: (world) => {
      const stored = world.stored("orders");
      const reason = stored && conditionOf(stored, "Stalled")?.reason;
      return reason === "EndpointGone" ? [] : [`S10: Stalled is ${reason}`];
    },
  },
  {
    id: "grant withdrawn",
    name: "a grant is withdrawn while spec changes, and given again → nothing is sent in between, then the change is",
    why: "a team goes on changing a project that is no longer its own",
    plan: planOf({
      steps: [
        { atMs: 500, action: { kind: "Grant", projects: `other-1, ${places.project}` } },
        apply(1_000, "orders", readWrite(branch(1), size(2))),
        { atMs: 30_000, action: { kind: "Grant", projects: "other-1" } },
        apply(31_000, "orders", readWrite(branch(1), size(4))),
        apply(31_500, "billing", readWrite(branch(2))),
        { atMs: 90_000, action: { kind: "Grant", projects: "*" } },
      ],
    }),
    judge: (world) => {
      const sent = world.log.entries.filter(
        ({ atMs, text }) => atMs > 31_000 && atMs < 90_000 && text.includes("asks the control plane to"),
      );
      const stalls = world.log.entries.filter(({ text }) => text.includes("(Warning) ProjectNotGranted")).length;
      return [
        ...sent.map(({ text }) => `S1: without a grant it ${text}`),
        ...(stalls === 2 ? [] : [`${stalls} events`]),
      ];
    },
  },
  {
    id: "paused without a grant",
    name: "a paused resource names a project without a grant → the project is not read",
    why: "a team makes the operator read a project that is not its own, every minute",
    plan: planOf({
      steps: [
        { atMs: 500, action: { kind: "Grant", projects: "other-1" } },
        apply(1_000, "orders", readWrite(branch(1))),
        { atMs: 1_001, action: { kind: "Annotate", name: "orders", annotations: { [annotations.paused]: "true" } } },
      ],
    }),
    judge: ({ log }) =>
      log.entries
        .filter(({ text }) => text.includes("asks the control plane to"))
        .map(({ text }) => `without a grant it ${text}`),
  },
  {
    id: "suspended once",
    name: "the process dies between a suspend and its record, twice → one suspend, and the next wish wakes the compute",
    why: "a database goes to sleep under the client that has just woken it",
    plan: planOf({
      faults: scripted({ "POST ep-twilight-river-22129148 of green-fox-1 #1": { kind: "CrashAfter" } }),
      steps: [
        apply(1_000, "orders", readWrite(branch(1))),
        {
          atMs: 30_000,
          action: { kind: "Annotate", name: "orders", annotations: { [annotations.suspendRequestedAt]: "1" } },
        },
        { atMs: 40_000, action: { kind: "Crash", replica: 0 } },
        {
          atMs: 60_000,
          action: { kind: "Annotate", name: "orders", annotations: { [annotations.wakeRequestedAt]: "1" } },
        },
        { atMs: 90_000, action: { kind: "Crash", replica: 0 } },
      ],
    }),
    judge: (world) => {
      const counted = (words: string) => world.log.entries.filter(({ text }) => text.includes(words)).length;
      const [suspends, wakes] = [counted("to suspend the compute"), counted("to start the compute")];
      const [endpoint] = world.endpoints();
      return [
        ...(world.history.deaths === 3 ? [] : [`${world.history.deaths} deaths`]),
        ...(suspends === 1 && wakes === 1 ? [] : [`${suspends} suspends and ${wakes} wakes were sent`]),
        ...(endpoint?.state === "active" ? [] : [`the compute is ${endpoint?.state}`]),
      ];
    },
  },
  {
    id: "intent refused",
    name: "the API server is away while a new intent has to be stored, for several polls → the create is sent soon after",
    why: "each poll puts the next try off, and the database is never created",
    plan: planOf({
      world: { profile: "seed" },
      faults: scripted({ [`POST project of ${places.project} #1`]: { kind: "RequestLost", asTimeout: false } }),
      steps: [
        apply(1_000, "orders", readWrite(branch(1), size(2))),
        apply(100_000, "orders", readWrite(branch(1), size(4))),
        { atMs: 140_000, action: { kind: "Cut", replica: 0, server: "API server", isOn: true } },
        { atMs: 260_000, action: { kind: "Cut", replica: 0, server: "API server", isOn: false } },
      ],
      quietFromMs: 300_000,
    }),
    judge: (world) => (wasReadyBy(world, "orders", 350_000) ? [] : ["L4: not Ready 90 s after the outage"]),
  },
  {
    id: "lost event",
    name: "the watch loses the event of a new resource → one relist period later it is made up for",
    why: "a resource is never looked at",
    plan: planOf({
      steps: [
        apply(1_000, "orders", readWrite(branch(1))),
        { atMs: 20_000, action: { kind: "WatchLoss", lostPerMille: 1_000, repeatedPerMille: 0 } },
        apply(30_000, "billing", readWrite(branch(2))),
        { atMs: 31_000, action: { kind: "WatchLoss", lostPerMille: 0, repeatedPerMille: 0 } },
      ],
      quietFromMs: 40_000,
    }),
    judge: (world) => (wasReadyBy(world, "billing", 700_000) ? [] : ["L5: not Ready one relist period later"]),
  },
  {
    id: "write before outage",
    name: "a status write is stored without an answer, and the API server is gone right after → what it counted is counted",
    why: "an alert on the counters of operations never fires",
    plan: planOf({
      world: { operationLatencyMs: { min: 15_000, max: 20_000 } },
      faults: scripted({
        "patch status of ComputeEndpoint shop/orders #5": { kind: "AnswerLost", asTimeout: true },
      }),
      steps: [
        apply(1_000, "orders", readWrite(branch(1))),
        apply(60_000, "orders", readWrite(branch(1), size(2))),
        { atMs: 82_000, action: { kind: "Cut", replica: 0, server: "API server", isOn: true } },
      ],
    }),
  },
  {
    id: "elder",
    name: "two resources find one endpoint to adopt at once → the older one gets it",
    why: "which resource owns a database depends on chance",
    plan: planOf({
      steps: [
        byHand(100, branch(1)),
        { atMs: 200, action: { kind: "Cut", replica: 0, server: "control plane", isOn: true } },
        apply(1_000, "orders", readWrite(branch(1), { adoption: { policy: "AdoptOrCreate" } })),
        apply(5_000, "billing", readWrite(branch(1), { adoption: { policy: "AdoptOrCreate" } })),
        { atMs: 20_000, action: { kind: "Cut", replica: 0, server: "control plane", isOn: false } },
      ],
    }),
    judge: (world) => {
      const stored = world.stored("orders");
      return stored && ownershipOf(stored) !== undefined ? [] : ["S3: the younger one has it"];
    },
  },
  {
    id: "woken leader",
    name: "the leader's machine stands still for longer than the lease, in the middle of a burst → it sends nothing when it wakes",
    why: "two replicas write at once",
    plan: planOf({
      world: { machines: [rightClock, rightClock], hasElection: true },
      steps: [
        { atMs: 1, action: { kind: "Crash", replica: 1 } },
        apply(10_000, "orders", readWrite(branch(1))),
        apply(10_010, "billing", readWrite(branch(2))),
        { atMs: 10_060, action: { kind: "Pause", replica: 0, durationMs: 40_000 } },
      ],
    }),
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
  {
    id: "new leader",
    name: "the leader is killed → the other replica leads and acts within lease duration, 2.2 retry periods and a list",
    why: "deletions and edits wait for minutes after a machine is lost",
    plan: planOf({
      world: {
        machines: [
          { offsetMs: 0, rate: 1.002 },
          { offsetMs: 3_600_000, rate: 0.998 },
        ],
        hasElection: true,
      },
      steps: [
        { atMs: 1, action: { kind: "Crash", replica: 1 } },
        { atMs: 20_000, action: { kind: "Crash", replica: 0 } },
        apply(20_500, "orders", readWrite(branch(1))),
      ],
      quietFromMs: 60_000,
    }),
    judge: (world) => {
      const takeoverMs = 15_000 + 2.2 * 2_000;
      const listMs = 1_000;
      const actedMs = world.history.posts[0]?.sentAtMs ?? Number.POSITIVE_INFINITY;
      return actedMs <= 20_000 + takeoverMs / 0.998 + listMs ? [] : [`L6: it acted at ${actedMs} ms`];
    },
  },
  {
    id: "muted watch",
    name: "the watch sends nothing any more, and an edit comes → it is carried out within two minutes",
    why: "nothing happens for hours, and the operator looks healthy",
    plan: planOf({
      steps: [
        { atMs: 20_000, action: { kind: "WatchMute", replica: 0 } },
        apply(30_000, "orders", readWrite(branch(1))),
      ],
    }),
    judge: (world) => (wasReadyBy(world, "orders", 150_000) ? [] : ["L5: not Ready within two minutes"]),
  },
  ...(["Reset", "End"] as const).map(
    (cut): NamedCase => ({
      id: `cut line (${cut})`,
      name: `the watch ends in the middle of a line, ${cut === "Reset" ? "by a reset" : "like a regular end"} → the edit in it is carried out within seconds`,
      why: "an edit waits for the next regular list, or half an object is taken for a whole one",
      plan: planOf({
        steps: [
          apply(1_000, "orders", readWrite(branch(1))),
          { atMs: 29_000, action: { kind: "WatchCut", cut } },
          apply(30_000, "orders", readWrite(branch(1), size(2))),
        ],
      }),
      judge: ({ log }) => {
        const sent = log.entries.find(({ atMs, text }) => atMs > 30_000 && text.includes("to update the endpoint"));
        return (sent?.atMs ?? Number.POSITIVE_INFINITY) < 40_000 ? [] : [`L5: sent at ${sent?.atMs} ms`];
      },
    }),
  ),
];
