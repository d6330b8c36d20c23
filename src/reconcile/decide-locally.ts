/** The step "decide locally" for ComputeEndpoints: decides and stores what needs no control plane. */
import type { Plan } from "../decide/plan.ts";
import { localPlanOf } from "../decide/plan-resource.ts";
import { countStored } from "../operations/counting.ts";
import { hasFinalizer, isBeingDeleted } from "../resource/compute-endpoint.ts";
import type { ReconcileContext } from "./ports.ts";
import { noteStoredIntent, remember } from "./project-memory.ts";
import { resourceFields } from "./report.ts";
import type { Round, WorkedResource } from "./round.ts";
import { storeStep } from "./store-step.ts";

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
  worked.entry.waitingSinceMs = undefined;
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

export function catchUp(context: ReconcileContext, { facts }: Round, worked: WorkedResource): void {
  const { resource, entry } = worked;
  if (resource.status.ownership !== undefined && entry.memory.answeredCreate !== undefined) {
    remember(entry, { answeredCreate: undefined });
  }
  noteStoredIntent(entry, resource, facts.monotonicMs);
  countStored(context, entry.pending, resource);
}
