/** Decides about one resource as an operator that has just started, and changes nothing. */
import type { Clock } from "../domain/clock.ts";
import type { ControlPlane } from "../domain/control-plane.ts";
import type { ControlPlaneUnit } from "./context.ts";
import { Decision } from "./decision.ts";
import type { Kind, PlanOf } from "./kind.ts";
import type { KindTypes } from "./kind-types.ts";
import { memoryOf, type Policy } from "./memory.ts";
import { readProject } from "./project-reads.ts";
import { factsOf } from "./project-reconciler.ts";
import { lockHolderOf } from "./schedule.ts";

export interface DryRunOf<T extends KindTypes> {
  readonly clock: Clock;
  readonly policy: Policy;
  readonly kind: Pick<Kind<T>, "begin" | "finalizer">;
  readonly unit: ControlPlaneUnit;
  readonly key: string;
}

export interface PlannedStep<T extends KindTypes> {
  readonly plan: PlanOf<T>;
  /** The operation that locks the project and delays the plan; `undefined`: none does. */
  readonly afterOperation: string | undefined;
}

/** The operator adds its finalizer before it reads; this plan is what follows. @throws ControlPlaneError */
export async function dryRun<T extends KindTypes>(
  { clock, policy, kind, unit, key }: DryRunOf<T>,
  resource: T["resource"],
  controlPlane: ControlPlane,
): Promise<PlannedStep<T>> {
  const facts = factsOf({ clock, policy }, { unit, key });
  const scope = kind.begin(facts);
  const project = unit.projects.of(facts.projectId);
  const memory = memoryOf(project, resource, facts.monotonicMs);
  const decision = new Decision({ kind, scope, project: facts, memory, resource });
  if (decision.plan.kind !== "Look") {
    return { plan: decision.plan, afterOperation: undefined };
  }
  const range = decision.shownLog?.since;
  await decision.readAndDecide(controlPlane, await readProject({ clock, controlPlane }, project, range ? [range] : []));
  if (decision.readError !== undefined) throw decision.readError;
  const isHeld = decision.shape === "Change" || decision.shape === "Look";
  return { plan: decision.plan, afterOperation: isHeld ? lockHolderOf(project, facts.monotonicMs) : undefined };
}
