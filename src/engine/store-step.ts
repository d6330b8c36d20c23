/** Stores the result of a reconcile for one resource: its status, or the end of its finalizer. */
import { type AttributedOperation, outcomeOf } from "../domain/operation.ts";
import { isSameStored } from "../domain/same-stored.ts";
import { isHeldBy, type OperationLogStep } from "../operations/reduce-operations.ts";
import { failureEvent } from "../operations/status-operations.ts";
import { watermarkIn } from "../resource/bookkeeping.ts";
import type { Target } from "./decision.ts";
import { failureStallOf, patienceMs } from "./failures.ts";
import { hasMoved } from "./guarded.ts";
import { commonPlan, type EngineContext, type KindResource, type KindTypes, type Step } from "./kind.ts";
import { eventsOfTrouble, logStep, projectGone, resourceFields, traceStep } from "./report.ts";
import { eventsOfIgnored } from "./summary.ts";

/** The maximum number of attempts to store the answer to a change, if each attempt ends in a conflict. */
const attemptsLimit = 5;

/**
 * Stores the status if it has changed, and reports. The answer to a change must not be lost: if a conflict stops it, it
 * is stored on the newest version. Any other conflict is thrown, and the resource is decided again.
 * @returns the stored resource; `undefined` if, after a conflict, the resource proves to be gone or replaced
 * @throws KubernetesError. The ended operations stay uncounted: they are counted if a later status holds them.
 */
export async function storeStep<T extends KindTypes>(
  target: Target<T>,
  given: Step<T>,
): Promise<T["resource"] | undefined> {
  const { context, kind } = target;
  traceStep(context, given);
  let step = given;
  for (let attempt = 1; ; attempt += 1) {
    const { resource } = step.facts;
    const log = reduceLog(target, step);
    const status = target.scope.statusOf(step, log);
    try {
      const hasChanged = !isSameStored(status, resource.status);
      const stored = hasChanged ? await kind.store.patchStatus(resource, status) : resource;
      report(target, step, { log, status, hasChanged });
      countStored(context, target.memory.uncounted, stored);
      return stored;
    } catch (error) {
      if (given.outcome.kind !== "Accepted" || attempt >= attemptsLimit || !hasMoved(error)) throw error;
    }
    const newest = await kind.store.read(resource.key);
    if (newest === undefined || newest.uid !== resource.uid) {
      return undefined;
    }
    step = { ...step, facts: { ...step.facts, resource: newest } };
  }
}

/** Returns what the operation log says of the resource. What has ended waits to be counted. */
function reduceLog<T extends KindTypes>({ scope, memory }: Target<T>, step: Step<T>): OperationLogStep | undefined {
  const log = scope.logOf?.(step);
  for (const operation of log?.ended ?? []) memory.uncounted.set(operation.id, operation);
  return log;
}

interface Result<T extends KindTypes> {
  readonly log: OperationLogStep | undefined;
  readonly status: T["status"];
  readonly hasChanged: boolean;
}

function report<T extends KindTypes>(
  { context, scope }: Target<T>,
  step: Step<T>,
  { log, status, hasChanged }: Result<T>,
): void {
  const { resource } = step.facts;
  if (log?.used !== undefined) context.metrics.usageRead(resource.key, log.used);
  const hasWritten = step.outcome.kind === "Accepted" || step.outcome.kind === "Applied";
  if (hasChanged || hasWritten) {
    const cause = step.outcome.kind === "Failed" ? failureStallOf(step.outcome.error, patienceMs) : undefined;
    const troubles = eventsOfTrouble(resource.status.conditions, status.conditions, cause);
    const ignored = eventsOfIgnored(resource.status, status);
    for (const event of [...(scope.eventsOf?.(step, status) ?? []), ...troubles, ...ignored]) {
      context.events.record(resource, event);
    }
  }
  logStep(context, step, { log, hasChanged });
}

/**
 * Counts the ended operations that a stored status holds, once: no later read of this process shows an older status. An
 * event follows for each failure. If the answer to a write was lost, the next reconcile counts by the status it reads.
 */
export function countStored(
  { metrics, events }: Pick<EngineContext, "metrics" | "events">,
  uncounted: Map<string, AttributedOperation>,
  resource: KindResource,
): void {
  const watermark = uncounted.size === 0 ? undefined : watermarkIn(resource.status);
  const held = watermark === undefined ? [] : [...uncounted.values()].filter((each) => isHeldBy(watermark, each));
  for (const operation of held) {
    uncounted.delete(operation.id);
    metrics.countEnded(operation, resource.key);
    if (outcomeOf(operation) === "Failed") events.record(resource, failureEvent(operation));
  }
}

/** Counts what the resource still has to count, and removes what belongs to it. The finalizer goes last. */
export async function release<T extends KindTypes>(target: Target<T>, step: Step<T>): Promise<void> {
  const { context, kind, memory, scope } = target;
  const { resource } = step.facts;
  traceStep(context, step);
  const log = reduceLog(target, step);
  let current = resource;
  if (log !== undefined && log.ended.length > 0) {
    const status: T["status"] = { ...resource.status, bookkeeping: log.state.bookkeeping };
    current = await kind.store.patchStatus(resource, status);
  }
  countStored(context, memory.uncounted, current);
  await scope.release?.(resource);
  const plan = commonPlan(step.plan);
  const cause = plan?.kind === "RemoveFinalizer" ? plan.cause : undefined;
  const news = cause === "ProjectGone" ? [projectGone(target.project, resource)] : scope.eventsOf?.(step, undefined);
  for (const event of news ?? []) context.events.record(resource, event);
  await kind.store.removeFinalizer(current);
  context.logger.info({ ...resourceFields(resource), cause }, "finalizer removed");
}
