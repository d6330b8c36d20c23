/** Sends one change to the control plane, after storing what a crash must not lose. */
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import { PutOffError } from "../domain/leader-fence.ts";
import { isSameStored } from "../domain/same-stored.ts";
import type { Target } from "./decision.ts";
import type { CallerAccess, KindTypes, Step } from "./kind.ts";
import type { ResourceMemory } from "./memory.ts";

/** The calls of one reconcile, which reads, and sends at most one change. */
export interface Calls extends CallerAccess {
  /** Whether the control plane is still the one of the decision. The waits before the request may be long. */
  readonly isCurrent: () => boolean;
}

interface Change<T extends KindTypes> {
  readonly target: Target<T>;
  readonly calls: Calls;
  readonly step: Step<T> & { readonly plan: T["plan"] };
}

export type Sent<T extends KindTypes> =
  | { readonly kind: "Accepted"; readonly resource: T["resource"]; readonly answer: T["answer"] }
  | { readonly kind: "Failed"; readonly resource: T["resource"]; readonly error: ControlPlaneError }
  /** Nothing was sent, because the newest resource, its grants or its control plane no longer lead to this change. */
  | { readonly kind: "Outdated" };

/**
 * Sends the one change that a reconcile has chosen for its project: dry run, note, last check, one request.
 *
 * The last check takes the answer to the write of the note, and what the watch has shown. Without a note the resource is
 * read. If one of them is gone, paused, edited or deleted since the decision, or leads to another change, nothing is sent.
 * @throws KubernetesError when the resource cannot be stored or read; PutOffError when nothing may be sent.
 */
export async function sendChange<T extends KindTypes>(target: Target<T>, calls: Calls): Promise<Sent<T>> {
  const { context, kind, memory, scope, plan } = target;
  await calls.reserve();
  const step = { ...target.step({ kind: "NothingSent" }), plan };
  const change: Change<T> = { target, calls, step };
  if (!isWanted(change, kind.store.get(step.facts.resource.key))) {
    return { kind: "Outdated" };
  }
  await scope.tryWrites?.(step);
  const current = await prepare(change);
  if (current === undefined) {
    return { kind: "Outdated" };
  }
  const { failure } = memory;
  // The next try of a refused change is not announced again.
  if (failure?.generation !== current.generation || failure.error.effect === "Unknown") {
    for (const event of scope.traitsOf(step.plan).announced ?? []) context.events.record(current, event);
  }
  try {
    return { kind: "Accepted", resource: current, answer: await post(change, current) };
  } catch (error) {
    if (!(error instanceof ControlPlaneError)) {
      throw error;
    }
    return { kind: "Failed", resource: current, error };
  }
}

/** Stores the note, and makes the last check. @returns `undefined`: the change must not be sent */
async function prepare<T extends KindTypes>(change: Change<T>): Promise<T["resource"] | undefined> {
  const { step } = change;
  const { context, memory, scope, kind } = change.target;
  const { store } = kind;
  const { resource } = step.facts;
  const { attempt } = scope.traitsOf(step.plan);
  const note = scope.noteOf(step);
  beginPosts(memory, attempt, context.clock.monotonicMs());
  const isNew = note !== undefined && !isSameStored(note, resource.status);
  const current = isNew ? await store.patchStatus(resource, note) : await store.read(resource.key);
  // The write may have been answered slowly. The watch then knows what a person did meanwhile.
  if (isWanted(change, current) && isWanted(change, store.get(resource.key))) {
    return current;
  }
  // Nothing was sent. The note may name a control plane that the resource no longer uses, and would make it Stalled.
  const newest = isNew ? await store.current(resource.key) : undefined;
  if (newest?.uid === resource.uid) await store.patchStatus(newest, resource.status);
  return undefined;
}

function isWanted<T extends KindTypes>(change: Change<T>, newest: T["resource"] | undefined): boolean {
  const { step, target, calls } = change;
  const { uid, generation } = step.facts.resource;
  if (newest?.uid !== uid || newest.generation !== generation || !calls.isCurrent()) {
    return false;
  }
  const { scope, context } = target;
  // The newest version and now, with the same reads: a window may have closed.
  const plan = target.decide(newest, context.clock.nowMs());
  return plan.kind === step.plan.kind && scope.traitsOf(plan as T["plan"]).name === scope.traitsOf(step.plan).name;
}

/**
 * If a note in status is new to this process, an earlier process may have sent its request. An answer is forgotten when
 * status holds it.
 */
export function notePosts<T extends KindTypes>(of: Pick<Target<T>, "context" | "memory" | "scope" | "resource">): void {
  const { context, memory, scope, resource } = of;
  const attempt = scope.openAttempt(resource);
  if (attempt !== undefined && attempt !== memory.posts?.attempt) {
    memory.posts = { attempt, isUnresolved: true, sinceMs: context.clock.monotonicMs(), answer: undefined };
  }
  const { posts } = memory;
  if (posts?.answer !== undefined && (scope.hasResult?.(resource) ?? attempt !== posts.attempt)) {
    memory.posts = undefined;
  }
}

/** A note is about to be stored, so `notePosts` does not take it for that of an earlier process: no request was sent under it. @param attempt `undefined`: the change is no create */
function beginPosts(memory: Pick<ResourceMemory, "posts">, attempt: string | undefined, nowMs: number): void {
  if (attempt !== undefined && memory.posts?.attempt !== attempt) {
    memory.posts = { attempt, isUnresolved: false, sinceMs: nowMs, answer: undefined };
  }
}

/** Sends one request. Until that of a create is answered, it may take effect at any moment. @throws what `send` throws */
async function post<T extends KindTypes>(change: Change<T>, resource: T["resource"]): Promise<T["answer"]> {
  const { target, calls, step } = change;
  const { memory, scope, context } = target;
  const { attempt } = scope.traitsOf(step.plan);
  const { posts: before } = memory;
  const note = (isUnresolved: boolean, answer: T["answer"] | undefined) => {
    const sinceMs = context.clock.monotonicMs();
    if (attempt !== undefined) memory.posts = { attempt, isUnresolved, sinceMs, answer };
  };
  note(true, undefined);
  try {
    const answer = await scope.send({ ...step, facts: { ...step.facts, resource } }, calls.controlPlane);
    note(false, answer);
    return answer;
  } catch (error) {
    // A refusal says nothing about an earlier request under the same note.
    if (isNeverApplied(error)) memory.posts = before;
    throw error;
  }
}

/** After any other error, also after a bug of ours, the request may have had an effect. */
function isNeverApplied(error: unknown): boolean {
  return error instanceof PutOffError || (error instanceof ControlPlaneError && error.effect === "NotApplied");
}
