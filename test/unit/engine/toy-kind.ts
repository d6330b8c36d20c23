/** A kind for tests: a resource maps to one object of a fake service. The engine gives all else. */
import type { ControlPlane, Mutation } from "../../../src/domain/control-plane.ts";
import type {
  CommonPlan,
  Facts,
  Kind,
  KindInProject,
  KindStatus,
  ProjectFacts,
  Reads,
  Step,
} from "../../../src/engine/kind.ts";
import {
  commonSummary,
  conditionsAfter,
  type Summary,
  whileDeleting,
  withoutEmpty,
} from "../../../src/engine/summary.ts";
import { annotations } from "../../../src/resource/names.ts";
import { isBeingDeleted, type ParsedAs, type StoredObject } from "../../../src/resource/stored-object.ts";
import type { FakeStore } from "../../support/fakes/fake-store.ts";

export interface ToyStatus extends KindStatus {
  readonly objectId?: string | undefined;
  /** The note of a create without a result. */
  readonly openCreate?: string | undefined;
}

export interface Toy extends StoredObject {
  readonly spec: ParsedAs<{ readonly size: number }>;
  readonly status: ToyStatus;
}

type ToyPlan =
  | { readonly kind: "Create"; readonly size: number; readonly attempt: string }
  | { readonly kind: "Resize" | "Settled"; readonly size: number; readonly id: string }
  | { readonly kind: "Delete"; readonly id: string };

interface ToyTypes {
  readonly resource: Toy;
  readonly status: ToyStatus;
  readonly plan: ToyPlan;
  readonly own: "Read";
  readonly answer: Pick<Mutation, "operations"> & Partial<Mutation>;
  readonly applied: undefined;
  readonly hint: undefined;
}

export const toyFinalizer = "endpoint-operator.dev/toy";
const wording = { deleting: "The object is deleted.", deletionRemedy: "Ask for help." };

export class ToyKind implements Kind<ToyTypes> {
  readonly finalizer = toyFinalizer;
  readonly store: FakeStore<Toy, ToyStatus>;
  /** Whether a create asks for the kind's own reads. */
  hasOwnReads = false;
  /** The uid of each resource for which they were made. */
  readonly ownReads: string[] = [];
  constructor(store: FakeStore<Toy, ToyStatus>) {
    this.store = store;
  }

  resourcesOf(): readonly Toy[] {
    return this.store.list();
  }

  begin({ grantOf, projectId }: ProjectFacts): KindInProject<ToyTypes> {
    return {
      deletionWork: ({ status }) => ((status.objectId ?? status.openCreate) ? "Something" : "Nothing"),
      missingGrant: ({ key }) => (grantOf(key.namespace, projectId).mayChange ? undefined : "There is no grant."),
      shownLog: ({ status }) => (status.objectId ? { since: undefined } : undefined),
      decide: (facts, reads) => decideToy(facts, this.hasOwnReads ? reads : { own: "Read", ...reads }),
      observe: async ({ resource }) => {
        this.ownReads.push(resource.uid);
        return "Read";
      },
      traitsOf: (plan) => ({
        shape: plan.kind === "Settled" ? "Rest" : "Change",
        name: "size" in plan ? `${plan.size}` : "",
        attempt: plan.kind === "Create" ? plan.attempt : undefined,
      }),
      openAttempt: ({ status }) => status.openCreate,
      noteOf: ({ plan, facts: { resource } }) =>
        plan?.kind === "Create" ? { ...resource.status, objectId: undefined, openCreate: plan.attempt } : undefined,
      send: (step, to) => sendToy(step, projectId, to),
      logOf: () => ({ state: {}, mustStore: false, ended: [], ownInFlight: [] }),
      statusOf: toyStatus,
      dueInMs: ({ plan, outcome }) =>
        plan?.kind === "Wait" ? plan.waitMs : outcome.kind === "Accepted" ? 0 : undefined,
    };
  }
}

/** As the other one, but it counts no operations. */
export class SilentToyKind extends ToyKind {
  override begin(project: ProjectFacts): KindInProject<ToyTypes> {
    const { logOf: _, ...others } = super.begin(project);
    return others;
  }
}

function decideToy(facts: Facts<ToyTypes>, { project, own }: Reads<ToyTypes>): ToyPlan | CommonPlan {
  const { resource, memory, monotonicMs, policy } = facts;
  const snapshot = project?.snapshot;
  if (snapshot === undefined) return { kind: "Look", at: "Project" };
  const named = [...snapshot.endpoints.values()].find(({ name }) => name === resource.uid);
  const id = resource.status.objectId ?? named?.id;
  if (id !== undefined && !snapshot.readsById.has(id)) return { kind: "Look", at: "Endpoint", endpointId: id };
  const object = snapshot.endpoints.get(id ?? "");
  // A create without an answer may still take effect.
  const waitMs = memory.posts?.isUnresolved ? memory.posts.sinceMs + policy.createSettleMs - monotonicMs : 0;
  if (object === undefined && waitMs > 0) {
    return { kind: "Wait", reason: "CreateUnresolved", message: "The create has no answer.", waitMs };
  }
  if (isBeingDeleted(resource) || resource.spec.kind === "Invalid") {
    return object ? { kind: "Delete", id: object.id } : { kind: "RemoveFinalizer", cause: "Gone" };
  }
  const { size } = resource.spec.spec;
  if (object === undefined) return planCreate(resource.uid, size, own);
  return { kind: object.maxUnits === size ? "Settled" : "Resize", size, id: object.id };
}

function planCreate(uid: string, size: number, own: ToyTypes["own"] | undefined): ToyPlan | CommonPlan {
  return own === undefined ? { kind: "Look", at: "Own" } : { kind: "Create", size, attempt: `create ${uid}` };
}

async function sendToy({ plan, facts: { resource } }: Step<ToyTypes>, projectId: string, to: ControlPlane) {
  const fixed = { branchId: "br-main-1", type: "ReadWrite", name: resource.uid } as const;
  if (plan?.kind === "Create") return to.createEndpoint(projectId, { ...fixed, maxUnits: plan.size });
  if (plan?.kind === "Resize") return to.updateEndpoint(projectId, plan.id, { maxUnits: plan.size });
  const deleted = plan?.kind === "Delete" ? await to.deleteEndpoint(projectId, plan.id) : undefined;
  return { operations: deleted?.operations ?? [] };
}

function objectIdAfter({ facts, plan, outcome }: Step<ToyTypes>): string | undefined {
  const answered = outcome.kind === "Accepted" ? outcome.answer.endpoint?.id : undefined;
  return answered ?? (plan?.kind === "Settled" ? plan.id : facts.resource.status.objectId);
}

function toyStatus(step: Step<ToyTypes>): ToyStatus {
  const { resource, nowMs } = step.facts;
  const own: Summary =
    step.plan?.kind === "Settled"
      ? { kind: "Ready", reason: "UpToDate", message: "The object exists." }
      : { kind: "Progressing", reason: "Updating", message: "The object changes." };
  const summary = whileDeleting(resource, commonSummary(step, wording) ?? own, wording);
  const objectId = objectIdAfter(step);
  const handledAt = resource.annotations[annotations.reconcileRequestedAt];
  const handled = { observedGeneration: resource.generation, lastHandledReconcileAt: handledAt };
  return withoutEmpty({
    ...resource.status,
    ...(objectId === undefined ? {} : { objectId, openCreate: undefined }),
    ...(summary.kind === "Unchanged" ? {} : handled),
    conditions: conditionsAfter({ resource, nowMs }, summary),
  });
}
