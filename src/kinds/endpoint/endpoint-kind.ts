import type { ControlPlane } from "../../domain/control-plane.ts";
import { ControlPlaneError } from "../../domain/control-plane-error.ts";
import type { ProjectSnapshot } from "../../domain/endpoint.ts";
import { type ResourceEvent, type ResourceStore, warning } from "../../domain/resource-store.ts";
import type { Kind, KindInProject, PlanTraits, ProjectFacts, Reads, ShownLog } from "../../engine/kind.ts";
import { failureStallIn, withoutEmpty } from "../../engine/summary.ts";
import { type OperationLogStep, reduceOperations } from "../../operations/reduce-operations.ts";
import { watermarkIn } from "../../resource/bookkeeping.ts";
import { type BranchPlace, byId, type FindBranch, placeOf } from "../../resource/branch-place.ts";
import {
  type ComputeEndpoint,
  isObserved,
  planeOf,
  workKeyOf,
  workProjectOf,
} from "../../resource/compute-endpoint.ts";
import { conditionOf } from "../../resource/conditions.ts";
import { isIdentityProven, isIntentOf, isTokenOfCluster, ownershipToken, tokenIn } from "../../resource/identity.ts";
import { finalizer } from "../../resource/names.ts";
import type { ComputeEndpointStatus } from "../../resource/status-schema.ts";
import { isBeingDeleted } from "../../resource/stored-object.ts";
import { claimOf, mayClaimAt, ProjectClaims } from "./claims.ts";
import { decideEndpoint, deletionWork, missingGrant, subjectOf } from "./decide.ts";
import { endpointConditions } from "./endpoint-conditions.ts";
import { branchGone, eventsFor } from "./events-for.ts";
import type { EndpointAnswer, EndpointFacts, EndpointPlan, EndpointStep, EndpointTypes, Plan, PlanOf } from "./plan.ts";
import { endpointPlan, rulesOf } from "./plan-table.ts";
import { statusFor } from "./status-for.ts";

export class EndpointKind implements Kind<EndpointTypes> {
  readonly finalizer = finalizer;
  readonly store: ResourceStore<ComputeEndpoint, ComputeEndpointStatus>;

  readonly #findBranch: FindBranch;

  constructor(store: ResourceStore<ComputeEndpoint, ComputeEndpointStatus>, findBranch: FindBranch = () => undefined) {
    this.store = store;
    this.#findBranch = findBranch;
  }

  resourcesOf({ projectId, key }: Pick<ProjectFacts, "projectId" | "key">): readonly ComputeEndpoint[] {
    return this.store.withIndex(projectId).filter((resource) => workKeyOf(resource) === key);
  }

  begin(project: ProjectFacts): KindInProject<EndpointTypes> {
    return new EndpointsInProject(project, this.store.withIndex(project.projectId), this.#findBranch);
  }
}

export class EndpointsInProject implements KindInProject<EndpointTypes> {
  readonly #project: ProjectFacts;
  /** Every resource that names the project, also of other control planes with that URL. */
  readonly #named: readonly ComputeEndpoint[];
  readonly deletionWork = deletionWork;
  readonly traitsOf = traitsOf;
  readonly noteOf = endpointNote;
  readonly send = sendEndpointChange;
  readonly statusOf = statusFor;
  /** The endpoints that this reconcile records, by the uid of their resource: two resources never record the same. */
  readonly #recorded = new Map<string, string>();
  readonly #findBranch: FindBranch;
  #claims: ProjectClaims | undefined;

  constructor(project: ProjectFacts, named: readonly ComputeEndpoint[], findBranch: FindBranch) {
    this.#project = project;
    this.#findBranch = findBranch;
    this.#named = named.filter(
      (each) => planeOf(each) === project.planeId || mayClaimAt(project.identity.serviceUrl, each),
    );
  }

  #placeOf(resource: ComputeEndpoint): BranchPlace {
    return placeOf(resource, this.#findBranch, this.#project.identity);
  }

  /** A resource that is Stalled because of another one is due when the others have changed. */
  basisOf(resource: ComputeEndpoint): string {
    const { status, uid } = resource;
    const stalled = conditionOf(status.conditions, "Stalled")?.reason ?? "";
    const others = stallsByOthers.includes(stalled) ? this.#named.filter((each) => each.uid !== uid) : [];
    const seen = others.map((each) => `${each.uid} ${each.resourceVersion}`);
    return [JSON.stringify(this.#placeOf(resource)), ...seen].join();
  }

  isGuarded(resource: ComputeEndpoint): boolean {
    return !isObserved(resource);
  }

  isProven(resource: ComputeEndpoint): boolean {
    return isIdentityProven(resource, this.#project.identity);
  }

  missingGrant(resource: ComputeEndpoint): string | undefined {
    const { grantOf, projectId } = this.#project;
    return missingGrant(resource, grantOf(resource.key.namespace, projectId), this.#placeOf(resource));
  }

  shownLog(resource: ComputeEndpoint): ShownLog | undefined {
    const { problem } = this.#project;
    const isOwner = resource.status.ownership !== undefined && this.isProven(resource);
    const mayRead = isBeingDeleted(resource) || this.missingGrant(resource) === undefined;
    const isShown = problem === undefined && mayRead && (isObserved(resource) || isOwner);
    return isShown ? { since: watermarkIn(resource.status) } : undefined;
  }

  decide(facts: EndpointFacts, reads: Reads<EndpointTypes>): Plan {
    const plan = decideEndpoint(facts, reads, {
      place: this.#placeOf(facts.resource),
      claims: () => this.#projectClaims(),
    });
    if (plan.kind !== "RecordOwnership") {
      return plan;
    }
    const { endpointId } = plan.ownership;
    const { uid } = facts.resource;
    const holder = this.#recorded.get(endpointId) ?? uid;
    this.#recorded.set(endpointId, holder);
    return holder === uid ? plan : { kind: "Idle", dueInMs: 0 };
  }

  #projectClaims(): ProjectClaims {
    const { identity, planeId } = this.#project;
    this.#claims ??= new ProjectClaims(
      this.#named.map((resource) => {
        const claim = claimOf(resource, identity, this.#placeOf(resource));
        // Of another control plane only what it owns or may have made counts.
        return planeOf(resource) === planeId ? claim : { ...claim, wanted: undefined };
      }),
      identity,
    );
    return this.#claims;
  }

  openAttempt(resource: ComputeEndpoint): string | undefined {
    const { createIntent } = resource.status;
    return isIntentOf(resource, createIntent, this.#project.identity) ? createIntent?.attempt : undefined;
  }

  hasResult({ status }: ComputeEndpoint): boolean {
    return status.ownership !== undefined;
  }

  logOf(step: EndpointStep): OperationLogStep {
    return reduceOperations(step.facts.resource.status, step.reads.project?.operations, subjectOf(step));
  }

  dueInMs({ plan, outcome, facts }: EndpointStep): number | undefined {
    const own = endpointPlan(plan);
    return own && rulesOf(own).nextLookMs(own, outcome, facts.policy);
  }

  /** Without its branch, an endpoint is not retained. */
  eventsOf(step: EndpointStep, next: ComputeEndpointStatus | undefined): readonly ResourceEvent[] {
    const { plan, facts } = step;
    const isRetained = next === undefined && plan?.kind === "RemoveFinalizer" && plan.cause === "Retained";
    const place = isRetained ? this.#placeOf(facts.resource) : byId;
    return place.kind === "Unproven" && !place.isUnfinished ? [branchGone(place.name)] : eventsFor(step, next);
  }

  /** Endpoints with this cluster's token that belong to no resource. A resource without one may still find its own. */
  orphansIn({ endpoints }: ProjectSnapshot): readonly string[] {
    const { clusterId } = this.#project.identity;
    const searching = this.#named.filter(({ claimedId }) => claimedId === undefined);
    const tokens = new Set(searching.map(({ uid }) => ownershipToken(clusterId, uid)));
    const ownedIds = new Set(this.#named.map(({ claimedId }) => claimedId));
    const isOrphan = (id: string, token: string | undefined) =>
      token !== undefined && isTokenOfCluster(token, clusterId) && !tokens.has(token) && !ownedIds.has(id);
    return [...endpoints.values()].filter(({ id, name }) => isOrphan(id, tokenIn(name))).map(({ id }) => id);
  }
}

/** Stalled reasons that can end when another resource of the project changes. */
const stallsByOthers: readonly string[] = ["ClaimedByAnother", "BranchOccupied", "EndpointExists", "OwnershipConflict"];

/** Which plans are changes, what each of them sends, by name, and the events that announce it. */
export function traitsOf(plan: EndpointPlan): PlanTraits {
  const shape = "Change";
  switch (plan.kind) {
    case "CreateEndpoint":
      return { shape, name: plan.intent.attempt, attempt: plan.intent.attempt };
    case "UpdateEndpoint": {
      const announced = plan.restarts ? [restarts("The size changes: the compute restarts")] : [];
      return { shape, name: `${plan.endpointId} ${plan.hash} ${Object.keys(plan.changes).join()}`, announced };
    }
    case "MoveEndpoint": {
      const announced = [restarts(`The endpoint moves to branch ${plan.branchId}`)];
      return { shape, name: `${plan.endpointId} ${plan.branchId}`, announced };
    }
    case "ChangePower": {
      const note = "An annotation asks for a suspend: the compute drops its connections.";
      const announced = plan.action === "suspend" ? [warning("EndpointSuspending", "Update", note)] : [];
      return { shape, name: `${plan.endpointId} ${plan.action}`, announced };
    }
    case "DeleteEndpoint":
      return { shape, name: plan.endpointId };
    default:
      return { shape: "Rest" };
  }
}

function restarts(what: string): ResourceEvent {
  return warning("EndpointRestarting", "Update", `${what} and drops its connections.`);
}

/**
 * Returns the status that the operator stores before it sends a create: it holds the intent. A retry of a create that
 * failed keeps the conditions, so it often writes nothing. `undefined`: nothing must be stored before another change.
 */
function endpointNote(step: EndpointStep): ComputeEndpointStatus | undefined {
  const { facts, plan } = step;
  const { status, generation } = facts.resource;
  if (plan?.kind !== "CreateEndpoint") {
    return undefined;
  }
  const { intent: createIntent } = plan;
  const isRetry = facts.memory.failure?.generation === generation || failureStallIn(facts.resource) !== undefined;
  if (isRetry) {
    return withoutEmpty({ ...status, createIntent });
  }
  const conditions = endpointConditions(step, rulesOf(plan).summary(plan), status);
  return withoutEmpty({ ...status, createIntent, observedGeneration: generation, conditions });
}

async function sendEndpointChange({ plan, facts }: EndpointStep, to: ControlPlane): Promise<EndpointAnswer> {
  const projectId = workProjectOf(facts.resource);
  switch (plan?.kind) {
    case "CreateEndpoint":
      return await to.createEndpoint(projectId, plan.creation);
    case "UpdateEndpoint":
      return await to.updateEndpoint(projectId, plan.endpointId, plan.changes);
    case "ChangePower":
      return await to.changePower(projectId, plan.endpointId, plan.action);
    case "MoveEndpoint":
      return await move(plan, projectId, to);
    case "DeleteEndpoint":
      return (await to.deleteEndpoint(projectId, plan.endpointId)) ?? { endpoint: undefined, operations: [] };
    default:
      throw new Error(`unreachable: ${plan?.kind} sends nothing`);
  }
}

/**
 * Sends a move. A 409 says that the branch has a read-write endpoint. If the control plane accepts a move and does not
 * carry it out, the move counts as refused. Otherwise the operator would send it again and again.
 */
async function move(
  { endpointId, branchId }: PlanOf<"MoveEndpoint">,
  projectId: string,
  to: ControlPlane,
): Promise<EndpointAnswer> {
  const answer = await to.updateEndpoint(projectId, endpointId, { branchId }).catch((error: unknown) => {
    const isOccupied = error instanceof ControlPlaneError && error.reason === "Conflict";
    throw isOccupied ? new ControlPlaneError("Conflict", error.message, { ...error, subject: "Branch" }) : error;
  });
  if (answer.endpoint.branchId !== branchId) {
    const message = "the control plane accepted the move, but the endpoint stayed on its branch";
    throw new ControlPlaneError("Rejected", message, { effect: "NotApplied", subject: "Endpoint" });
  }
  return answer;
}
