/** Decides about one resource as an operator that has just started, and changes nothing. */
import type { ControlPlane } from "../domain/control-plane.ts";
import type { EngineContext } from "./context.ts";
import { Decision } from "./decision.ts";
import type { Kind, PlanOf } from "./kind.ts";
import type { KindTypes } from "./kind-types.ts";
import { memoryOf } from "./memory.ts";
import { readProject } from "./project-reads.ts";
import { factsOf, type ReconcileOf } from "./project-reconciler.ts";
import { lockHolderOf } from "./schedule.ts";

/**
 * The operator adds its finalizer before it reads; this plan is what follows. @throws ControlPlaneError
 * @returns `afterOperation`: the operation that locks the project and delays the plan
 */
export async function dryRun<T extends KindTypes>(
  context: Pick<EngineContext, "clock" | "policy"> &
    ReconcileOf & { readonly kind: Pick<Kind<T>, "begin" | "finalizer"> },
  resource: T["resource"],
  controlPlane: ControlPlane,
): Promise<{ readonly plan: PlanOf<T>; readonly afterOperation: string | undefined }> {
  const { clock, kind, unit } = context;
  const facts = factsOf(context, context);
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
