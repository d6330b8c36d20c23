/** Named cases in which many calls fail alike, or two faults meet. */
import { rightControlPlaneClock } from "../control-plane/calendar.ts";
import { world as places } from "../control-plane/engine.ts";
import type { Fault } from "../faults/fault.ts";
import type { FaultPlan } from "../faults/fault-plan.ts";
import { conditionOf } from "../run/settled.ts";
import { ownershipOf } from "../run/stored-records.ts";
import type { World } from "../run/world.ts";
import { rightClock } from "../time/machine.ts";
import { branch, readOnly, readWrite, size } from "../workloads/specs.ts";
import { type NamedCase, planOf, refusalProblems, scripted, wasReadyBy } from "./named-case.ts";

const apply = (atMs: number, name: string, spec: ReturnType<typeof readWrite>) =>
  ({ atMs, action: { kind: "Apply", name, spec } }) as const;
const remove = (atMs: number, name: string) => ({ atMs, action: { kind: "Delete", name } }) as const;

/** From the start to the quiet end, every call with these words fails. */
const always = (words: string, fault: Fault): FaultPlan => ({ kind: "Always", words, fault });

const count = ({ log }: World, words: string) => log.entries.filter(({ text }) => text.includes(words)).length;

/** Says that a resource was not Ready by a time. */
const notReady = (world: World, name: string, byMs: number): readonly string[] =>
  wasReadyBy(world, name, byMs) ? [] : [`L1: ${name} was not Ready after ${byMs / 1_000} s`];

const unreachableFirst = { kind: "Unreachable" } as const;

/** One kind of failure for minutes, or two faults at once. */
export const stormCases: readonly NamedCase[] = [
  {
    id: "page instead of a resource",
    name: "a create is answered, its status meets a conflict, and a proxy answers the read with 404 → the endpoint stays",
    why: "an outage of a proxy deletes a database, and the operator ignores its resource until the next edit",
    plan: planOf({
      faults: scripted({
        "patch status of ComputeEndpoint shop/orders #2": { kind: "Refused", status: 409 },
        "read ComputeEndpoint shop/orders #1": { kind: "Page", status: 404, isApplied: false },
        "read ComputeEndpoint shop/orders #2": { kind: "Page", status: 404, isApplied: false },
      }),
      steps: [apply(1_000, "orders", readWrite(branch(1)))],
    }),
    judge: (world) => {
      const deletes = count(world, "asks the control plane to delete");
      return deletes === 0 ? notReady(world, "orders", 30_000) : [`S1: ${deletes} deletions were sent`];
    },
  },
  {
    id: "pages for minutes",
    name: "a proxy answers every read of the project with 404 → nothing counts as gone, and nothing is created again",
    why: "a second database appears beside the one that is hidden",
    plan: planOf({
      faults: scripted(
        Object.fromEntries(
          Array.from({ length: 20 }, (_, at) => [
            `GET project of ${places.project} #${at + 6}`,
            { kind: "Page", status: 404, isApplied: false } as const,
          ]),
        ),
      ),
      steps: [apply(1_000, "orders", readWrite(branch(1))), apply(60_000, "orders", readWrite(branch(1), size(2)))],
      quietFromMs: 600_000,
    }),
    judge: (world) => {
      const creates = count(world, "asks the control plane to create");
      return creates === 1 ? [] : [`S2: ${creates} creates were sent`];
    },
  },
  {
    id: "conflicts for minutes",
    name: "every status patch meets a conflict for five minutes → no create is sent, and then one",
    why: "a controller that rewrites the resource all the time makes the operator create without a record",
    plan: planOf({
      faults: always("patch status of ComputeEndpoint", { kind: "Refused", status: 409 }),
      steps: [apply(1_000, "orders", readWrite(branch(1)))],
      quietFromMs: 300_000,
    }),
    judge: (world) => {
      const patches = count(world, "asks the API server to patch status");
      return [
        ...(world.history.posts.length === 1 ? [] : [`S2: ${world.history.posts.length} creates were sent`]),
        // The delay between two tries doubles from 5 ms to a minute.
        ...(patches < 30 ? [] : [`L3: ${patches} status patches were sent`]),
      ];
    },
  },
  {
    id: "API server overloaded",
    name: "the API server answers every write with 429 for five minutes → the operator waits as long as it asks",
    why: "an overloaded API server is kept busy by its own refusals",
    plan: planOf({
      faults: always("patch", { kind: "Refused", status: 429, retryAfter: { seconds: 30, asDate: false } }),
      steps: [apply(1_000, "orders", readWrite(branch(1))), apply(2_000, "billing", readWrite(branch(2)))],
      quietFromMs: 300_000,
    }),
    judge: (world) => {
      const patches = count(world, "asks the API server to patch");
      return patches < 40 ? [] : [`L3: ${patches} patches were sent in five minutes`];
    },
  },
  {
    id: "too large to change",
    name: "the API server refuses every change of one resource as too large → the others of its project go on",
    why: "one object near the limit of etcd stops a whole project",
    plan: planOf({
      faults: always("patch status of ComputeEndpoint shop/orders", { kind: "Refused", status: 413 }),
      steps: [apply(1_000, "orders", readWrite(branch(1))), apply(1_000, "billing", readWrite(branch(2)))],
      quietFromMs: 600_000,
    }),
    judge: (world) => {
      const sent = world.history.posts.filter(({ sentAtMs }) => sentAtMs < 600_000).length;
      const patches = world.log.entries.filter(
        ({ atMs, text }) => atMs < 600_000 && text.endsWith("patch status of ComputeEndpoint shop/orders"),
      ).length;
      return [
        ...notReady(world, "billing", 30_000),
        ...(sent === 1 ? [] : [`S2: ${sent} creates were sent, and one resource could store an intent`]),
        ...(patches < 60 ? [] : [`L3: ${patches} patches of a refused resource`]),
      ];
    },
  },
  {
    id: "locked for ever",
    name: "a project answers every change with 423 for three hours → ProjectLocked, two writes, one Warning",
    why: "no status says why nothing happens, or thousands of writes fill etcd",
    plan: planOf({
      faults: always("PATCH", { kind: "Refused", status: 423 }),
      steps: [apply(1_000, "orders", readWrite(branch(1))), apply(60_000, "orders", readWrite(branch(1), size(2)))],
      quietFromMs: 3 * 3_600_000,
    }),
    judge: (world, plan) => [
      ...refusalProblems(world, plan, 61_000),
      ...(count(world, "(Warning) ProjectLocked") === 1 ? [] : ["no Warning that names the lock"]),
    ],
  },
  ...[
    { id: "refused after a lost answer", lost: 1, deaths: [] },
    { id: "refused before a restart", lost: 0, deaths: [1_200_000] },
  ].map(
    ({ id, lost, deaths }): NamedCase => ({
      id,
      name: `${lost === 0 ? "the operator dies while a create is refused" : "the answer to a create is lost, and its retries are refused"} for three hours → Rejected, and it stays`,
      why: "status changes every few minutes and never says for long that a person must act",
      plan: planOf({
        faults: scripted(
          Object.fromEntries(
            Array.from({ length: 90 }, (_, at) => [
              `POST project of ${places.project} #${at + 1}`,
              at < lost ? { kind: "RequestLost", asTimeout: false } : { kind: "Refused", status: 422 },
            ]),
          ),
        ),
        steps: [
          apply(1_000, "orders", readWrite(branch(1))),
          ...deaths.map((atMs) => ({ atMs, action: { kind: "Crash", replica: 0 } as const })),
        ],
        quietFromMs: 3 * 3_600_000,
      }),
      judge: (world, plan) => refusalProblems(world, plan, lost === 0 ? 0 : 100_000),
    }),
  ),
  {
    id: "stuck in init",
    name: "the start of an endpoint never ends → its resource is not Ready, another is, and both can be deleted",
    why: "one compute that hangs blocks the deletion of a namespace",
    plan: planOf({
      steps: [
        { atMs: 500, action: { kind: "DisguiseNext", status: "running" } },
        apply(1_000, "orders", readWrite(branch(1))),
        apply(90_000, "billing", readWrite(branch(2))),
        remove(600_000, "orders"),
        remove(600_000, "billing"),
      ],
      quietFromMs: 1_500_000,
    }),
    judge: (world) => {
      const left = world.resources().length + world.endpoints().length;
      return [...notReady(world, "billing", 580_000), ...(left === 0 ? [] : ["L8: a deletion did not end"])];
    },
  },
  {
    id: "deletions without end",
    name: "resources of a project come and go all the time → a create among them is Ready within a minute",
    why: "deletions go first, so a stream of them would hold up every other change",
    plan: planOf({
      world: { operationLatencyMs: { min: 1_500, max: 2_500 } },
      steps: [
        ...Array.from({ length: 60 }, (_, at) => [
          apply(1_000 + 8_000 * at, `churn-${at}`, readWrite(branch(at % 3))),
          remove(1_000 + 8_000 * at + 16_000, `churn-${at}`),
        ]).flat(),
        apply(100_000, "orders", readWrite(branch(3))),
      ],
      quietFromMs: 700_000,
    }),
    judge: (world) => notReady(world, "orders", 160_000),
  },
  {
    id: "history gone in the middle of a list",
    name: "the API server forgets its history between two pages of a list → the list begins again, and shows everything",
    why: "after a list without its second half, resources count as deleted",
    plan: planOf({
      steps: [
        // So many that a list has two pages.
        ...Array.from({ length: 510 }, (_, at) =>
          apply(500, `idle-${at}`, readOnly(branch(0), { projectId: "no-such-project" })),
        ),
        apply(1_000, "orders", readWrite(branch(1))),
        { atMs: 60_000, action: { kind: "CompactInList" } },
        { atMs: 60_001, action: { kind: "Crash", replica: 0 } },
      ],
      quietFromMs: 120_000,
    }),
    judge: (world) => {
      const expired = count(world, "answers 410: list ComputeEndpoints");
      const stored = world.stored("orders");
      const isReady = stored !== undefined && conditionOf(stored, "Ready")?.status === "True";
      return [...(expired > 0 ? [] : ["no list was cut"]), ...(isReady ? [] : ["L4: orders is not Ready"])];
    },
  },
  {
    id: "handover under two faults",
    name: "the leader stands still past its lease after a POST whose answer is lost, and the watch of the next sends nothing → one endpoint",
    why: "two faults beside a handover make a second database",
    plan: planOf({
      world: { machines: [rightClock, rightClock], hasElection: true, profile: "seed" },
      faults: scripted({
        [`POST project of ${places.project} #1`]: { kind: "AppliedLate", afterMs: 60_000, asTimeout: true },
        [`GET project of ${places.project} #3`]: unreachableFirst,
      }),
      steps: [
        { atMs: 900, action: { kind: "WatchMute", replica: 1 } },
        { atMs: 900, action: { kind: "WatchMute", replica: 0 } },
        apply(1_000, "orders", readWrite(branch(1))),
        { atMs: 2_500, action: { kind: "Pause", replica: 0, durationMs: 40_000 } },
        { atMs: 2_500, action: { kind: "Pause", replica: 1, durationMs: 20_000 } },
      ],
      quietFromMs: 400_000,
    }),
  },
  ...[-3_600_000, 3_600_000].map(
    (byMs): NamedCase => ({
      id: `service clock ${byMs > 0 ? "forward" : "back"} beside a crash`,
      name: `the control plane's clock steps ${byMs > 0 ? "forward" : "back"} an hour as the operator dies after a POST → one endpoint, Ready`,
      why: "the intent and its endpoint seem to be an hour apart, and a second database is created",
      plan: planOf({
        world: { profile: "seed", controlPlaneClock: { ...rightControlPlaneClock, steps: [{ fromMs: 1_050, byMs }] } },
        faults: scripted({ [`POST project of ${places.project} #1`]: { kind: "CrashAfter" } }),
        steps: [apply(1_000, "orders", readWrite(branch(1)))],
        quietFromMs: 400_000,
      }),
      judge: (world) => {
        const stored = world.stored("orders");
        const owned = stored && ownershipOf(stored)?.endpointId;
        return world.endpoints().length === 1 && owned !== undefined ? [] : ["S2: no owner, or more than one endpoint"];
      },
    }),
  ),
  {
    id: "thousands of operations",
    name: "a project logs 3,000 operations, most of them while the control plane cannot be reached → each is counted once",
    why: "an alert on the counters of operations never fires, or fires without a cause",
    plan: planOf({
      steps: [
        apply(1_000, "orders", readWrite(branch(1))),
        apply(2_000, "billing", readWrite(branch(2))),
        { atMs: 60_000, action: { kind: "Cut", replica: 0, server: "control plane", isOn: true } },
        ...Array.from({ length: 60 }, (_, at) => ({
          atMs: 30_000 + 5_000 * at,
          action: { kind: "Maintain", branchId: branch(1 + (at % 2)), count: 50 } as const,
        })),
        { atMs: 300_000, action: { kind: "Cut", replica: 0, server: "control plane", isOn: false } },
      ],
      quietFromMs: 340_000,
    }),
    judge: ({ metricsPages }) => {
      const counted =
        metricsPages.join().match(/operations_total\{[^}]*check_availability[^}]*succeeded[^}]*\} \d+/g) ?? [];
      const sum = counted.reduce((all, line) => all + Number(line.split(" ").at(-1)), 0);
      return sum === 3_000 ? [] : [`Counting: ${sum} were counted`];
    },
  },
];
