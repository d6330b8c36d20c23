/** Tests the rules for every combination of the factors of a decision. */

import { beforeAll, describe, expect, it } from "vitest";
import { ControlPlaneError } from "../../../../../src/domain/control-plane-error.ts";
import { isSameStored } from "../../../../../src/domain/same-stored.ts";
import { traitsOf } from "../../../../../src/kinds/endpoint/endpoint-kind.ts";
import type { EndpointOutcome, Plan } from "../../../../../src/kinds/endpoint/plan.ts";
import { endpointPlan } from "../../../../../src/kinds/endpoint/plan-table.ts";
import { statusFor } from "../../../../../src/kinds/endpoint/status-for.ts";
import { isTrue } from "../../../../../src/resource/conditions.ts";
import { type ComputeEndpointStatus, statusSchema } from "../../../../../src/resource/status-schema.ts";
import { checkConditions } from "../../../../support/check-conditions.ts";
import { endpoint, operation, planFor, stepOf } from "../builders.ts";
import { type Factors, product } from "./factors.ts";
import { createGiven } from "./given.ts";
import { type Case, invariants } from "./invariants.ts";

/** The number of broken rules of each kind that are shown. The others would look alike. */
const shownBreaches = 3;

/** The whole product takes a few seconds, and more on a busy machine. */
const timeoutMs = 60_000;

const rules = Object.entries(invariants);
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

/** The ways in which a plan can end. */
function outcomesOf(plan: Plan): readonly EndpointOutcome[] {
  const own = endpointPlan(plan);
  if (own === undefined || traitsOf(own).shape !== "Change") {
    return [{ kind: "NothingSent" }];
  }
  const lost = new ControlPlaneError("TimedOut", "no answer in time", { effect: "Unknown" });
  const refused = new ControlPlaneError("Rejected", "limit exceeded", { effect: "NotApplied" });
  const running = operation({ id: "op-new", status: "running" });
  return [
    { kind: "Accepted", answer: { endpoint: endpoint(), operations: [running] } },
    { kind: "Deferred", waitedMs: 30_000 },
    { kind: "Failed", error: lost, forMs: 0, lockHolder: undefined },
    { kind: "Failed", error: refused, forMs: 400_000, lockHolder: undefined },
  ];
}

/** The operation log changes nothing in these statuses. */
function logOf({ given }: Case) {
  const { operations, failedActions, bookkeeping } = given.resource.status;
  const state = { operations, failedActions, bookkeeping };
  return { state, mustStore: false, ended: [], ownInFlight: [] };
}

function checkStatus({ factors, given, plan }: Case, outcome: EndpointOutcome): void {
  const status = statusFor(stepOf(given, outcome, plan), logOf({ factors, given, plan }));
  for (const words of checkConditions(
    status,
    given.resource.generation,
    given.resource.deletionTimestamp !== undefined,
  )) {
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

/** S2, S3: only the plans that are meant to do so change the records that later reconciles rely on. */
function checkRecords({ factors, given, plan }: Case, outcome: EndpointOutcome, status: ComputeEndpointStatus): void {
  const before = given.resource.status;
  const mayDropIntent =
    plan.kind === "CloseIntent" ||
    plan.kind === "RecordOwnership" ||
    (plan.kind === "CreateEndpoint" && outcome.kind === "Accepted");
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
  const isReplaced = before.ownership !== undefined && before.ownership.endpointId !== status.ownership?.endpointId;
  if (isReplaced && status.bookkeeping?.acknowledged !== undefined) {
    note("what a former endpoint acknowledged is forgotten", factors, plan.kind);
  }
}

/** L3: when its status is stored, another decision about the same state writes nothing. */
function checkRest({ factors, given, plan }: Case): void {
  if (plan.kind !== "Settled" && plan.kind !== "Stall" && plan.kind !== "Wait") {
    return;
  }
  const outcome = { kind: "NothingSent" } as const;
  const log = logOf({ factors, given, plan });
  const status = statusFor(stepOf(given, outcome, plan), log);
  const again = { ...given, nowMs: given.nowMs + 1_000, resource: { ...given.resource, status } };
  const next = statusFor(stepOf(again, outcome), log);
  if (!isSameStored(next, status)) {
    note("L3 the same state writes nothing", factors, plan.kind);
  }
}

/** The factors that a status can depend on. */
function kindOf({ factors, plan }: Case): string {
  const { isPaused, spec, deletion, type, ownership, remote, isOwnOperationInFlight, intent } = factors;
  const reason = "reason" in plan ? plan.reason : "";
  return `${plan.kind},${reason},${isPaused},${spec},${deletion},${type},${ownership},${remote},${isOwnOperationInFlight},${intent}`;
}

function checkPlan(of: Case): void {
  count += 1;
  kinds.set(of.plan.kind, (kinds.get(of.plan.kind) ?? 0) + 1);
  for (const [rule, invariant] of rules) {
    const words = invariant(of);
    if (words !== false) {
      note(rule, of.factors, words);
    }
  }
}

/** Checks the statuses of the first case of each kind only, because other factors hardly change a status. */
function checkStatuses(of: Case): void {
  checkRest(of);
  if (!isSameStored(planFor(of.given), of.plan)) {
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
      const of = { factors, given, plan: planFor(given) };
      checkPlan(of);
      const kind = kindOf(of);
      if (!seen.has(kind)) {
        seen.add(kind);
        checkStatuses(of);
      }
    } catch (error) {
      note("never throws, never changes its input", factors, String(error));
    }
  }
}, timeoutMs);

describe("every combination of the factors of a decision", () => {
  it("the product → is as large as its factors say", () => {
    expect(count).toBe(177_072);
  });

  it("every plan there is → comes up", () => {
    expect([...kinds.keys()].sort()).toEqual([
      "CloseIntent",
      "CreateEndpoint",
      "DeleteEndpoint",
      "ForgetEndpoint",
      "Idle",
      "Look",
      "MoveEndpoint",
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
    "what a former endpoint acknowledged is forgotten",
    "L3 the same state writes nothing",
  ])("%s → holds everywhere", (rule) => {
    expect(breaches.get(rule) ?? []).toEqual([]);
  });
});
