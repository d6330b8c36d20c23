/** The steps "observe" and "decide" for ComputeEndpoints: reads what the decisions need, and decides. */
import type { ProjectClaims } from "../decide/claims.ts";
import type { LocalObservation, Observation, OperationFacts } from "../decide/observation.ts";
import type { Plan } from "../decide/plan.ts";
import { planOf } from "../decide/plan-resource.ts";
import { rulesOf } from "../decide/plan-table.ts";
import { isDenied, isReadSince, needsReadById, remoteStateOf } from "../decide/remote-state.ts";
import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { ProjectSnapshot } from "../domain/endpoint.ts";
import { outcomeOf } from "../domain/operation.ts";
import type { OperationsSnapshot } from "../operations/known-operations.ts";
import { reduceOperations } from "../operations/reduce-operations.ts";
import { type ReadContext, readById, readEndpoints, readsByIdLimit } from "./observe-project.ts";
import type { KindLook } from "./ports.ts";
import { remember } from "./project-memory.ts";
import { isAskedFor, type Round, type WorkedResource } from "./round.ts";
import { subjectOf } from "./store-step.ts";

/** A resource with the decision about it. */
export interface Decided {
  readonly worked: WorkedResource;
  readonly observation: Observation;
  readonly plan: Plan;
}

/**
 * Returns the maximum age of a `Recent` snapshot, in milliseconds: five to thirty seconds. The snapshot of a large
 * project may be older, because its list costs more. So a burst of creates does not list a large project again and
 * again.
 * @see SnapshotAge
 */
function recentMs({ endpoints }: ProjectSnapshot): number {
  return Math.min(30_000, 5_000 + 25 * endpoints.size);
}

/**
 * If several endpoints must be read, and the list has at most this many endpoints for each of them, the operator reads
 * the list. `#isCheaperById` has the whole rule.
 */
const listedForEach = 20;

/**
 * When a change has ended, the operator reads the endpoint again and compares it with spec. While other changes of the
 * project wait, it does that at this interval, in milliseconds. So one read shows several ended changes.
 */
const compareAgainMs = 2_000;

/**
 * What one reconcile has read of its project in the control plane, and the decisions about ComputeEndpoints that it
 * makes from that. It lists endpoints if a decision needs a newer list than the project memory holds, and at most once.
 */
export class EndpointLook {
  readonly operations: OperationsSnapshot;
  readonly #context: ReadContext;
  readonly #round: Round;
  readonly #isWaiting: boolean;
  readonly #readErrors = new Map<string, ControlPlaneError>();
  #snapshot: ProjectSnapshot;
  readonly #decided = new Map<WorkedResource, Decided>();
  #claims: ProjectClaims | undefined;

  constructor(
    context: ReadContext,
    round: Round,
    { operations, snapshot, isWaiting }: Pick<KindLook, "operations" | "snapshot" | "isWaiting">,
  ) {
    this.#context = context;
    this.#round = round;
    this.operations = operations;
    this.#snapshot = snapshot;
    this.#isWaiting = isWaiting;
  }

  /**
   * Returns the error of the read by id of a resource's endpoint. `undefined`: the read succeeded, or was not needed.
   */
  readErrorOf(worked: WorkedResource): ControlPlaneError | undefined {
    return this.#readErrors.get(ownedIdOf(worked) ?? "");
  }

  /**
   * Reads what the decisions about due resources need, and decides. While changes wait, some due resources are decided
   * a little later, see `#comparedNow`.
   * @throws ControlPlaneError when the list fails
   */
  async decideDue(due: readonly WorkedResource[]): Promise<readonly Decided[]> {
    const compared = this.#comparedNow(due);
    await this.see(compared);
    return compared.map((worked) => this.decide(worked));
  }

  /** Decides about one resource, from what this reconcile has read so far. */
  decide(worked: WorkedResource): Decided {
    const local = this.#round.observe(worked);
    const known = this.#decided.get(worked);
    if (known !== undefined && isSameInput(known.observation, { ...local, project: this.#snapshot })) {
      return known;
    }
    const observation = this.#observe(local);
    const decided = { worked, observation, plan: planOf(observation) };
    this.#decided.set(worked, decided);
    return decided;
  }

  /** Whether the snapshot is new enough for a plan. */
  allows({ plan, worked }: Decided): boolean {
    const needs = rulesOf(plan).needs(plan);
    return (
      needs === "Any" ||
      this.#isFresh() ||
      (needs === "Recent" && this.#isRecent()) ||
      (needs === "OwnEndpoint" && this.#isRead(worked))
    );
  }

  /** Returns what must be read before the decision about a resource can be carried out. */
  #needOf(worked: WorkedResource): "Nothing" | "OwnEndpoint" | "List" {
    if (this.#isMissing(worked)) {
      return "List";
    }
    const decided = this.decide(worked);
    if (this.allows(decided)) {
      return "Nothing";
    }
    return rulesOf(decided.plan).needs(decided.plan) === "OwnEndpoint" ? "OwnEndpoint" : "List";
  }

  /**
   * Reads what the decisions about these resources need. It reads a few endpoints by id if that costs less than a list,
   * else it reads the list. Then it reads by id what the list does not show, or shows out of date.
   * @throws ControlPlaneError when the list fails
   */
  async see(worked: readonly WorkedResource[]): Promise<void> {
    const unseen = worked.filter((each) => this.#needOf(each) !== "Nothing");
    if (this.#isCheaperById(unseen.length) && unseen.every((each) => this.#needOf(each) === "OwnEndpoint")) {
      // If a read by id fails, the list is read instead.
      await this.#readById(unseen);
    }
    if (unseen.some((each) => this.#needOf(each) !== "Nothing") && !this.#isFresh()) {
      this.#snapshot = await readEndpoints(this.#context, this.#round.project);
    }
    const errors = await this.#readById(this.#nextMissing(worked));
    for (const [endpointId, error] of errors) {
      this.#readErrors.set(endpointId, error);
    }
    for (const each of worked) {
      noteGone(each, this.#snapshot);
    }
  }

  /**
   * Returns the resources to decide now. While changes wait, the comparison of ended changes waits until
   * `compareAgainMs` have passed since the last one. If another resource needs a read now, the ended changes are
   * compared now too.
   */
  #comparedNow(due: readonly WorkedResource[]): readonly WorkedResource[] {
    const { project, facts } = this.#round;
    const ended = due.filter((worked) => !isAskedFor(worked.resource) && this.#needOf(worked) === "OwnEndpoint");
    const others = due.filter((worked) => !ended.includes(worked));
    const compareAtMs = project.comparedAtMs + compareAgainMs;
    // If the control plane shows no names, each create needs a new list. That list also shows the ended changes.
    const isBurst = this.#isWaiting && this.#snapshot.echoesNames;
    const isTime = compareAtMs <= facts.monotonicMs;
    if (!isBurst || isTime || others.some((worked) => this.#needOf(worked) !== "Nothing")) {
      // An early comparison does not postpone the regular one, because other resources wait for that one.
      project.comparedAtMs = isTime && ended.length > 0 ? facts.monotonicMs : project.comparedAtMs;
      return due;
    }
    for (const { entry, resource } of ended) {
      entry.dueAtMs = compareAtMs;
      entry.version = resource.resourceVersion;
    }
    return others;
  }

  /**
   * Whether reads by id cost less than a list. If the control plane shows no names, the next create needs a list
   * anyway.
   */
  #isCheaperById(count: number): boolean {
    const { echoesNames, endpoints } = this.#snapshot;
    const isListNeeded = !echoesNames && this.#isWaiting;
    const isListCostly = count === 1 || endpoints.size > listedForEach * count;
    return !isListNeeded && isListCostly && count <= readsByIdLimit;
  }

  /** Reads the endpoints of these resources by id. @returns the errors of failed reads, by endpoint id */
  async #readById(worked: readonly WorkedResource[]): Promise<ReadonlyMap<string, ControlPlaneError>> {
    const ids = worked.flatMap((each) => ownedIdOf(each) ?? []);
    if (ids.length === 0) {
      return new Map();
    }
    const { snapshot, errors } = await readById(this.#context, this.#snapshot, ids);
    this.#snapshot = snapshot;
    this.#round.project.snapshot = snapshot;
    return errors;
  }

  /** Whether the list began in this reconcile. */
  #isFresh(): boolean {
    return this.#snapshot.startedAtMs >= this.#round.facts.monotonicMs;
  }

  #isRecent(): boolean {
    const ageMs = this.#context.clock.monotonicMs() - this.#snapshot.startedAtMs;
    return this.#snapshot.echoesNames && ageMs <= recentMs(this.#snapshot);
  }

  /** Whether the resource's endpoint was read by id in this reconcile. */
  #isRead(worked: WorkedResource): boolean {
    const endpointId = ownedIdOf(worked);
    const since = { memory: worked.entry.memory, sinceMs: this.#round.facts.monotonicMs };
    return endpointId !== undefined && isReadSince(this.#snapshot, endpointId, since);
  }

  /** Chooses endpoints to read by id, at most `readsByIdLimit`. Those that were not read for the longest time come first. */
  #nextMissing(worked: readonly WorkedResource[]): readonly WorkedResource[] {
    const missing = worked.filter((each) => this.#isMissing(each));
    const next = missing
      .toSorted(({ entry: one }, { entry: other }) => one.missingReadAtMs - other.missingReadAtMs)
      .slice(0, readsByIdLimit);
    for (const { entry } of next) {
      entry.missingReadAtMs = this.#context.clock.monotonicMs();
    }
    return next;
  }

  /** Whether the endpoint of a resource must be read by id before a decision. */
  #isMissing(worked: WorkedResource): boolean {
    const endpointId = ownedIdOf(worked);
    return endpointId !== undefined && needsReadById(this.#snapshot, endpointId, worked.entry.memory);
  }

  #observe(local: LocalObservation): Observation {
    this.#claims ??= this.#round.claims();
    const observation = { ...local, project: this.#snapshot, claims: this.#claims, operations: noOperations };
    return { ...observation, operations: this.#operationFacts(observation) };
  }

  #operationFacts(observation: Observation): OperationFacts {
    const { resource, monotonicMs } = observation;
    const step = { local: observation, observation, plan: undefined, outcome: { kind: "NothingSent" } } as const;
    const { ownInFlight, state } = reduceOperations(resource.status, this.operations, subjectOf(step));
    const failed = (state.operations ?? []).filter((operation) => outcomeOf(operation) === "Failed");
    const { lockHolders } = this.#round.project;
    const since = ownInFlight.map(({ id }) => lockHolders.get(id) ?? monotonicMs);
    return {
      ownInFlight,
      inFlightForMs: monotonicMs - Math.min(monotonicMs, ...since),
      failedIds: new Set([
        ...failed.map(({ id }) => id),
        ...(state.failedActions ?? []).map(({ operationId }) => operationId),
      ]),
    };
  }
}

type Changing = Pick<Observation, "resource" | "memory" | "grant" | "project">;

/** Whether a new decision would have the same input. All other input does not change during one reconcile. */
function isSameInput(before: Changing, now: Changing): boolean {
  return (
    before.resource === now.resource &&
    before.memory === now.memory &&
    before.grant === now.grant &&
    before.project === now.project
  );
}

const noOperations: OperationFacts = { ownInFlight: [], inFlightForMs: 0, failedIds: new Set() };

/**
 * Remembers whether the endpoint of a resource is gone, and since when reads contradict each other about it. If the
 * endpoint could not be read, the memory stays as it is.
 */
function noteGone(worked: WorkedResource, snapshot: ProjectSnapshot): void {
  const { memory } = worked.entry;
  const endpointId = ownedIdOf(worked);
  const remote = endpointId === undefined ? undefined : remoteStateOf(snapshot, endpointId, memory).kind;
  if (endpointId === undefined || (remote === "Unproven" && !isDenied(snapshot, endpointId))) {
    return;
  }
  const contradictedSinceMs = remote === "Unproven" ? (memory.contradictedSinceMs ?? snapshot.startedAtMs) : undefined;
  const knownGoneId = remote === "Present" ? undefined : memory.goneEndpointId;
  const goneEndpointId = remote === "Absent" ? endpointId : knownGoneId;
  if (goneEndpointId !== memory.goneEndpointId || contradictedSinceMs !== memory.contradictedSinceMs) {
    remember(worked.entry, { goneEndpointId, contradictedSinceMs });
  }
}

function ownedIdOf({ resource }: WorkedResource): string | undefined {
  return resource.status.ownership?.endpointId;
}
