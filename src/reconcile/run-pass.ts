import { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { ResourceEvent } from "../domain/event-recorder.ts";
import type { ProjectReading } from "../domain/project-view.ts";
import { isIdentityProven } from "../plan/identity.ts";
import type { LocalObservation, Observation, Policy } from "../plan/observation.ts";
import type { Outcome } from "../plan/outcome.ts";
import type { Pass } from "../plan/pass.ts";
import { isServiceEffect, type Plan } from "../plan/plan.ts";
import { planLocally } from "../plan/plan-locally.ts";
import { planReconcile } from "../plan/plan-reconcile.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import { annotations } from "../resource/names.ts";
import { apply } from "./apply.ts";
import { nextFailure } from "./ledger.ts";
import { type ObserveContext, observeClaims, observeLocal, observeService } from "./observe.ts";
import { mayDecide } from "./reading-age.ts";
import { retryDelayMs } from "./requeue.ts";

/** What a pass needs besides what observing needs. */
export interface PassContext extends ObserveContext {
  readonly policy: Policy;
  /** 0 up to 1; spreads what would otherwise come all at once. */
  readonly random: () => number;
  /** Publishes what must be said before a change is sent. */
  readonly announce: (events: readonly ResourceEvent[]) => void;
}

/**
 * Observes, plans and applies once. A failed call is part of the result.
 *
 * @throws KubernetesError when the resource has changed; anything else is a bug.
 */
export async function runPass(context: PassContext, resource: ComputeEndpoint): Promise<Pass> {
  const local = observeLocal(context, resource);
  let observation: Observation | undefined;
  let plan = planLocally(local);
  try {
    if (plan === undefined) {
      const begunMs = context.clock.monotonicMs();
      observation = withClaims(context, await observeService(context, local));
      plan = planReconcile(observation, context.policy);
      if (!mayDecide(context, observation, plan, begunMs)) {
        // Should the second reading fail, no plan of the first is to blame.
        [observation, plan] = [undefined, undefined];
        const now = { ...local, claims: observeClaims(context, resource) };
        observation = withClaims(context, await observeService(context, now, begunMs));
        plan = planReconcile(observation, context.policy);
      }
      const outcome = heldBack(context, observation, plan) ?? (await applyPlan(context, observation, plan));
      return { local, observation, plan, outcome };
    }
    context.ledger.ownershipNotRecording(resource.uid);
    observation = await observeWhileHeld(context, local, plan);
    return { local, observation, plan, outcome: { kind: "Done" } };
  } catch (error) {
    if (!(error instanceof ControlPlaneError)) {
      throw error;
    }
    return { local, observation, plan, outcome: failed(context, { local, plan, error }) };
  }
}

/** With the claims of this very moment: from here to the effect nothing is awaited, or two would find one endpoint free. */
function withClaims(context: PassContext, observation: Observation): Observation {
  return { ...observation, claims: observeClaims(context, observation.resource) };
}

/** A resource that must not be touched is still looked at, where that is possible: its operations may fail meanwhile. */
async function observeWhileHeld(
  context: PassContext,
  local: LocalObservation,
  plan: Plan,
): Promise<Observation | undefined> {
  const isHeld = plan.kind === "Wait" || plan.kind === "Stall";
  const isOurs = local.resource.status.ownership !== undefined && isIdentityProven(local.resource, local.identity);
  if (!isHeld || !isOurs) {
    return undefined;
  }
  try {
    return await observeService(context, local);
  } catch (error) {
    if (error instanceof ControlPlaneError) {
      return undefined;
    }
    throw error;
  }
}

async function applyPlan(context: PassContext, observation: Observation, plan: Plan): Promise<Outcome> {
  const outcome = await apply(context, observation, plan);
  // Storing an intent is no progress at the service: a create that is refused again belongs to the same row.
  const isProgress = outcome.kind !== "Deferred" && plan.kind !== "RecordIntent" && plan.kind !== "CloseIntent";
  if (isProgress) {
    context.ledger.worked(observation.resource.uid);
  }
  return outcome;
}

/** An effect that was refused is not tried again before its time, whatever woke the key, save a person's wish. */
function heldBack(context: PassContext, { memory, resource, project }: Observation, plan: Plan): Outcome | undefined {
  const { failure } = memory;
  const isEffect = isServiceEffect(plan) || plan.kind === "RecordIntent";
  if (!isEffect || failure === undefined || !failure.holdsBack || isAskedFor(resource) || isTargetFree(plan, project)) {
    return undefined;
  }
  const nowMs = context.clock.monotonicMs();
  const isHeld = failure.generation === resource.generation && nowMs < failure.retryAtMs;
  const posts = memory.intent?.posts ?? "Unresolved";
  return isHeld ? { kind: "Failed", error: failure.error, forMs: nowMs - failure.sinceMs, posts } : undefined;
}

/** A move that was refused because its target was occupied is worth a try as soon as nobody is there. */
function isTargetFree(plan: Plan, { endpoints }: ProjectReading): boolean {
  return plan.kind === "MoveEndpoint" && !endpoints.some(({ branchId }) => branchId === plan.branchId);
}

function isAskedFor({ annotations: given, status }: ComputeEndpoint): boolean {
  const requested = given[annotations.reconcileRequestedAt];
  return requested !== undefined && requested !== status.lastHandledReconcileAt;
}

interface FailedPass {
  readonly local: LocalObservation;
  readonly plan: Plan | undefined;
  readonly error: ControlPlaneError;
}

function failed(context: PassContext, { local, plan, error }: FailedPass): Outcome {
  const { clock, ledger, policy, random } = context;
  const { key, uid, generation } = local.resource;
  const nowMs = clock.monotonicMs();
  const row = nextFailure(local.memory.failure, { error, generation, nowMs });
  const forMs = nowMs - row.sinceMs;
  const delayMs =
    retryDelayMs(error, { count: row.count, forMs, isMove: plan?.kind === "MoveEndpoint" }, policy) *
    (1 + 0.2 * random());
  ledger.failed(key, uid, { ...row, retryAtMs: nowMs + delayMs, holdsBack: plan !== undefined });
  return { kind: "Failed", error, forMs, posts: ledger.memoryOf(uid).intent?.posts ?? "Unresolved" };
}
