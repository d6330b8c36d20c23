/** What one reconcile has read and decided for one resource. What is the same for every kind is decided here. */
import type { ControlPlane } from "../domain/control-plane.ts";
import { annotations } from "../resource/names.ts";
import { isBeingDeleted, isPaused } from "../resource/stored-object.ts";
import type { PlaneProblem } from "./grant.ts";
import {
  type CommonPlan,
  commonPlan,
  type EngineContext,
  type Facts,
  type Kind,
  type KindInProject,
  type KindTypes,
  type MemoryOf,
  type Outcome,
  type PlanOf,
  type ProjectFacts,
  type Reads,
  type ShownLog,
  type Step,
  stall,
  wait,
} from "./kind.ts";
import type { ProjectReads } from "./project-reads.ts";

/** The maximum number of decisions about one resource in one reconcile, each because the one before asked for a read. */
const decisionsLimit = 24;

export interface DecisionOf<T extends KindTypes> {
  readonly kind: Pick<Kind<T>, "finalizer">;
  readonly scope: KindInProject<T>;
  readonly project: ProjectFacts;
  readonly memory: MemoryOf<T>;
  readonly resource: T["resource"];
}

/** One resource in one reconcile, with what its result is stored and reported by. */
export type Target<T extends KindTypes> = Decision<T> & { readonly context: EngineContext; readonly kind: Kind<T> };

export class Decision<T extends KindTypes> {
  readonly project: ProjectFacts;
  readonly memory: MemoryOf<T>;
  readonly #finalizer: string;
  readonly #around: string;
  scope: KindInProject<T>;
  resource: T["resource"];
  plan: PlanOf<T>;
  readonly isChanged: boolean;
  readonly isDue: boolean;
  #reads: Reads<T> = {};

  constructor({ kind, scope, project, memory, resource }: DecisionOf<T>) {
    this.#finalizer = kind.finalizer;
    this.project = project;
    this.memory = memory;
    this.scope = scope;
    this.resource = resource;
    const grant = JSON.stringify(project.grantOf(resource.key.namespace, project.projectId));
    this.#around = [grant, project.problem?.message, scope.basisOf?.(resource)].join(" ");
    this.isChanged = memory.decidedFrom !== this.basis();
    this.isDue = this.isChanged || memory.dueAtMs <= project.monotonicMs;
    this.plan = this.decide();
  }

  /** The reads of the project; `undefined`: nothing was read. */
  get projectReads(): ProjectReads | undefined {
    return this.#reads.project;
  }

  get shownLog(): ShownLog | undefined {
    return this.scope.shownLog?.(this.resource);
  }

  get shape(): "Change" | "Apply" | "Rest" | "Look" | "Idle" | "RemoveFinalizer" {
    switch (this.plan.kind) {
      case "Look":
      case "Idle":
      case "RemoveFinalizer":
        return this.plan.kind;
      case "Wait":
      case "Stall":
        return "Rest";
      default:
        return this.scope.traitsOf(this.plan).shape;
    }
  }

  /** With another text the resource is decided again. Grants and other resources are those of the begin of the reconcile. */
  basis(): string {
    return `${this.resource.resourceVersion} ${this.#around}`;
  }

  /** Decides for this or a newer version of the resource, as of the begin of the reconcile or later. */
  decide(resource = this.resource, nowMs = this.project.nowMs): PlanOf<T> {
    const facts = { ...this.#facts(resource), nowMs };
    const standing = { finalizer: this.#finalizer, problem: this.project.problem };
    return planStanding(this.scope, facts, standing) ?? this.scope.decide(facts, this.#reads);
  }

  /**
   * Makes the reads that the decision asks for, and decides after each. @throws ControlPlaneError
   * @param mayObserve whether the kind's own reads are made
   */
  async readAndDecide(from: ControlPlane, reads: ProjectReads, mayObserve = true): Promise<void> {
    this.#reads = { project: reads };
    this.plan = this.decide();
    for (let times = 0; times < decisionsLimit; times += 1) {
      const plan = commonPlan(this.plan);
      if (plan?.kind !== "Look" || plan.at === "Project" || (plan.at === "Own" && !mayObserve)) {
        return;
      }
      if (plan.at === "Own") {
        await this.#observe(from);
      } else if (!(await reads.readById(plan.endpointId))) {
        return;
      }
      this.plan = this.decide();
    }
  }

  /** Lets the kind read what needs no control plane, if its decision asks for that. */
  async readLocally(): Promise<void> {
    const plan = commonPlan(this.plan);
    if (plan?.kind === "Look" && plan.at === "Own") {
      await this.#observe(undefined);
      this.plan = this.decide();
    }
  }

  async #observe(from: ControlPlane | undefined): Promise<void> {
    this.#reads = { ...this.#reads, own: await this.scope.observe?.(this.#facts(), this.#reads, from) };
  }

  step(outcome: Outcome<T>): Step<T> {
    const isUndecided = outcome.kind === "Failed" && this.plan.kind === "Look";
    return { facts: this.#facts(), reads: this.#reads, plan: isUndecided ? undefined : this.plan, outcome };
  }

  #facts(resource = this.resource): Facts<T> {
    const { nowMs, monotonicMs, identity, policy, grantOf, projectId } = this.project;
    const { isDue, isChanged } = this;
    const grant = grantOf(resource.key.namespace, projectId);
    return { nowMs, monotonicMs, identity, policy, resource, memory: this.memory, grant, isDue, isChanged };
  }
}

/** Pauses, deletions without work and missing rights, in their order. They need no read. @returns `undefined`: the kind decides */
export function planStanding<T extends KindTypes>(
  kind: KindInProject<T>,
  facts: Facts<T>,
  { finalizer, problem }: { readonly finalizer: string; readonly problem: PlaneProblem | undefined },
): CommonPlan | undefined {
  const { resource } = facts;
  const isDeleted = isBeingDeleted(resource);
  if (isDeleted && !resource.finalizers.includes(finalizer)) {
    return { kind: "Idle", dueInMs: undefined };
  }
  const isKept = !isDeleted && kind.isKeptWhilePaused?.(resource);
  if (isPaused(resource) && !isKept) {
    return paused;
  }
  const held = isDeleted ? kind.deletionWork(resource) : "Something";
  if (held !== "Something") {
    return { kind: "RemoveFinalizer", cause: held === "Nothing" ? "NeverCreated" : "Retained" };
  }
  const rights = planRights(kind, facts);
  if (problem !== undefined && (isDeleted || rights === undefined)) {
    return stall(problem.reason, problem.message);
  }
  if (problem === undefined && kind.isProven?.(resource) === false) {
    return unproven(isDeleted);
  }
  return rights;
}

function planRights<T extends KindTypes>(kind: KindInProject<T>, facts: Facts<T>): CommonPlan | undefined {
  const { resource, memory } = facts;
  if (!isBeingDeleted(resource)) {
    // The answer to a create is stored first, whatever spec says now.
    if (memory.posts?.answer !== undefined) return undefined;
    if (resource.spec.kind === "Invalid") return invalidSpec(resource.spec.problems);
  }
  const missing = kind.missingGrant(resource);
  return missing === undefined ? undefined : stall("ProjectNotGranted", missing);
}

function unproven(isDeleted: boolean): CommonPlan {
  const remedy = isDeleted
    ? "To remove this resource and leave all that as it is, set each deletionPolicy in spec to Retain."
    : "Restore the control plane, the URL and the CLUSTER_ID that the records name. Or set each deletionPolicy in spec to Retain, delete this resource, and create it again. A new ComputeEndpoint then needs spec.adoption, and a new DatabaseBranch another spec.name.";
  const message = `The records in status were not made for this resource in this cluster with this control plane, or cannot be read. The operator changes nothing that they name. ${remedy}`;
  return stall("IdentityUnproven", message);
}

export function invalidSpec(problems: string): CommonPlan {
  return stall("InvalidSpec", `The stored spec is not valid: ${problems}. Apply a corrected spec.`);
}

export const paused = wait(
  "Paused",
  `Paused: the operator changes nothing, deletion included. Remove the annotation ${annotations.paused} to continue.`,
);
