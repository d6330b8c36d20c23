import { expect, it } from "vitest";
import type { Observation, Policy } from "../../../src/plan/observation.ts";
import type { Plan } from "../../../src/plan/plan.ts";
import { planReconcile } from "../../../src/plan/plan-reconcile.ts";
import { statusFor } from "../../../src/plan/status-for.ts";
import type { ComputeEndpointStatus } from "../../../src/resource/status-schema.ts";
import { checkConditions } from "../../support/check-conditions.ts";
import { policy as usualPolicy } from "./builders.ts";

/** One row of a decision table. */
export interface PlanCase {
  /** "<state> → <effect>" */
  readonly name: string;
  /** The failure message. */
  readonly why: string;
  readonly given: Observation;
  /** The plan, as far as the row cares. */
  readonly want: { readonly kind: Plan["kind"] } & Readonly<Record<string, unknown>>;
  readonly policy?: Policy;
}

/** One test for each row; the status that follows from the plan keeps the rules for conditions. */
export function itPlans(cases: readonly PlanCase[]): void {
  for (const { name, why, given, want, policy = usualPolicy } of cases) {
    it(name, () => {
      const plan = planReconcile(given, policy);
      expect(plan, why).toMatchObject(want);
      expect(checkConditions(statusAfter(given, plan), given.resource.generation), why).toEqual([]);
    });
  }
}

/** The status when the plan needed no call. */
export function statusAfter(observation: Observation, plan: Plan): ComputeEndpointStatus {
  return statusFor({ local: observation, observation, plan, outcome: { kind: "Done" } }).status;
}
