/** One reconcile of one project: its resources, and what the operator knows about them without the control plane. */
import { type Claim, claimOf, mayClaimAt, ProjectClaims } from "../decide/claims.ts";
import { type Identity, isIdentityProven } from "../decide/identity.ts";
import type { LocalObservation, Observation, Policy } from "../decide/observation.ts";
import type { Plan } from "../decide/plan.ts";
import { isLocal, isReleasedAtOnce, situationOf } from "../decide/plan-resource.ts";
import type { GrantOf, PlaneProblem } from "../decide/project-grant.ts";
import {
  type ComputeEndpoint,
  isBeingDeleted,
  planeOf,
  projectKeysOf,
  workKeyOf,
  workProjectOf,
} from "../resource/compute-endpoint.ts";
import { conditionOf } from "../resource/conditions.ts";
import { parseProjectKey } from "../resource/control-plane-resource.ts";
import { annotations } from "../resource/names.ts";
import type { ControlPlaneUnit, KindRound, ReconcileContext } from "./ports.ts";
import { entryFor, type ProjectMemory, type ResourceEntry } from "./project-memory.ts";

export interface WorkedResource {
  resource: ComputeEndpoint;
  readonly entry: ResourceEntry;
}

export interface Decided {
  readonly worked: WorkedResource;
  readonly observation: Observation;
  readonly plan: Plan;
}

interface RoundFacts {
  /** The start of the reconcile, in epoch milliseconds. */
  readonly nowMs: number;
  readonly monotonicMs: number;
  readonly identity: Identity;
  readonly policy: Policy;
  /** Why the control plane cannot be used. @default it can be used */
  readonly planeProblem?: PlaneProblem | undefined;
}

export class Round {
  readonly facts: RoundFacts;
  readonly project: ProjectMemory;
  /** Every resource that names the project of this control plane in its spec or in its records. */
  readonly all: readonly ComputeEndpoint[];
  /** Resources of other control planes that name the project and may claim endpoints at the same URL. */
  readonly elsewhere: readonly ComputeEndpoint[];
  readonly #grantOf: GrantOf;
  /** The resources that this reconcile began to work on, including those that it left out later. */
  readonly #own: readonly WorkedResource[];
  readonly #worked: Map<string, WorkedResource>;

  constructor(
    facts: RoundFacts,
    project: ProjectMemory,
    resources: {
      readonly all: readonly ComputeEndpoint[];
      readonly worked: readonly WorkedResource[];
      readonly grantOf: GrantOf;
      readonly elsewhere?: readonly ComputeEndpoint[];
    },
  ) {
    this.#grantOf = resources.grantOf;
    this.facts = facts;
    this.project = project;
    this.all = resources.all;
    this.elsewhere = resources.elsewhere ?? [];
    this.#own = resources.worked;
    this.#worked = new Map(resources.worked.map((worked) => [worked.resource.uid, worked]));
  }

  get worked(): readonly WorkedResource[] {
    return [...this.#worked.values()];
  }

  get(uid: string): WorkedResource | undefined {
    return this.#worked.get(uid);
  }

  /** Leaves a resource out of the rest of this reconcile: it was released, is gone, or the work for it failed. */
  leaveOut({ resource }: WorkedResource): void {
    this.#worked.delete(resource.uid);
  }

  observe({ resource, entry }: WorkedResource): LocalObservation {
    const grant = this.#grantOf(resource.key.namespace, workProjectOf(resource));
    return { ...this.facts, resource, memory: entry.memory, grant };
  }

  /** Returns the resources for which the control plane may be read. */
  lookable(): readonly WorkedResource[] {
    return this.worked.filter((worked) => this.#isLookable(worked));
  }

  #isLookable(worked: WorkedResource): boolean {
    return !isLocal(situationOf(this.observe(worked))) || this.isObservable(worked);
  }

  /**
   * Whether the endpoint of a resource may be read, even if the decision needs no control plane. The resource must own
   * the endpoint, and be deleted or have a grant. `false` while the control plane cannot be used.
   */
  isObservable(worked: WorkedResource): boolean {
    const { resource } = worked;
    if (this.facts.planeProblem !== undefined) {
      return false;
    }
    const isProven = resource.status.ownership !== undefined && isIdentityProven(resource, this.facts.identity);
    return isProven && (isBeingDeleted(resource) || this.observe(worked).grant.mayChange);
  }

  /** Whether no resource of this reconcile gives a right to read the project. False if there is no resource. */
  isUngranted(): boolean {
    const isRefused = (worked: WorkedResource) => this.#isRefused(worked);
    return this.#own.length > 0 && this.#own.every(isRefused);
  }

  #isRefused(worked: WorkedResource): boolean {
    const local = this.observe(worked);
    return situationOf(local).kind === "NotGranted" || (!local.grant.mayChange && !this.#isLookable(worked));
  }

  /** Makes those resources due that are Stalled for a reason which another resource of the project can end. */
  wakeWaiting(): void {
    for (const { resource, entry } of this.worked) {
      if (stallsByOthers.includes(conditionOf(resource.status.conditions, "Stalled")?.reason ?? "")) {
        entry.dueAtMs = this.facts.monotonicMs;
      }
    }
  }

  /** Includes resources of other control planes at the same URL. */
  claims(): ProjectClaims {
    const { project, facts } = this;
    const claims: readonly Claim[] = this.all.map((stored) => {
      const resource = this.get(stored.uid)?.resource ?? stored;
      const memory = project.resources.get(resource.uid)?.memory;
      const answeredEndpointId = memory?.answeredCreate?.endpoint.id;
      return claimOf(resource, facts.identity, answeredEndpointId);
    });
    return new ProjectClaims([...claims, ...this.elsewhere.map((each) => this.#claimElsewhere(each))], facts.identity);
  }

  /**
   * Returns the claim of a resource that uses another control plane: the endpoint that it owns or may have made. The
   * endpoint that it asks for does not matter here.
   */
  #claimElsewhere(resource: ComputeEndpoint): Claim {
    return { ...claimOf(resource, this.facts.identity), wish: undefined };
  }
}

/** Stalled reasons that can end when another resource of the project changes. */
const stallsByOthers: readonly string[] = ["ClaimedByAnother", "BranchOccupied", "EndpointExists", "OwnershipConflict"];

/**
 * Begins a reconcile: finds the resources of the project, and notes whether their grants have changed. It also begins
 * the rounds of the further kinds.
 */
export function beginRound(
  context: ReconcileContext,
  unit: ControlPlaneUnit,
  key: string,
): { readonly round: Round; readonly further: readonly KindRound[] } {
  const { clock, store, policy } = context;
  const { identity, projects, grantOf, problem, isKnown } = unit;
  const monotonicMs = clock.monotonicMs();
  const project = projects.of(parseProjectKey(key).projectId);
  const named = store.withIndex(project.projectId);
  const all = named.filter((resource) => projectKeysOf(resource).includes(key));
  const isOfOther = (resource: ComputeEndpoint) =>
    planeOf(resource) !== unit.id && mayClaimAt(identity.serviceUrl, resource);
  const elsewhere = all.length === named.length ? [] : named.filter(isOfOther);
  const worked = all
    .filter((resource) => workKeyOf(resource) === key)
    .filter((resource) => isKnown || isReleasedAtOnce(resource))
    .map((resource) => ({ resource, entry: entryFor(project, resource, monotonicMs) }));
  const start = { key, planeId: unit.id, identity, grantOf, problem, isKnown, monotonicMs, endpoints: all };
  const further = (context.kinds ?? []).flatMap((kind) => kind.begin(start) ?? []);
  project.hasFurtherResources = further.length > 0;
  const facts = { nowMs: clock.nowMs(), monotonicMs, identity, policy, planeProblem: problem };
  const round = new Round(facts, project, { all, elsewhere, worked, grantOf });
  noteStanding(round);
  return { round, further };
}

/** Makes the resources due if a grant, or the problem of the control plane, has changed. */
function noteStanding(round: Round): void {
  const { project, facts, worked } = round;
  const grants = worked.map((each) => {
    const { mayChange, mayAdopt } = round.observe(each).grant;
    return `${each.resource.key.namespace} ${mayChange} ${mayAdopt}`;
  });
  const standing = [facts.planeProblem?.message ?? "", ...new Set(grants)].join("\n");
  if (project.standing !== standing) {
    project.standing = standing;
    for (const { entry } of worked) {
      entry.dueAtMs = facts.monotonicMs;
    }
  }
}

/** Whether a person asked for a reconcile, or changed spec, since the status was last stored. */
export function isAskedFor({ annotations: given, generation, status }: ComputeEndpoint): boolean {
  const requested = given[annotations.reconcileRequestedAt];
  return generation !== status.observedGeneration || (requested ?? "") !== (status.lastHandledReconcileAt ?? "");
}
