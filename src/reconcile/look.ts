import type { ProjectClaims } from "../decide/claims.ts";
import type { LocalObservation, Observation, OperationFacts } from "../decide/observation.ts";
import type { Plan } from "../decide/plan.ts";
import { planLocal } from "../decide/plan-local.ts";
import { planRemote } from "../decide/plan-resource.ts";
import { entryOf } from "../decide/plan-table.ts";
import { needsReadById, remoteStateOf } from "../decide/remote-state.ts";
import { isLocal, situationOf } from "../decide/situation.ts";
import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import { outcomeOf } from "../domain/operation.ts";
import type { ProjectSnapshot } from "../domain/project-snapshot.ts";
import type { OperationsSnapshot } from "../operations/known-operations.ts";
import { logNeedOf } from "../operations/log-need.ts";
import { reduceOperations } from "../operations/reduce-operations.ts";
import { type OwnedEndpoint, type ReadContext, readEndpoints, readMissing, readOperations } from "./observe-project.ts";
import { remember } from "./project-memory.ts";
import type { Round, WorkedResource } from "./round.ts";
import { subjectOf } from "./store-status.ts";

/** A resource with the decision about it. */
export interface Decided {
  readonly worked: WorkedResource;
  readonly observation: Observation;
  readonly plan: Plan;
}

/** The maximum age of a `Recent` snapshot, in milliseconds. @see SnapshotAge */
export const recentMs = 5_000;

/**
 * What one reconcile observes of its project in the control plane, and the decisions that it makes from that.
 * It lists endpoints only if a decision needs a newer list than the memory holds, and at most once.
 */
export class ProjectLook {
  readonly operations: OperationsSnapshot;
  readonly #context: ReadContext;
  readonly #round: Round;
  readonly #readErrors = new Map<string, ControlPlaneError>();
  #snapshot: ProjectSnapshot;
  #claims: ProjectClaims | undefined;

  constructor(context: ReadContext, round: Round, seen: { operations: OperationsSnapshot; snapshot: ProjectSnapshot }) {
    this.#context = context;
    this.#round = round;
    this.operations = seen.operations;
    this.#snapshot = seen.snapshot;
  }

  get snapshot(): ProjectSnapshot {
    return this.#snapshot;
  }

  /**
   * Returns the error of the read by id of a resource's endpoint. `undefined`: the read succeeded, or the list showed
   * the endpoint.
   */
  readErrorOf({ resource }: WorkedResource): ControlPlaneError | undefined {
    return this.#readErrors.get(resource.status.ownership?.endpointId ?? "");
  }

  /** Decides about one resource from what is known now. */
  decide(worked: WorkedResource): Decided {
    const local = this.#round.observe(worked);
    const observation = this.#observe(local);
    const situation = situationOf(local);
    const plan = isLocal(situation) ? planLocal(situation, local) : planRemote(situation, observation);
    return { worked, observation, plan };
  }

  /** Whether the snapshot is new enough for a plan. */
  allows(plan: Plan): boolean {
    const needs = entryOf(plan).needs(plan);
    const { startedAtMs, echoesNames } = this.#snapshot;
    const isRecent = echoesNames && this.#context.clock.monotonicMs() - startedAtMs <= recentMs;
    return needs === "Any" || this.isFresh() || (needs === "Recent" && isRecent);
  }

  /** Whether the snapshot began in this reconcile. */
  isFresh(): boolean {
    return this.#snapshot.startedAtMs >= this.#round.facts.monotonicMs;
  }

  /** Lists the endpoints again, unless this reconcile has done so already. @throws ControlPlaneError */
  async refresh(): Promise<void> {
    if (!this.isFresh()) {
      this.#snapshot = await readEndpoints(this.#context, this.#round.project);
    }
  }

  /** Reads the endpoints of these resources by id, if the list does not show them. */
  async readMissing(worked: readonly WorkedResource[]): Promise<void> {
    const { snapshot, errors } = await readMissing(this.#context, this.#snapshot, worked.flatMap(ownedEndpoint));
    this.#snapshot = snapshot;
    this.#round.project.snapshot = snapshot;
    for (const [endpointId, error] of errors) {
      this.#readErrors.set(endpointId, error);
    }
    for (const each of worked) {
      noteGone(each, snapshot);
    }
  }

  /** Whether the endpoint of a resource must be read by id before a decision. */
  isMissing(worked: WorkedResource): boolean {
    return ownedEndpoint(worked).some(({ endpointId, memory }) => needsReadById(this.#snapshot, endpointId, memory));
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

const noOperations: OperationFacts = { ownInFlight: [], inFlightForMs: 0, failedIds: new Set() };

/**
 * Reads the project and decides about the resources that are due.
 *
 * @throws ControlPlaneError when the operations or the endpoints cannot be listed.
 */
export async function lookAt(
  context: ReadContext,
  round: Round,
  { due, isPoll }: { readonly due: readonly WorkedResource[]; readonly isPoll: boolean },
): Promise<{ readonly look: ProjectLook; readonly decided: readonly Decided[] }> {
  const { project } = round;
  const needs = round.worked
    .filter((worked) => round.isObservable(worked))
    .flatMap(({ resource: { uid, status } }) => logNeedOf(uid, status.operationWatermark) ?? []);
  expectOwnOperations(round);
  const operations = await readOperations(context, project, needs);
  const snapshot = project.snapshot ?? (await readEndpoints(context, project));
  const look = new ProjectLook(context, round, { operations, snapshot });
  if (isPoll || due.some((worked) => look.isMissing(worked) || !look.allows(look.decide(worked).plan))) {
    await look.refresh();
  }
  await look.readMissing(due);
  return { look, decided: due.map((worked) => look.decide(worked)) };
}

/** Marks the unfinished operations of our own calls that status names, because a new process does not know them yet. */
function expectOwnOperations({ worked, project }: Round): void {
  for (const { resource } of worked) {
    for (const { id, cause, durationMilliseconds } of resource.status.operations ?? []) {
      if (cause === "SpecChange" && durationMilliseconds === undefined) {
        project.operations.expect(id);
      }
    }
  }
}

/** Remembers whether the endpoint of a resource is proven to be gone. A read without proof changes nothing. */
function noteGone({ resource, entry }: WorkedResource, snapshot: ProjectSnapshot): void {
  const endpointId = resource.status.ownership?.endpointId;
  const remote = endpointId === undefined ? undefined : remoteStateOf(snapshot, endpointId, entry.memory).kind;
  const isGone = remote === "Absent";
  if (isGone || (remote === "Present" && entry.memory.goneEndpointId !== undefined)) {
    remember(entry, { goneEndpointId: isGone ? endpointId : undefined });
  }
}

function ownedEndpoint({ resource, entry }: WorkedResource): readonly OwnedEndpoint[] {
  const { ownership } = resource.status;
  return ownership === undefined ? [] : [{ endpointId: ownership.endpointId, memory: entry.memory }];
}
