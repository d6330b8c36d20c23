/** What one reconcile says about one resource, and the conditions that show it. */
import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import { type ResourceEvent, warning } from "../domain/resource-store.ts";
import { type ConditionDraft, conditionOf, isTrue, mergeConditions } from "../resource/conditions.ts";
import { annotations, group } from "../resource/names.ts";
import type { Condition } from "../resource/status-schema.ts";
import { isBeingDeleted } from "../resource/stored-object.ts";
import {
  briefOutageMs,
  type FailureStall,
  failureProgressOf,
  failureStallOf,
  isFailureStall,
  patienceMs,
  remedies,
  sentenceOf,
} from "./failures.ts";
import {
  type CommonPlanOf,
  commonPlan,
  type KindResource,
  type KindStatus,
  type KindTypes,
  type Outcome,
  type Step,
} from "./kind.ts";

export type Summary =
  | Said<"Ready" | "Progressing" | "Stalled">
  | {
      readonly kind: "Paused";
      readonly message: string;
      /** Whether a comparison with the control plane is possible, and what it shows. */
      readonly remote: "Gone" | "NotRead" | "Read";
    }
  /** The conditions Ready, Reconciling and Stalled stay as they are. */
  | { readonly kind: "Unchanged" };

type Said<Kind> = { readonly kind: Kind } & Pick<ConditionDraft, "reason" | "message">;

/** The texts of one kind. */
export interface Wording {
  readonly deleting: string;
  /** How a person ends a deletion that cannot go on. */
  readonly deletionRemedy: string;
}

/** How long the change of a resource may wait, in milliseconds, before its status reports that. */
const quietWaitMs = { first: 20_000, later: 5_000 };

/** Milliseconds until a waiting change is reported. */
export function waitReportMs({ status }: KindResource): number {
  return status.conditions === undefined ? quietWaitMs.first : quietWaitMs.later;
}

/** Sums up a reconcile that was not carried out, or whose plan every kind has. @returns `undefined`: the kind sums up */
export function commonSummary<T extends KindTypes>(step: Step<T>, wording: Wording): Summary | undefined {
  const { outcome, facts } = step;
  const plan = commonPlan(step.plan);
  if (outcome.kind === "Deferred") {
    return summaryOfWait(facts.resource, outcome.waitedMs);
  }
  switch (plan?.kind) {
    case "Look":
    case "Idle":
    case "RemoveFinalizer":
      return outcome.kind === "Failed" ? summaryOfFailure(facts.resource, outcome, wording) : unchanged;
    case "Wait":
      return summaryOfPlannedWait(step, plan);
    case "Stall":
      return { kind: "Stalled", reason: plan.reason, message: plan.message };
    case undefined:
      return outcome.kind === "Failed" ? summaryOfFailure(facts.resource, outcome, wording) : undefined;
  }
}

export const unchanged: Summary = { kind: "Unchanged" };

export function progressing(reason: CommonPlanOf<"Wait">["reason"], message: string): Summary {
  return { kind: "Progressing", reason, message };
}

function summaryOfWait(resource: KindResource, waitedMs: number): Summary {
  const isQuiet = waitedMs < waitReportMs(resource) || trueNow(resource, "Stalled") !== undefined;
  return isQuiet ? unchanged : progressing("WaitingForProject", waitingForProjectMessage);
}

/** The condition if it is True of this spec: one of an earlier spec says nothing about this one. */
function trueNow({ status, generation }: KindResource, type: "Ready" | "Stalled"): Condition | undefined {
  const condition = conditionOf(status.conditions, type);
  return condition?.status === "True" && condition.observedGeneration === generation ? condition : undefined;
}

/** A wait for an unresolved create does not end a Stalled of this generation. */
function summaryOfPlannedWait<T extends KindTypes>(
  { facts: { resource }, reads }: Step<T>,
  { reason, message }: CommonPlanOf<"Wait">,
): Summary {
  if (reason === "Paused") {
    return { kind: "Paused", message, remote: reads.project === undefined ? "NotRead" : "Read" };
  }
  const isKept = reason === "CreateUnresolved" && trueNow(resource, "Stalled") !== undefined;
  return isKept ? unchanged : progressing(reason, message);
}

type Failed = Pick<Extract<Outcome<KindTypes>, { kind: "Failed" }>, "error" | "forMs" | "lockHolder">;

/**
 * Sums up a failed call. The same failure gives the same text in every reconcile. A resource that refused calls made
 * Stalled stays so until a retry succeeds or spec changes. A brief outage leaves Ready and Stalled as they are.
 */
function summaryOfFailure(resource: KindResource, failed: Failed, wording: Wording): Summary {
  const { error, forMs } = failed;
  const stall = failureStallOf(error, forMs);
  const stalled = failureStallIn(resource);
  if (stalled !== undefined && (stall === undefined || stall === stalled || forMs < patienceMs)) {
    return unchanged;
  }
  const ending = isBeingDeleted(resource) ? ` ${wording.deletionRemedy}` : "";
  if (stall !== undefined) {
    const message = `${sentenceOf(error)}${lockText(failed)}${ending || ` ${remedies[stall]}`}`;
    return { kind: "Stalled", reason: stall, message };
  }
  const reason = failureProgressOf(error);
  const isSettled = (trueNow(resource, "Ready") ?? trueNow(resource, "Stalled")) !== undefined;
  if (reason === "ServiceUnavailable" && forMs < briefOutageMs && isSettled) {
    return unchanged;
  }
  if (reason === "WaitingForProject") {
    return progressing(reason, waitingForProjectMessage);
  }
  // A person who only made a typo reads the remedy at once, not after the patience.
  const cause = ending === "" ? failureStallOf(error, patienceMs) : undefined;
  const advice = cause === undefined ? nextStep(error) : remedies[cause];
  return progressing(reason, `${sentenceOf(error)} ${advice}${ending}`);
}

function lockText({ error, lockHolder }: Failed): string {
  return error.reason === "Locked" && lockHolder !== undefined
    ? ` Operation ${lockHolder.id} (${lockHolder.action}) locks the project.`
    : "";
}

function nextStep({ reason }: ControlPlaneError): string {
  return reason === "Unauthorized"
    ? "Replace the API key. The operator reads the new key and continues by itself."
    : "The operator tries again.";
}

/** The Stalled reason of this generation, if a refused call is its cause. */
export function failureStallIn(resource: KindResource): FailureStall | undefined {
  const { reason = "" } = trueNow(resource, "Stalled") ?? {};
  return isFailureStall(reason) ? reason : undefined;
}

/** While a resource is being deleted, it is never Ready. */
export function whileDeleting(resource: KindResource, summary: Summary, { deleting }: Wording): Summary {
  const isReady = isTrue(resource.status.conditions, "Ready") && summary.kind === "Unchanged";
  const isWrong = isBeingDeleted(resource) && (isReady || summary.kind === "Ready");
  return isWrong ? progressing("Deleting", deleting) : summary;
}

/** Returns all conditions. Reconciling and Stalled are present only while they are True. @param beside further ones */
export function conditionsAfter(
  { resource, nowMs }: { readonly resource: KindResource; readonly nowMs: number },
  summary: Summary,
  beside: readonly ConditionDraft[] = [],
): Condition[] {
  const { status, generation } = resource;
  const previous = status.conditions;
  if (summary.kind !== "Unchanged") {
    const [ready, ...others] = progressDrafts(resource, summary);
    const drafts = [{ ...ready, message: withIgnored(ready.message, resource) }, ...others, ...beside];
    return mergeConditions(previous, drafts, { generation, nowMs });
  }
  const progress = (previous ?? []).filter(({ type }) => ["Ready", "Reconciling", "Stalled"].includes(type));
  const comparedGeneration = conditionOf(previous, "Ready")?.observedGeneration ?? 0;
  return progress.length === 0
    ? [...(previous ?? [])]
    : [...progress, ...mergeConditions(previous, beside, { generation: comparedGeneration, nowMs })];
}

/** The first one is Ready. */
function progressDrafts(
  resource: KindResource,
  summary: Exclude<Summary, { kind: "Unchanged" }>,
): readonly [ConditionDraft, ...ConditionDraft[]] {
  if (summary.kind === "Paused") {
    return [pausedDraft(resource, summary)];
  }
  const { kind, reason, message } = summary;
  return kind === "Ready" ? [{ type: kind, status: "True", reason, message }] : unfinishedDrafts({ ...summary, kind });
}

export function unfinishedDrafts({ kind, reason, message }: Said<"Progressing" | "Stalled">) {
  return [
    { type: "Ready", status: "False", reason, message },
    { type: kind === "Stalled" ? "Stalled" : "Reconciling", status: "True", reason, message },
  ] satisfies readonly [ConditionDraft, ConditionDraft];
}

/**
 * Drafts the Ready condition of a paused resource. It is False if its endpoint is gone. It stays True if it was True for
 * the same generation. Otherwise it is Unknown. Without a read, the result of an earlier read while paused stays.
 */
function pausedDraft(
  resource: KindResource,
  { message, remote }: Extract<Summary, { kind: "Paused" }>,
): ConditionDraft {
  const ready = conditionOf(resource.status.conditions, "Ready");
  const isCompared = ready?.observedGeneration === resource.generation;
  if (remote === "Gone") {
    return { type: "Ready", status: "False", reason: "Paused", message: `${message} The endpoint is gone.` };
  }
  if (isCompared && ready.reason === "Paused" && remote === "NotRead") {
    return { type: "Ready", status: ready.status, reason: "Paused", message: ready.message };
  }
  const isStillReady = isCompared && ready.status === "True" && !isBeingDeleted(resource);
  return { type: "Ready", status: isStillReady ? "True" : "Unknown", reason: "Paused", message };
}

/** The generation and the request that status shows as handled. A change that waits for others leaves the request open. */
export function handledAfter<T extends KindTypes>({ facts: { resource }, outcome }: Step<T>, summary: Summary) {
  const { status, generation, annotations: given } = resource;
  const requested = given[annotations.reconcileRequestedAt];
  return {
    observedGeneration: summary.kind === "Unchanged" ? status.observedGeneration : generation,
    lastHandledReconcileAt: outcome.kind === "Deferred" ? status.lastHandledReconcileAt : requested,
  };
}

const waitingForProjectMessage = "Waiting until other changes of the project have ended.";

/** Removes empty lists, empty objects and `undefined` members, because they mean the same as absent ones. */
export function withoutEmpty<Status extends object>(status: Status): Status {
  const entries = Object.entries(status).filter(
    ([, value]) => value !== undefined && !(value instanceof Object && Object.keys(value).length === 0),
  );
  return Object.fromEntries(entries) as Status;
}

const meaningful: Readonly<Record<string, RegExp>> = {
  ...Object.fromEntries(Object.values(annotations).map((name) => [name, /(?:)/])),
  [annotations.paused]: /^(?:true|false)$/,
  [annotations.resolveCreate]: /^(?:adopt|abandon)=./,
};

/** The kind of the annotations that only one kind knows. */
const onlyOn: ReadonlyMap<string, string> = new Map([
  [annotations.wakeRequestedAt, "ComputeEndpoint"],
  [annotations.suspendRequestedAt, "ComputeEndpoint"],
  [annotations.approveChange, "ComputeEndpoint"],
  [annotations.acknowledgeOperation, "ComputeEndpoint"],
  [annotations.resolveCreate, "ComputeEndpoint"],
  [annotations.resetRequestedAt, "DatabaseBranch"],
  [annotations.rotateRequestedAt, "DatabaseAccess"],
]);

const begin = " The operator ignores these annotations:";

/**
 * Ends the message of Ready with the annotations of our prefix that mean nothing to the operator, for instance `pausd`.
 * @param message may end with what was ignored before
 */
function withIgnored(message: string, { annotations: given, kind = "ComputeEndpoint" }: KindResource): string {
  const isMeant = (name: string, value: string) => meaningful[name]?.test(value) && (onlyOn.get(name) ?? kind) === kind;
  const wrong = Object.entries(given).filter(([name, value]) => !isMeant(name, value));
  const texts = wrong.map(([name, value]) => `${name.slice(group.length + 1)}=${JSON.stringify(value.slice(0, 40))}`);
  const note = wrong.length === 0 ? "" : `${begin} ${texts.join(", ")}.`.slice(0, 300);
  return `${message.split(begin)[0]}${note}`;
}

const noteIn = ({ conditions }: KindStatus) => conditionOf(conditions, "Ready")?.message.split(begin)[1];

/** One Warning when they appear. @param next the status that was stored */
export function eventsOfIgnored(before: KindStatus, next: KindStatus): readonly ResourceEvent[] {
  const [known, note] = [before, next].map(noteIn);
  return note === undefined || note === known ? [] : [warning("AnnotationIgnored", "Reconcile", begin.trim() + note)];
}
