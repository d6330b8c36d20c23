/** The steps "observe" and "decide" for ComputeEndpoints: reads what the decisions need, and decides. */
import type { ProjectClaims } from "../decide/claims.ts";
import type { LocalObservation, Observation, OperationFacts } from "../decide/observation.ts";
import { planOf } from "../decide/plan-resource.ts";
import { isMutation, rulesOf } from "../decide/plan-table.ts";
import { remoteStateOf } from "../decide/remote-state.ts";
import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { ProjectSnapshot } from "../domain/endpoint.ts";
import { outcomeOf } from "../domain/operation.ts";
import { reduceOperations } from "../operations/reduce-operations.ts";
import type { OperationsSnapshot } from "../operations/snapshot.ts";
import { type ReadContext, readById, readsByIdLimit } from "./observe-project.ts";
import type { KindLook } from "./ports.ts";
import type { Decided, Round, WorkedResource } from "./round.ts";
import { nextChangeMs } from "./schedule.ts";
import { subjectOf } from "./store-step.ts";

/** What one reconcile has read of its project, and the decisions about ComputeEndpoints that it makes from that. */
export class EndpointLook {
  readonly operations: OperationsSnapshot;
  readonly #context: ReadContext;
  readonly #round: Round;
  readonly #readErrors = new Map<string, ControlPlaneError>();
  #snapshot: ProjectSnapshot;
  readonly #decided = new Map<WorkedResource, Decided>();
  #claims: ProjectClaims | undefined;

  constructor(context: ReadContext, round: Round, { operations, snapshot }: Pick<KindLook, "operations" | "snapshot">) {
    this.#context = context;
    this.#round = round;
    this.operations = operations;
    this.#snapshot = snapshot;
  }

  /**
   * Returns the error of the read by id that the decision about a resource needs. `undefined`: the read succeeded, or
   * was not needed.
   */
  readErrorOf(worked: WorkedResource): ControlPlaneError | undefined {
    return this.#readErrors.get(this.#unprovenIdOf(worked) ?? "");
  }

  /**
   * Decides about due resources, and reads by id what the list does not prove. While an operation locks the project,
   * there is no new list. Then it decides only about resources that wait, and postpones the others to the next read.
   */
  async decideDue(due: readonly WorkedResource[]): Promise<readonly Decided[]> {
    if (!this.#isListed()) {
      return this.#decideWaiting(due);
    }
    await this.see(due);
    return due.map((worked) => this.decide(worked));
  }

  #decideWaiting(due: readonly WorkedResource[]): readonly Decided[] {
    const { project, facts } = this.#round;
    const againMs = nextChangeMs(project, facts.monotonicMs, facts.policy);
    const isWaiting = ({ plan }: Decided) => isMutation(plan) || rulesOf(plan).needs(plan) === "Nothing";
    const decided = due.map((worked) => this.decide(worked));
    for (const { worked } of decided.filter((each) => !isWaiting(each))) {
      worked.entry.dueAtMs = againMs;
      worked.entry.version = worked.resource.resourceVersion;
    }
    return decided.filter(isWaiting);
  }

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

  async see(worked: readonly WorkedResource[]): Promise<void> {
    let left = readsByIdLimit;
    for (let ids = this.#unproven(worked); ids.length > 0 && left > 0; ids = this.#unproven(worked)) {
      ids = ids.slice(0, left);
      left -= ids.length;
      for (const [endpointId, error] of await this.#readById(ids)) {
        this.#readErrors.set(endpointId, error);
      }
    }
  }

  async #readById(ids: readonly string[]): Promise<ReadonlyMap<string, ControlPlaneError>> {
    const { snapshot, errors } = await readById(this.#context, this.#snapshot, ids);
    this.#snapshot = snapshot;
    this.#round.project.snapshot = snapshot;
    return errors;
  }

  #isListed(): boolean {
    return this.#snapshot.startedAtMs >= this.#round.facts.monotonicMs;
  }

  /** Returns the endpoints to read by id. It reads no endpoint again whose read by id has failed. */
  #unproven(worked: readonly WorkedResource[]): readonly string[] {
    const ids = new Set(worked.flatMap((each) => this.#unprovenIdOf(each) ?? []));
    return [...ids].filter((id) => !this.#readErrors.has(id));
  }

  /** Returns the endpoint that must be read by id before the decision about a resource counts; `undefined`: none. */
  #unprovenIdOf(worked: WorkedResource): string | undefined {
    const { plan } = this.decide(worked);
    const ownedId = ownedIdOf(worked);
    const isUnknown = ownedId !== undefined && remoteStateOf(this.#snapshot, ownedId).kind === "Unknown";
    return rulesOf(plan).readFirst(plan) ?? (isUnknown ? ownedId : undefined);
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

function ownedIdOf({ resource }: WorkedResource): string | undefined {
  return resource.status.ownership?.endpointId;
}
