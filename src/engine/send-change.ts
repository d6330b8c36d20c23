/** Sends one change to the control plane, after storing what a crash must not lose. */
import type { Clock } from "../domain/clock.ts";
import type { ControlPlane } from "../domain/control-plane.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import { PutOffError } from "../domain/leader-fence.ts";
import type { EventRecorder } from "../domain/resource-store.ts";
import { isSameStored } from "../domain/same-stored.ts";
import type { Kind, KindInProject, PlanOf, Step } from "./kind.ts";
import type { KindTypes } from "./kind-types.ts";
import { type ResourceMemory, rememberOperations } from "./memory.ts";
import { withoutEmpty } from "./summary.ts";

export interface ChangeToSend<T extends KindTypes> {
  readonly clock: Clock;
  readonly events: EventRecorder;
  readonly kind: Kind<T>;
  readonly scope: KindInProject<T>;
  readonly memory: ResourceMemory<T>;
  readonly step: Step<T> & { readonly plan: T["plan"] };
  readonly controlPlane: ControlPlane;
  /** Whether the control plane is still the one of the decision. The waits before the request may be long. */
  readonly isCurrent: () => boolean;
  /** Decides again, for a newer version of the resource and the same reads. */
  readonly decideFor: (resource: T["resource"]) => PlanOf<T>;
}

export type Sent<T extends KindTypes> =
  | { readonly kind: "Accepted"; readonly resource: T["resource"]; readonly answer: T["answer"] }
  | { readonly kind: "Failed"; readonly resource: T["resource"]; readonly error: ControlPlaneError }
  /** Nothing was sent, because the API server would not accept what follows. */
  | { readonly kind: "Refused"; readonly applied: T["applied"] }
  /** Nothing was sent, because the newest resource, its grants or its control plane no longer lead to this change. */
  | { readonly kind: "Outdated" };

/**
 * Sends the one change that a reconcile has chosen for its project: dry run, note, last check, one request.
 *
 * The last check takes the answer to the write of the note, and what the watch has shown. Without a note the resource is
 * read. If one of them is gone, paused, edited or deleted since the decision, or leads to another change, nothing is sent.
 * @throws KubernetesError when the resource cannot be stored or read; PutOffError when nothing may be sent.
 */
export async function sendChange<T extends KindTypes>(change: ChangeToSend<T>): Promise<Sent<T>> {
  const { scope, step, events, memory } = change;
  if (!isWanted(change, change.kind.store.get(step.facts.resource.key))) {
    return { kind: "Outdated" };
  }
  const refused = await scope.tryWrites?.(step);
  if (refused !== undefined) {
    return { kind: "Refused", applied: refused };
  }
  const current = await prepare(change);
  if (current === undefined) {
    return { kind: "Outdated" };
  }
  const { failure } = memory;
  // The next try of a refused change is not announced again.
  if (failure?.generation !== current.generation || failure.error.effect === "Unknown") {
    for (const event of scope.traitsOf(step.plan).announced ?? []) events.record(current, event);
  }
  try {
    const facts = { ...step.facts, resource: current };
    return { kind: "Accepted", resource: current, answer: await request(change, { ...step, facts }) };
  } catch (error) {
    if (!(error instanceof ControlPlaneError)) {
      throw error;
    }
    return { kind: "Failed", resource: current, error };
  }
}

/** Stores the note, and makes the last check. @returns `undefined`: the change must not be sent */
async function prepare<T extends KindTypes>(change: ChangeToSend<T>): Promise<T["resource"] | undefined> {
  const { clock, scope, memory, step } = change;
  const { store } = change.kind;
  const { resource } = step.facts;
  const { attempt } = scope.traitsOf(step.plan);
  const note = scope.noteOf(step);
  if (attempt !== undefined && memory.posts?.attempt !== attempt) {
    memory.posts = { attempt, isUnresolved: false, sinceMs: clock.monotonicMs(), answer: undefined };
  }
  const isNoted = note !== undefined && !isSameStored(note, resource.status);
  const current = isNoted ? await store.patchStatus(resource, note) : await store.read(resource.key);
  // The write may have been answered slowly. The watch then knows what a person did meanwhile.
  if (isWanted(change, current) && isWanted(change, store.get(resource.key))) {
    return current;
  }
  if (isNoted) {
    await withdraw(change, note);
  }
  return undefined;
}

function isWanted<T extends KindTypes>(change: ChangeToSend<T>, newest: T["resource"] | undefined): boolean {
  const { step, scope, decideFor } = change;
  const { uid, generation } = step.facts.resource;
  if (newest?.uid !== uid || newest.generation !== generation || !change.isCurrent()) {
    return false;
  }
  const plan = decideFor(newest);
  return plan.kind === step.plan.kind && scope.traitsOf(plan as T["plan"]).name === scope.traitsOf(step.plan).name;
}

/**
 * Takes back what the note has changed, because nothing was sent. It may name a control plane that the resource no
 * longer uses, and then the resource would be Stalled. @throws KubernetesError
 */
async function withdraw<T extends KindTypes>({ kind, step }: ChangeToSend<T>, note: T["status"]): Promise<void> {
  const { key, uid, status: before } = step.facts.resource;
  const current = await kind.store.current(key);
  if (current?.uid !== uid) {
    return;
  }
  const fields = (status: object) => ({ ...status }) as Record<string, unknown>;
  const [formerly, noted, now] = [fields(before), fields(note), fields(current.status)] as const;
  const restored = Object.keys({ ...formerly, ...now }).map((name) => {
    return [name, isSameStored(now[name], noted[name]) ? formerly[name] : now[name]];
  });
  await kind.store.patchStatus(current, withoutEmpty(Object.fromEntries(restored)));
}

/** Sends exactly one request. Until it is answered, a create may take effect at any moment. */
async function request<T extends KindTypes>(
  { clock, scope, memory, controlPlane }: ChangeToSend<T>,
  step: Step<T> & { readonly plan: T["plan"] },
): Promise<T["answer"]> {
  const { attempt } = scope.traitsOf(step.plan);
  const note = (isUnresolved: boolean, answer?: T["answer"]) => {
    if (attempt !== undefined) memory.posts = { attempt, isUnresolved, sinceMs: clock.monotonicMs(), answer };
  };
  const { posts: before } = memory;
  note(true);
  try {
    const answer = await scope.send(step, controlPlane);
    note(false, answer);
    rememberOperations(
      memory,
      answer.operations.map(({ id }) => id),
    );
    return answer;
  } catch (error) {
    // A refusal says nothing about an earlier request under the same note.
    if (isNeverApplied(error)) memory.posts = before;
    throw error;
  }
}

/**
 * Whether an error proves that the request had no effect. After any other error, also after a bug of ours, the
 * request may have had one.
 */
export function isNeverApplied(error: unknown): boolean {
  return error instanceof PutOffError || (error instanceof ControlPlaneError && error.effect === "NotApplied");
}
