/** Makes random runs with DatabaseAccesses. */
import { createSeededRandom, type SeededRandom } from "../../support/seeded-random.ts";
import type { JsonObject } from "../kubernetes/merge-patch.ts";
import { annotations } from "../ports.ts";
import type { Action, Step } from "../run/actions.ts";
import type { RunPlan } from "../run/run.ts";
import { randomHarm, randomPlanOf, watchHarms } from "./random-plan.ts";
import { branch, readWrite, size } from "./specs.ts";

/** Users and faults act during this time. */
const busyMs = 200_000;

/** The names of DatabaseAccesses, with the endpoint, role and database of each. Two of them share a role. */
const subjects = {
  app: { endpoint: "orders", role: "app_user", database: "app" },
  jobs: { endpoint: "orders", role: "app_user", database: "jobs" },
  report: { endpoint: "orders", role: "report_user", database: "report" },
  bills: { endpoint: "billing", role: "bills_user", database: "bills" },
} as const;
type SubjectName = keyof typeof subjects;

const branchOf = { orders: branch(1), billing: branch(2) } as const;

/** Draws a random run of both kinds in one project: DatabaseAccesses and the ComputeEndpoints that they name. */
export function randomAccessPlan(seed: number): RunPlan {
  const random = createSeededRandom(seed * 2_246_822_519);
  return randomPlanOf(random, { seed, busyMs, hasAccesses: true }, randomSteps);
}

function randomSteps(random: SeededRandom): readonly Step[] {
  const names = (Object.keys(subjects) as SubjectName[]).filter(() => random.next() < 0.6);
  const endpoints: readonly Step[] = (["orders", "billing"] as const).map((name) => ({
    atMs: 1_000 + random.below(20_000),
    action: { kind: "Apply", name, spec: readWrite(branchOf[name]) },
  }));
  const applied: readonly Step[] = names.map((name) => ({
    atMs: 1_000 + random.below(40_000),
    action: { kind: "ApplyAccess", name, spec: specOf(name) },
  }));
  const kinds = actionKinds.filter(() => random.next() < 0.35);
  const more = Array.from({ length: kinds.length === 0 || names.length === 0 ? 0 : random.below(8) }, () => ({
    atMs: 5_000 + random.below(busyMs - 5_000),
    action: randomAction(random, random.pick(kinds), random.pick(names)),
  }));
  const byHand: readonly Step[] =
    random.next() < 0.4
      ? [{ atMs: 500, action: { kind: "PersonCreatesRole", branchId: branchOf.orders, roleName: "report_user" } }]
      : [];
  return [...endpoints, ...applied, ...byHand, ...more].sort((a, b) => a.atMs - b.atMs);
}

function specOf(name: SubjectName): JsonObject {
  const { endpoint, role, database } = subjects[name];
  return {
    endpointRef: { name: endpoint },
    database: { name: database, deletionPolicy: "Delete" },
    role: { name: role, deletionPolicy: "Delete" },
    ...(name === "report" && { secret: { includeReplicas: true } }),
  };
}

const actionKinds = [
  "Rotate",
  "Rotate",
  "Pause",
  "Delete",
  "CreateAgain",
  "DeleteSecret",
  "PersonResets",
  "EditEndpoint",
  "RecreateEndpoint",
  "FailNext",
  "ListLag",
  ...watchHarms,
  "Crash",
  "Cut",
  "ApplyReplica",
  "DeleteReplica",
] as const;

function randomAction(random: SeededRandom, kind: (typeof actionKinds)[number], name: SubjectName): Action {
  const { endpoint, role } = subjects[name];
  const branchId = branchOf[endpoint];
  switch (kind) {
    case "Rotate": {
      const value = String(random.below(1_000));
      return { kind: "AnnotateAccess", name, annotations: { [annotations.rotateRequestedAt]: value } };
    }
    case "Pause":
      return {
        kind: "AnnotateAccess",
        name,
        annotations: { [annotations.paused]: random.next() < 0.4 ? "true" : null },
      };
    case "Delete":
      return { kind: "DeleteAccess", name };
    case "CreateAgain":
      return { kind: "ApplyAccess", name, spec: specOf(name) };
    case "DeleteSecret":
      return { kind, name };
    case "PersonResets":
      return { kind, branchId, roleName: role };
    case "EditEndpoint":
      return { kind: "Apply", name: endpoint, spec: readWrite(branchId, size(random.pick([0.5, 1, 2]))) };
    case "ApplyReplica":
      return { kind: "Apply", name: "replica", spec: { ...readWrite(branchId), type: "ReadOnly" } };
    case "DeleteReplica":
      return { kind: "Delete", name: "replica" };
    case "RecreateEndpoint":
      return { kind: "Recreate", name: endpoint, spec: readWrite(branchId) };
    case "FailNext":
      return { kind, action: random.pick(["start_compute", "apply_config"] as const) };
    default:
      return randomHarm(random, kind, branchId);
  }
}
