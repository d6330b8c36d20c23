/** The steps "choose" and "act" of a reconcile. */

import { nextFailure } from "../decide/call-failures.ts";
import { type ChangeUrgency, orderOfChanges } from "../decide/choose-mutation.ts";
import type { Outcome, ResourceStep } from "../decide/observation.ts";
import type { Mutation, Plan } from "../decide/plan.ts";
import { situationOf } from "../decide/plan-resource.ts";
import { entryOf, isMutation } from "../decide/plan-table.ts";
import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { Operation } from "../domain/operation.ts";
import { isBeingDeleted } from "../resource/compute-endpoint.ts";
import { deleteAbandoned } from "./gone-resources.ts";
import { inParallel } from "./in-parallel.ts";
import type { Decided, ProjectLook } from "./look.ts";
import { noteStarted } from "./observe-project.ts";
import type { KindRound } from "./project-kind.ts";
import { remember } from "./project-memory.ts";
import type { CarryOutContext } from "./reconcile-context.ts";
import { inResourceSpan } from "./report.ts";
import type { Round, WorkedResource } from "./round.ts";
import { isAskedFor, isLocked } from "./schedule.ts";
import { sendChange } from "./send-change.ts";
import { guardedStep, settleStep, storesAtOnce } from "./settle-step.ts";

/** A change that waited for the request budget for more than this many milliseconds is decided again. */
const budgetWaitLimitMs = 5_000;

/** The maximum number of waiting changes that one reconcile decides again until it finds one that is still wanted. */
const triesLimit = 50;

/** The resource whose change this reconcile sends, with its decision. */
type Chosen = Decided & { readonly plan: Mutation };

/** The resource of another kind than ComputeEndpoint whose change this reconcile sends. */
interface Further {
  readonly kind: KindRound;
  readonly uid: string;
}

/** The result of choosing: at most one change to send, and the decisions that send nothing. */
interface Choice {
  readonly chosen?: Chosen;
  readonly further?: Further;
  readonly others: readonly Decided[];
}

/** Sends at most one change to the control plane, and meanwhile stores the status of the other resources. */
export async function carryOut(
  context: CarryOutContext,
  round: Round,
  { look, decided }: { readonly look: ProjectLook; readonly decided: readonly Decided[] },
): Promise<void> {
  const ready = withoutDoubleAdoption(decided);
  for (const each of ready) {
    noteWish(round, each);
  }
  const { snapshot, operations } = look;
  const mayChange = !isLocked(round.project, round.facts.monotonicMs);
  const seen = { objects: context.controlPlane, snapshot, operations, mayChange };
  await Promise.all(round.kinds.map((kind) => kind.look(seen)));
  const { chosen, further, others } = await choose(context, round, { look, decided: ready });
  const settle = (each: Decided) =>
    guardedStep(context, round, each.worked, () =>
      settleStep(context, round, stepOf(round, look, each), look.operations),
    );
  await Promise.all([
    // This begins before the change, which gives the worker back at once.
    context.whileWorking(async () => {
      const kinds = round.kinds.map((kind) => kind.settle(further?.uid));
      await Promise.all([inParallel(others, storesAtOnce, settle), ...kinds]);
    }),
    chosen !== undefined
      ? guardedStep(context, round, chosen.worked, () => change(context, round, look, chosen))
      : further !== undefined
        ? changeFurther(context, round, further)
        : deleteAbandoned(context, round),
  ]);
}

/** Sends the change of a resource of a further kind. */
async function changeFurther(context: CarryOutContext, { project }: Round, { kind, uid }: Further): Promise<void> {
  const { isCurrent, reserved: objects } = context;
  const sent = await kind.change(uid, { reserve: () => reserveInTime(context), isCurrent, objects });
  const nowMs = context.clock.monotonicMs();
  if (sent.kind === "Accepted") {
    project.lastChange = { namespace: sent.namespace, atMs: nowMs };
    noteStarted(project, sent.operations, nowMs);
  } else if (sent.kind === "Failed" && sent.error.reason === "Locked") {
    project.lockedUntilMs = sent.retryAtMs;
  }
}

/**
 * Removes a decision that would record the same endpoint as an earlier decision of this reconcile. Its resource is
 * decided again.
 */
function withoutDoubleAdoption(decided: readonly Decided[]): readonly Decided[] {
  const recorded = new Set<string>();
  return decided.filter(({ plan, worked }) => {
    const endpointId = recordedIdOf(plan);
    if (endpointId !== undefined && recorded.has(endpointId)) {
      worked.entry.dueAtMs = 0;
      return false;
    }
    recorded.add(endpointId ?? "");
    return true;
  });
}

function recordedIdOf(plan: Plan): string | undefined {
  return "ownership" in plan ? plan.ownership.endpointId : undefined;
}

/** Remembers since when a resource waits to send a change. A resource that has none to send now waits no longer. */
function noteWish({ facts }: Round, { plan, worked, observation }: Decided): void {
  const { entry } = worked;
  const isWish = isMutation(plan) && heldBack({ plan, worked, observation }) === undefined;
  const sinceMs = entry.waiting?.sinceMs ?? facts.monotonicMs;
  entry.waiting = isWish ? { sinceMs, urgency: urgencyOf(worked) } : undefined;
}

function urgencyOf({ resource }: WorkedResource): ChangeUrgency {
  if (isBeingDeleted(resource)) {
    return "Deletion";
  }
  return resource.status.createIntent === undefined ? "Other" : "OpenCreate";
}

/** Chooses the first waiting change that is still wanted. */
async function choose(
  context: CarryOutContext,
  round: Round,
  { look, decided }: { readonly look: ProjectLook; readonly decided: readonly Decided[] },
): Promise<Choice> {
  const byUid = new Map(decided.map((each) => [each.worked.resource.uid, each]));
  const { project } = round;
  const furtherWishes = round.kinds.flatMap((kind) => kind.wishes().map((wish) => ({ ...wish, kind })));
  const order = isLocked(project, round.facts.monotonicMs)
    ? []
    : orderOfChanges([...wishes(round), ...furtherWishes], project.lastChange?.namespace);
  for (const uid of order.slice(0, triesLimit)) {
    const wish = furtherWishes.find((further) => further.uid === uid);
    if (wish !== undefined) {
      return { further: { kind: wish.kind, uid }, others: [...byUid.values()] };
    }
    const worked = round.get(uid);
    const each = byUid.get(uid) ?? (worked && (await tryAgain(context, round, { look, worked })));
    if (each === undefined) {
      continue;
    }
    byUid.set(uid, each);
    if (isMutation(each.plan) && heldBack(each) === undefined && look.allows(each)) {
      byUid.delete(uid);
      return { chosen: { ...each, plan: each.plan }, others: [...byUid.values()] };
    }
  }
  return { others: [...byUid.values()] };
}

function wishes({ worked }: Round) {
  return worked.flatMap(({ resource: { uid, key }, entry: { waiting } }) =>
    waiting === undefined ? [] : [{ uid, namespace: key.namespace, ...waiting }],
  );
}

/**
 * Decides a waiting resource again.
 * @returns `undefined` if a read fails, or the resource is gone or replaced; the next waiting resource is then tried
 */
async function tryAgain(
  context: CarryOutContext,
  round: Round,
  again: { readonly look: ProjectLook; readonly worked: WorkedResource },
): Promise<Decided | undefined> {
  let each: Decided | undefined;
  await guardedStep(context, round, again.worked, async () => {
    each = await decideAgain(context, round, again);
  });
  return each;
}

/**
 * Decides a waiting resource again, because its decision comes from an earlier reconcile and an older snapshot.
 * @returns `undefined` if the resource is gone or replaced
 * @throws KubernetesError, ControlPlaneError when a read fails
 */
async function decideAgain(
  { store }: CarryOutContext,
  round: Round,
  { look, worked }: { readonly look: ProjectLook; readonly worked: WorkedResource },
): Promise<Decided | undefined> {
  const current = await store.current(worked.resource.key);
  if (current?.uid !== worked.resource.uid) {
    worked.entry.dueAtMs = 0;
    return undefined;
  }
  worked.resource = current;
  let each = look.decide(worked);
  if (!look.allows(each)) {
    await look.see([worked]);
    each = look.decide(worked);
  }
  noteWish(round, each);
  return each;
}

/** Sends the change, and stores the result. If the change is out of date by then, the resource is decided again. */
function change(context: CarryOutContext, round: Round, look: ProjectLook, chosen: Chosen): Promise<void> {
  const { worked, observation, plan } = chosen;
  const { project } = round;
  const { entry } = worked;
  return inResourceSpan(context, worked.resource, async () => {
    const local = round.observe(worked);
    const step = { local, observation, plan, outcome: { kind: "NothingSent" } } as const;
    if (!(await reserveInTime(context))) {
      // The project may have changed during the long wait, so the next reconcile observes it again.
      entry.dueAtMs = 0;
      return;
    }
    const mayStillSend = () => context.isCurrent() && situationOf(round.observe(worked)).kind !== "NotGranted";
    if (!mayStillSend()) {
      // While the change waited, the grant was withdrawn, or the control plane was changed or became unusable.
      entry.waiting = undefined;
      entry.dueAtMs = 0;
      return;
    }
    const sent = await sendChange({ ...context, controlPlane: context.reserved, project, mayStillSend }, step, entry);
    entry.waiting = undefined;
    if (sent.kind === "Outdated") {
      entry.dueAtMs = 0;
      return;
    }
    worked.resource = sent.resource;
    const nowMs = context.clock.monotonicMs();
    let outcome: Outcome;
    if (sent.kind === "Accepted") {
      project.lastChange = { namespace: sent.resource.key.namespace, atMs: nowMs };
      outcome = { kind: "Accepted", answer: sent.answer };
    } else {
      outcome = noteRefusal(context, round, { look, chosen, error: sent.error });
    }
    // The answer has changed memory and resource, so they are observed again.
    const after = round.observe(worked);
    await settleStep(context, round, { worked, step: { local: after, observation, plan, outcome } }, look.operations);
  });
}

/** Waits for the request budget. @returns whether the decision is still recent then. @throws ControlPlaneError */
async function reserveInTime({ clock, reserve }: CarryOutContext): Promise<boolean> {
  const askedMs = clock.monotonicMs();
  await reserve();
  return clock.monotonicMs() - askedMs <= budgetWaitLimitMs;
}

/**
 * Adds a failure to the series of failures of the resource, and notes when the change is tried again. After a 423 all
 * changes of the project wait until then.
 */
function noteRefusal(
  context: CarryOutContext,
  round: Round,
  { look, chosen, error }: { readonly look: ProjectLook; readonly chosen: Chosen; readonly error: ControlPlaneError },
): Outcome {
  const { project } = round;
  const { entry, resource } = chosen.worked;
  const nowMs = context.clock.monotonicMs();
  const needsPerson = entryOf(chosen.plan).conflictStall !== undefined;
  const latest = { error, generation: resource.generation, nowMs, needsPerson };
  const failure = nextFailure(entry.memory.failure, latest, context);
  remember(entry, { failure });
  if (error.reason === "Locked") {
    project.lockedUntilMs = failure.retryAtMs;
  }
  return { kind: "Failed", error, forMs: nowMs - failure.sinceMs, lockHolder: lockHolderIn(round, look) };
}

function lockHolderIn({ project }: Round, { operations }: ProjectLook): Operation | undefined {
  const [id] = project.lockHolders.keys();
  return id === undefined ? undefined : operations.byId.get(id);
}

/** Makes the step of a decision that sends nothing. If the endpoint could not be read by id, the step reports that. */
function stepOf(round: Round, look: ProjectLook, each: Decided): { worked: WorkedResource; step: ResourceStep } {
  const { worked, observation, plan } = each;
  const local = round.observe(worked);
  const readError = look.readErrorOf(worked);
  const { entry } = worked;
  const before = entry.readFailure;
  entry.readFailure = readError && {
    reason: readError.reason,
    sinceMs: before?.reason === readError.reason ? before.sinceMs : round.facts.monotonicMs,
  };
  if (readError !== undefined) {
    const forMs = round.facts.monotonicMs - (entry.readFailure?.sinceMs ?? 0);
    const outcome = { kind: "Failed", error: readError, forMs, lockHolder: undefined } as const;
    return { worked, step: { local, observation: undefined, plan: undefined, outcome } };
  }
  return { worked, step: { local, observation, plan, outcome: outcomeOf(round, look, each) } };
}

function outcomeOf(round: Round, look: ProjectLook, each: Decided): Outcome {
  const { facts, project } = round;
  if (!isMutation(each.plan)) {
    return { kind: "NothingSent" };
  }
  const failure = heldBack(each);
  if (failure !== undefined) {
    const forMs = facts.monotonicMs - failure.sinceMs;
    return { kind: "Failed", error: failure.error, forMs, lockHolder: lockHolderIn(round, look) };
  }
  const sinceMs = each.worked.entry.waiting?.sinceMs ?? facts.monotonicMs;
  const lastChangeMs = project.lastChange?.atMs ?? Number.NEGATIVE_INFINITY;
  const stillMs = facts.monotonicMs - Math.max(sinceMs, lastChangeMs);
  return { kind: "Deferred", waitedMs: facts.monotonicMs - sinceMs, stillMs };
}

/**
 * Returns the failure that holds a change back; `undefined`: the change may be sent. A failed change waits for its
 * retry time. It does not wait if a person asks for a reconcile, or spec has changed, or the snapshot shows that the
 * cause of a 409 is gone.
 */
function heldBack({ worked, observation, plan }: Decided) {
  const { failure } = worked.entry.memory;
  if (failure === undefined || isAskedFor(worked.resource)) {
    return undefined;
  }
  const isObstacleGone = failure.error.reason === "Conflict" && entryOf(plan).isObstacleGone(plan, observation.project);
  const isHeld = failure.generation === worked.resource.generation && observation.monotonicMs < failure.retryAtMs;
  return isHeld && !isObstacleGone ? failure : undefined;
}
