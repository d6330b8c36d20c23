import { world as places } from "../control-plane/engine.ts";
import type { Fault } from "../faults/fault.ts";
import type { FaultPlan } from "../faults/fault-plan.ts";
import type { World } from "../run/world.ts";
import { branch, readWrite, size } from "../workloads/specs.ts";
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

/** One kind of failure for minutes, or two faults at once. */
export const stormCases: readonly NamedCase[] = [
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
        // Each try sends two patches: the change, and the report that it was refused.
        ...(patches < 80 ? [] : [`L3: ${patches} patches of a refused resource`]),
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
];
