/**
 * Computes an endpoint's new configuration from a request, checks it, and chooses the operations that the request
 * starts.
 */
import { isDeepStrictEqual } from "node:util";
import { sizeProblem, smallestUnits } from "./compute-sizes.ts";
import type { Course } from "./operations.ts";
import type { Profile } from "./profile.ts";
import type { Action, EndpointConfig, EndpointDefaults, EndpointRecord, PendingState, Plan } from "./records.ts";
import { Refusal } from "./refusal.ts";

export type EndpointChanges = { readonly [Field in keyof EndpointConfig]?: EndpointConfig[Field] | undefined };

export interface EndpointCreation extends EndpointChanges {
  readonly branchId: string;
  readonly type: EndpointRecord["type"];
}

export function changed<C extends EndpointConfig>(before: C, changes: EndpointChanges): C {
  // The copy is changed field by field. So all records have the same order of fields, and V8 reads them faster.
  const after = { ...before };
  for (const [field, value] of Object.entries(changes)) {
    if (value !== undefined) (after as Record<string, unknown>)[field] = value;
  }
  return after;
}

export function isSame(before: EndpointRecord, after: EndpointRecord): boolean {
  return isDeepStrictEqual(before, after);
}

/**
 * Returns the configuration of a new endpoint. A value comes from the request, else from the project's defaults, else
 * from the control plane's defaults. If a request sets only one end of the size range, and the default of the other end
 * lies beyond it, both ends become equal.
 */
export function newConfig(branchId: string, changes: EndpointChanges, defaults: EndpointDefaults = {}): EndpointConfig {
  const { minUnits: defaultMin = smallestUnits, maxUnits: defaultMax = defaultMin } = defaults;
  const minUnits = changes.minUnits ?? Math.min(defaultMin, changes.maxUnits ?? defaultMin);
  const config: EndpointConfig = {
    branchId,
    minUnits,
    maxUnits: changes.maxUnits ?? Math.max(minUnits, defaultMax),
    suspendTimeoutSeconds: defaults.suspendTimeoutSeconds ?? 0,
    pgSettings: defaults.pgSettings ?? {},
    poolerEnabled: false,
    poolerMode: "transaction",
    disabled: false,
    passwordlessAccess: true,
    provisioner: "k8s-pod",
    name: undefined,
  };
  return changed(config, changes);
}

/** @throws Refusal Invalid (impossible sizes), NotAllowed (a limit of the plan or the profile) */
export function requireAllowed(config: EndpointConfig, plan: Plan, profile: Profile): void {
  const problem = sizeProblem(config.minUnits, config.maxUnits, profile.sizes);
  if (problem?.kind === "Invalid") throw new Refusal("Invalid", problem.message);
  if (problem !== undefined) throw new Refusal("NotAllowed", problem.message, "COMPUTE_UNITS_LIMIT_EXCEEDED");
  const { largestUnits } = profile.freePlan;
  if (plan === "free" && config.maxUnits > largestUnits) {
    throw new Refusal(
      "NotAllowed",
      `endpoint.autoscaling_limit_max_cu: the largest compute size of the free plan is ${largestUnits}`,
      "COMPUTE_UNITS_LIMIT_EXCEEDED",
    );
  }
}

export interface UpdatePlan {
  readonly actions: readonly Action[];
  readonly course: Course;
  readonly pendingState: PendingState;
}

/**
 * Returns the operations of an update. Every update starts apply_config. The first rule that fits adds more:
 * - A move to another branch adds suspend_compute, even if the compute is idle.
 * - If the endpoint is disabled and its compute is active: suspend_compute.
 * - If an active compute gets another size: suspend_compute, then start_compute.
 * No other update restarts a compute, and no update starts an idle compute.
 * @see docs/sandbox.md "What is started by what"
 */
export function planUpdate(before: EndpointRecord, after: EndpointRecord): UpdatePlan {
  const isActive = before.state === "active";
  if (after.branchId !== before.branchId) {
    // For an active compute, both operations run at the same time, and the suspend ends first.
    const actions = ["apply_config", "suspend_compute"] as const;
    return { actions, course: isActive ? "together" : "sequence", pendingState: "idle" };
  }
  if (isActive && after.disabled) {
    return { actions: ["apply_config", "suspend_compute"], course: "sequence", pendingState: "idle" };
  }
  const isResized = after.minUnits !== before.minUnits || after.maxUnits !== before.maxUnits;
  if (isActive && isResized) {
    const actions = ["apply_config", "suspend_compute", "start_compute"] as const;
    return { actions, course: "sequence", pendingState: "active" };
  }
  return { actions: ["apply_config"], course: "sequence", pendingState: isActive ? "active" : "idle" };
}
