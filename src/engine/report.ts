/** Events, log lines and spans of a reconcile. */
import type { Logger } from "../domain/logger.ts";
import type { AttributedOperation } from "../domain/operation.ts";
import { type ResourceEvent, type StoredIdentity, warning } from "../domain/resource-store.ts";
import type { OperationLogStep } from "../operations/reduce-operations.ts";
import { conditionOf } from "../resource/conditions.ts";
import type { Condition } from "../resource/status-schema.ts";
import { type FailureStall, isFailureStall } from "./failures.ts";
import type { EngineContext, KindResource, KindTypes, Outcome, ProjectFacts, Step } from "./kind.ts";

/** The maximum number of operation ids in one log line or span. */
const operationIdsLimit = 20;

type Targets = Pick<EngineContext, "logger" | "tracer">;

/**
 * A refusal is reported at once, and not again when the resource is Stalled by it.
 * @param cause what the resource will be Stalled by. @default nothing was refused
 */
export function eventsOfTrouble(
  before: readonly Condition[] | undefined,
  next: readonly Condition[] | undefined,
  cause?: FailureStall,
): readonly ResourceEvent[] {
  const [known, trouble] = [troubleIn(before), troubleIn(next)];
  if (trouble === undefined || known?.reason === trouble.reason) {
    return [];
  }
  const isReported = known?.reason === "Retrying" && isFailureStall(trouble.reason);
  const reason = trouble.type === "Stalled" ? trouble.reason : (cause ?? trouble.reason);
  return isReported ? [] : [{ type: "Warning", reason, action: "Reconcile", note: trouble.message }];
}

function troubleIn(conditions: readonly Condition[] | undefined): Condition | undefined {
  const reconciling = conditionOf(conditions, "Reconciling");
  return conditionOf(conditions, "Stalled") ?? (reconciling?.reason === "Retrying" ? reconciling : undefined);
}

/** Writes one line if the status or the remote object changed. */
export function logStep<T extends KindTypes>(
  { logger }: Pick<Targets, "logger">,
  step: Step<T>,
  { log, hasChanged }: { readonly log: OperationLogStep | undefined; readonly hasChanged: boolean },
): void {
  const message = hasChanged
    ? "reconciled: the status changed"
    : step.outcome.kind === "Accepted"
      ? "reconciled: only the control plane changed"
      : undefined;
  if (message === undefined) {
    return;
  }
  const level: keyof Logger = step.outcome.kind === "Failed" ? "warn" : "info";
  logger[level](stepFields(step, log?.ended ?? []), message);
}

export function resourceFields({ key, uid, kind }: Pick<StoredIdentity, "key" | "uid" | "kind">) {
  return { namespace: key.namespace, name: key.name, uid, ...(kind !== undefined && { kind }) };
}

/** `operationId` is the last operation that the change started, else the last one that ended. */
function stepFields<T extends KindTypes>({ facts, plan, outcome }: Step<T>, ended: readonly AttributedOperation[]) {
  const ids = startedBy(outcome) ?? ended.map(({ id }) => id).slice(0, operationIdsLimit);
  return {
    ...resourceFields(facts.resource),
    ...endpointField(facts.resource),
    operationId: ids.at(-1),
    ...(ids.length > 1 ? { operationIds: ids } : {}),
    ...(ended.length === 0 ? {} : { counted: ended.length }),
    plan: plan?.kind,
    outcome: outcome.kind,
    reason: reasonOfStep({ plan, outcome }),
    ...(outcome.kind === "Failed" ? { error: outcome.error.message } : {}),
  };
}

function endpointField({ status }: KindResource): { readonly endpointId?: string | undefined } {
  const { ownership } = status as { readonly ownership?: { readonly endpointId: string } };
  return { endpointId: ownership?.endpointId };
}

export function projectGone({ projectId }: ProjectFacts, resource: KindResource): ResourceEvent {
  const { endpointId } = endpointField(resource);
  const what = endpointId === undefined ? "what this resource had there" : `endpoint ${endpointId}`;
  const note = `Project ${projectId} was deleted before, and with it ${what}. Nothing was sent to the control plane.`;
  return warning("ProjectGone", "Delete", note);
}

function startedBy(outcome: Outcome<KindTypes>): readonly string[] | undefined {
  const operations = outcome.kind === "Accepted" ? outcome.answer.operations : [];
  return operations.length === 0 ? undefined : operations.map(({ id }) => id).slice(0, operationIdsLimit);
}

function reasonOfStep({ plan, outcome }: Pick<Step<KindTypes>, "plan" | "outcome">): string | undefined {
  if (outcome.kind === "Failed") {
    return outcome.error.reason;
  }
  return plan !== undefined && "reason" in plan && typeof plan.reason === "string" ? plan.reason : undefined;
}

export function inResourceSpan<Result>(
  { tracer }: Pick<Targets, "tracer">,
  { key, uid, generation }: KindResource,
  work: () => Promise<Result>,
): Promise<Result> {
  const attributes = {
    "k8s.namespace.name": key.namespace,
    "resource.name": key.name,
    "resource.uid": uid,
    "resource.generation": generation,
  };
  return tracer === undefined ? work() : tracer.inSpan("reconcile", attributes, work);
}

export function traceStep<T extends KindTypes>({ tracer }: Pick<Targets, "tracer">, { facts, plan, outcome }: Step<T>) {
  tracer?.annotate({
    "endpoint.id": endpointField(facts.resource).endpointId,
    "reconcile.plan": plan?.kind,
    "reconcile.outcome": outcome.kind,
    "reconcile.reason": reasonOfStep({ plan, outcome }),
    "operation.ids": startedBy(outcome),
    "error.type": outcome.kind === "Failed" ? outcome.error.reason : undefined,
  });
}
