/** The step "decide locally" for ComputeEndpoints: decides and stores what needs no control plane. */

import type { Plan } from "../decide/plan.ts";
import { localPlanOf } from "../decide/plan-resource.ts";
import { isSameStored } from "../domain/same-stored.ts";
import { hasFinalizer, isBeingDeleted } from "../resource/compute-endpoint.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";
import type { ReconcileContext } from "./ports.ts";
import { noteStoredIntent, remember, type UnconfirmedWrite } from "./project-memory.ts";
import { countEnded, publish, reportDropped, resourceFields } from "./report.ts";
import type { Round, WorkedResource } from "./round.ts";
import { storeStep } from "./store-step.ts";

/**
 * Decides about one ComputeEndpoint and stores the result, if the decision needs no control plane: pauses, `Retain`,
 * invalid specs and finalizers.
 */
export async function decideLocally(context: ReconcileContext, round: Round, worked: WorkedResource): Promise<void> {
  const current = await context.store.current(worked.resource.key);
  if (current?.uid !== worked.resource.uid) {
    round.leaveOut(worked);
    worked.entry.dueAtMs = context.clock.monotonicMs() + goneAgainMs;
    return;
  }
  worked.resource = current;
  catchUp(context, round, worked);
  let plan = localPlanOf(round.observe(worked));
  if (plan?.kind === "AddFinalizer") {
    worked.resource = await context.store.addFinalizer(current);
    context.logger.info(resourceFields(current), "finalizer added");
    plan = localPlanOf(round.observe(worked));
  }
  if (plan !== undefined) {
    await storePlan(context, round, worked, plan);
  }
}

/** Until the watch reports that a resource is gone, the operator checks again at this interval, in milliseconds. */
const goneAgainMs = 1_000;

async function storePlan(context: ReconcileContext, round: Round, worked: WorkedResource, plan: Plan): Promise<void> {
  worked.entry.waiting = undefined;
  const isReleased =
    plan.kind === "RemoveFinalizer" || (isBeingDeleted(worked.resource) && !hasFinalizer(worked.resource));
  const isLookPending = !isReleased && round.isObservable(worked);
  const local = round.observe(worked);
  const step = { local, observation: undefined, plan, outcome: { kind: "NothingSent" }, isLookPending } as const;
  await storeStep(context, round, { worked, step });
  if (isLookPending) {
    worked.entry.dueAtMs = round.facts.monotonicMs;
  }
}

/** Updates the memory of a resource by what is stored in the API server now. */
export function catchUp(context: ReconcileContext, { facts }: Round, worked: WorkedResource): void {
  const { resource, entry } = worked;
  if (resource.status.ownership !== undefined && entry.memory.answeredCreate !== undefined) {
    remember(entry, { answeredCreate: undefined });
  }
  noteStoredIntent(entry, resource, facts.monotonicMs);
  confirmWrites(context, worked);
}

/** Publishes the events and counts of a write without an answer, once the resource shows that it was stored. */
function confirmWrites(context: ReconcileContext, { resource, entry }: WorkedResource): void {
  const landed = entry.unconfirmed.find((write) => hasLanded(write, resource.status));
  if (landed !== undefined) {
    // All these writes named one version of the resource, so the API server can store only one of them.
    entry.unconfirmed = [];
    entry.storeFailures = 0;
    countEnded(context, resource.key, landed.ended);
    reportDropped(context, resource, landed.dropped);
    publish(context, resource, landed.events);
  }
}

/**
 * Whether a write without an answer was stored. A write that counted operations is recognized by the watermark, any
 * other by the whole status. A removed finalizer is not recognized here, because the resource is gone then.
 */
function hasLanded({ status, ended }: UnconfirmedWrite, now: ComputeEndpointStatus): boolean {
  if (status === undefined) {
    return false;
  }
  return ended.length > 0 ? isSameStored(now.operationWatermark, status.operationWatermark) : isSameStored(now, status);
}
