import { beforeAll, describe, expect, it } from "vitest";
import { ControlPlaneError } from "../../../../src/domain/control-plane-error.ts";
import { isSameStored } from "../../../../src/domain/same-stored.ts";
import type { Outcome } from "../../../../src/plan/outcome.ts";
import { isServiceEffect, type Plan } from "../../../../src/plan/plan.ts";
import { planReconcile } from "../../../../src/plan/plan-reconcile.ts";
import { statusFor } from "../../../../src/plan/status-for.ts";
import { isTrue } from "../../../../src/resource/conditions.ts";
import { type ComputeEndpointStatus, statusSchema } from "../../../../src/resource/status-schema.ts";
import { checkConditions } from "../../../support/check-conditions.ts";
import { endpoint, operation, policy } from "../builders.ts";
import { type Factors, product } from "./factors.ts";
import { createGiven } from "./given.ts";
import { type Case, invariants } from "./invariants.ts";

/** Shown of each kind of breach: the rest of a thousand says no more. */
const shownBreaches = 3;

/** The whole product takes a few seconds, on a busy machine more. */
const timeoutMs = 60_000;

const breaches = new Map<string, string[]>();
const kinds = new Map<Plan["kind"], number>();
let count = 0;

function note(rule: string, factors: Factors, words: string): void {
  const list = breaches.get(rule) ?? [];
  breaches.set(rule, list);
  if (list.length < shownBreaches) {
    list.push(`${words}: ${JSON.stringify(factors)}`);
  }
}

/** Every way in which a plan can end. */
function outcomesOf(plan: Plan): readonly Outcome[] {
  if (!isServiceEffect(plan) && plan.kind !== "RecordIntent") {
    return [{ kind: "Done" }];
  }
  const lost = new ControlPlaneError("TimedOut", "no answer in time", { effect: "Unknown" });
  const refused = new ControlPlaneError("Rejected", "limit exceeded", { effect: "NotApplied" });
  const running = operation({ id: "op-new", status: "running" });
  return [
    ...(plan.kind === "RecordIntent"
      ? ([{ kind: "Done" }] as const)
      : ([{ kind: "Accepted", mutation: { endpoint: endpoint(), operations: [running] } }] as const)),
    { kind: "Deferred", waitedMs: 30_000, stillMs: 30_000, isFirst: false },
    { kind: "Failed", error: lost, forMs: 0, posts: "Unresolved" },
    { kind: "Failed", error: refused, forMs: 400_000, posts: "AllDefinite" },
  ];
}

function checkStatus({ factors, given, plan }: Case, outcome: Outcome): void {
  const { status } = statusFor({ local: given, observation: given, plan, outcome });
  for (const words of checkConditions(status, given.resource.generation)) {
    note("every status keeps the rules for conditions", factors, words);
  }
  if (!statusSchema.safeParse(status).success) {
    note("every status fits its schema", factors, "does not fit");
  }
  if (isTrue(status.conditions, "Ready") && plan.kind !== "Settled") {
    note("S8 Ready comes from a comparison", factors, plan.kind);
  }
  checkRecords({ factors, given, plan }, outcome, status);
}

/** S2, S3: what later passes build on changes only by the plans that are meant to. */
function checkRecords({ factors, given, plan }: Case, outcome: Outcome, status: ComputeEndpointStatus): void {
  const before = given.resource.status;
  const isDefinite = outcome.kind === "Failed" && outcome.posts === "AllDefinite";
  const mayDropIntent =
    plan.kind === "CloseIntent" ||
    plan.kind === "RecordOwnership" ||
    (plan.kind === "CreateEndpoint" && (outcome.kind === "Accepted" || isDefinite));
  if (before.createIntent !== undefined && status.createIntent === undefined && !mayDropIntent) {
    note("S2 an open intent stays in status", factors, `${plan.kind} ${outcome.kind}`);
  }
  const mayChangeOwner =
    plan.kind === "RecordOwnership" ||
    plan.kind === "ForgetEndpoint" ||
    (plan.kind === "CreateEndpoint" && outcome.kind === "Accepted");
  if (!isSameStored(before.ownership ?? null, status.ownership ?? null) && !mayChangeOwner) {
    note("S3 the record of ownership stays in status", factors, `${plan.kind} ${outcome.kind}`);
  }
}

/** L3: once its status is stored, a look at the same state writes nothing. */
function checkRest({ factors, given, plan }: Case): void {
  if (plan.kind !== "Settled" && plan.kind !== "Stall" && plan.kind !== "Wait") {
    return;
  }
  const done = { kind: "Done" } as const;
  const { status } = statusFor({ local: given, observation: given, plan, outcome: done });
  const again = { ...given, nowMs: given.nowMs + 1_000, resource: { ...given.resource, status } };
  const next = statusFor({ local: again, observation: again, plan: planReconcile(again, policy), outcome: done });
  if (!isSameStored(next.status, status)) {
    note("L3 the same state writes nothing", factors, plan.kind);
  }
}

/** What a status can depend on. */
function kindOf({ factors, plan }: Case): string {
  const { isPaused, spec, deletion, type, ownership, remote, isOwnOperationInFlight, intent } = factors;
  const reason = "reason" in plan ? plan.reason : "";
  return [plan.kind, reason, isPaused, spec, deletion, type, ownership, remote, isOwnOperationInFlight, intent].join();
}

function checkPlan(of: Case): void {
  count += 1;
  kinds.set(of.plan.kind, (kinds.get(of.plan.kind) ?? 0) + 1);
  for (const [rule, invariant] of Object.entries(invariants)) {
    const words = invariant(of);
    if (words !== false) {
      note(rule, of.factors, words);
    }
  }
}

/** Looked at for the first case of each kind: by which other factors the plan came about hardly matters to a status. */
function checkStatuses(of: Case): void {
  checkRest(of);
  if (!isSameStored(planReconcile(of.given, policy), of.plan)) {
    note("the same input gives the same plan", of.factors, of.plan.kind);
  }
  for (const outcome of outcomesOf(of.plan)) {
    checkStatus(of, outcome);
  }
}

beforeAll(() => {
  const givenBy = createGiven();
  const seen = new Set<string>();
  for (const factors of product()) {
    const given = givenBy(factors);
    try {
      const of = { factors, given, plan: planReconcile(given, policy) };
      checkPlan(of);
      if (!seen.has(kindOf(of))) {
        seen.add(kindOf(of));
        checkStatuses(of);
      }
    } catch (error) {
      note("never throws, never changes its input", factors, String(error));
    }
  }
}, timeoutMs);

describe("every combination of the planner's factors", () => {
  it("the product → is as large as its factors say", () => {
    expect(count).toBe(205_824);
  });

  it("every plan there is → comes up", () => {
    expect([...kinds.keys()].sort()).toEqual([
      "AddFinalizer",
      "CloseIntent",
      "CreateEndpoint",
      "DeleteEndpoint",
      "ForgetEndpoint",
      "MoveEndpoint",
      "RecordIntent",
      "RecordOwnership",
      "RemoveFinalizer",
      "Settled",
      "Stall",
      "UpdateEndpoint",
      "Wait",
    ]);
  });

  it.each([
    ...Object.keys(invariants),
    "never throws, never changes its input",
    "every status keeps the rules for conditions",
    "every status fits its schema",
    "the same input gives the same plan",
    "S8 Ready comes from a comparison",
    "S2 an open intent stays in status",
    "S3 the record of ownership stays in status",
    "L3 the same state writes nothing",
  ])("%s → holds everywhere", (rule) => {
    expect(breaches.get(rule) ?? []).toEqual([]);
  });
});
