/** Decides and stores what needs no control plane. */

import type { Plan } from "../decide/plan.ts";
import { localPlanOf } from "../decide/plan-resource.ts";
import { isSameStored } from "../domain/same-stored.ts";
import { hasFinalizer, isBeingDeleted } from "../resource/compute-endpoint.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";
import { inParallel } from "./in-parallel.ts";
import type { ReconcileContext } from "./ports.ts";
import { noteStoredIntent, remember, type UnconfirmedWrite } from "./project-memory.ts";
import { countEnded, publish, reportDropped, resourceFields } from "./report.ts";
import type { Round, WorkedResource } from "./round.ts";
import { isDue } from "./schedule.ts";
import { guardedStep, settleStep, storesAtOnce } from "./settle-step.ts";

/**
 * Handles pauses, `Retain`, invalid specs and finalizers. It runs first, so that an outage of the control plane never
 * delays it.
 */
export async function settleLocally(context: ReconcileContext, round: Round): Promise<void> {
  for (const worked of round.worked) {
    // A poll also decides about resources that are not due.
    catchUp(context, round, worked);
  }
  const due = round.worked.filter(({ resource, entry }) => isDue(resource, entry, round.facts.monotonicMs));
  await inParallel(due, storesAtOnce, (worked) =>
    guardedStep(context, round, worked, () => settle(context, round, worked)),
  );
}

async function settle(context: ReconcileContext, round: Round, worked: WorkedResource): Promise<void> {
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
    await settlePlan(context, round, worked, plan);
  }
}

/** Until the watch reports that a resource is gone, the operator checks again at this interval, in milliseconds. */
const goneAgainMs = 1_000;

async function settlePlan(context: ReconcileContext, round: Round, worked: WorkedResource, plan: Plan): Promise<void> {
  worked.entry.waiting = undefined;
  const isReleased =
    plan.kind === "RemoveFinalizer" || (isBeingDeleted(worked.resource) && !hasFinalizer(worked.resource));
  const isLookPending = !isReleased && round.isObservable(worked);
  const local = round.observe(worked);
  const step = { local, observation: undefined, plan, outcome: { kind: "NothingSent" }, isLookPending } as const;
  await settleStep(context, round, { worked, step });
  if (isLookPending) {
    worked.entry.dueAtMs = round.facts.monotonicMs;
  }
}

/** Updates the memory of a resource by what is stored in the API server now. */
function catchUp(context: ReconcileContext, { facts }: Round, worked: WorkedResource): void {
  const { resource, entry } = worked;
  if (resource.status.ownership !== undefined && entry.memory.answeredCreate !== undefined) {
    remember(entry, { answeredCreate: undefined });
  }
  noteStoredIntent(entry, resource, facts.monotonicMs);
  confirmWrites(context, worked);
}

/** Publishes the events and counts of a write without an answer, once it proves to be stored. */
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
