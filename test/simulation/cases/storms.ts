import { world as places } from "../control-plane/engine.ts";
import type { Fault } from "../faults/fault.ts";
import type { FaultPlan } from "../faults/fault-plan.ts";
import { planOf } from "../run/plain-plan.ts";
import type { World } from "../run/world.ts";
import { branch, readWrite, size } from "../workloads/specs.ts";
import { apply, at, count, type NamedCase, refusalProblems, remove, wasReadyBy } from "./named-case.ts";

/** From the start to the quiet end, every call with these words fails. */
const always = (words: string, fault: Fault): FaultPlan => ({ kind: "Always", words, fault });

/** Says that a resource was not Ready by a time. */
const notReady = (world: World, name: string, byMs: number): readonly string[] =>
  wasReadyBy(world, name, byMs) ? [] : [`L1: ${name} was not Ready after ${byMs / 1_000} s`];

/** One kind of failure for minutes, or two faults at once. */
export const stormCases: readonly NamedCase[] = [
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
  {
    id: "refused before a restart",
    name: "the operator dies while a create is refused for three hours → Rejected, and it stays",
    why: "status changes every few minutes and never says for long that a person must act",
    plan: planOf({
      faults: always("POST project", { kind: "Refused", status: 422 }),
      steps: [apply(1_000, "orders", readWrite(branch(1))), at(1_200_000, { kind: "Crash", replica: 0 })],
      quietFromMs: 3 * 3_600_000,
    }),
    judge: (world, plan) => refusalProblems(world, plan, 0),
  },
  {
    id: "project away",
    name: "a project is moved to another account for an hour → Stalled, then Ready with the same endpoint",
    why: "the operator takes the databases of a moved project for gone, and creates others",
    plan: planOf({
      steps: [
        apply(1_000, "orders", readWrite(branch(1), size(1))),
        at(60_000, { kind: "Transfer", projectId: places.project, status: 404 }),
        apply(120_000, "orders", readWrite(branch(1), size(2))),
        at(3_660_000, { kind: "Transfer", projectId: places.project, status: null }),
      ],
      quietFromMs: 3_670_000,
    }),
    judge: (world) => {
      const creates = count(world, "asks the control plane to create the endpoint");
      const reports = count(world, " ProjectNotFound: ");
      return creates === 1 && reports > 0 ? [] : [`S2, L1: ${creates} creates, ${reports} reports of the project`];
    },
  },
  {
    id: "stuck in init",
    name: "the start of an endpoint never ends → its resource is not Ready, another is, and both can be deleted",
    why: "one compute that hangs blocks the deletion of a namespace",
    plan: planOf({
      steps: [
        at(500, { kind: "DisguiseNext", status: "running" }),
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
