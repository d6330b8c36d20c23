/** The simulated control plane. */
import { ControlPlaneCalendar, type ControlPlaneClock } from "./calendar.ts";
import {
  createEngine,
  type EndpointCreation,
  type EndpointRecord,
  type Mutation,
  type OperationRecord,
  type ProfileName,
} from "./engine.ts";

/** The true creator of an endpoint, which no client can see. */
export type Creator =
  | { readonly by: "Operator"; readonly uid: string; readonly attempt: string; readonly replica: string }
  | { readonly by: "Person" }
  | { readonly by: "OtherCluster" };

/** How the control plane shows an operation, if not as it is. */
export interface Disguise {
  /** Shown for ever. */
  readonly status?: string;
  /** A read of it by id is answered with 500. */
  readonly isBroken?: boolean;
}

/** The options of a control plane. */
export interface ControlPlaneOptions {
  readonly profile: ProfileName;
  readonly seed: number;
  /** The epoch milliseconds of the true time 0. */
  readonly epochMs: number;
  readonly trueNowMs: () => number;
  readonly clock: ControlPlaneClock;
  readonly operationLatencyMs: { readonly min: number; readonly max: number };
  /** What really made each endpoint. Several control planes of a run share it. @default a map of its own */
  readonly creators?: Map<string, Creator>;
}

/**
 * The control plane of a run: the sandbox's engine, the time that its clock shows, and the true creator of each
 * endpoint.
 */
export class ControlPlaneServer {
  readonly engine: ReturnType<typeof createEngine>["engine"];
  readonly calendar: ControlPlaneCalendar;
  readonly creators: Map<string, Creator>;
  readonly disguises = new Map<string, Disguise>();
  readonly everDisguised = new Set<string>();
  /** Endpoints of which clients can parse only id and name. */
  readonly unreadable = new Set<string>();
  /** The status with which every call about a project is refused, by project. */
  readonly transferred = new Map<string, 403 | 404>();
  /** How far lists lag behind, in milliseconds. */
  listLagMs = 0;
  /** Returns every live endpoint, whatever lists show. For oracles. */
  readonly live: (projectId: string) => readonly EndpointRecord[];
  /** Returns the epoch milliseconds with which records are dated before any clock error. */
  readonly engineNowMs: () => number;
  readonly #addEnded: ReturnType<typeof createEngine>["addEnded"];
  #nextDisguise: Disguise | undefined;
  readonly #epochMs: number;

  constructor({ epochMs, trueNowMs, clock, creators = new Map(), ...engineOptions }: ControlPlaneOptions) {
    this.creators = creators;
    this.#epochMs = epochMs;
    this.engineNowMs = () => epochMs + trueNowMs();
    this.calendar = new ControlPlaneCalendar(clock);
    const { engine, live, addEnded } = createEngine({ ...engineOptions, nowMs: this.engineNowMs });
    this.engine = engine;
    this.live = live;
    this.#addEnded = addEnded;
  }

  get echoesNames(): boolean {
    return this.engine.profile.endpointExtras.includes("name");
  }

  /** @throws Refusal */
  create(projectId: string, creation: EndpointCreation, creator: Creator): Mutation {
    const name = this.echoesNames ? creation.name : undefined;
    const mutation = this.engine.createEndpoint(projectId, { ...creation, name });
    this.creators.set(mutation.endpoint.id, creator);
    return mutation;
  }

  /** Makes lists show the state of this many milliseconds ago; 0: the present state. */
  setListLag(lagMs: number): void {
    this.listLagMs = lagMs;
    this.engine.setListLag(lagMs);
  }

  /** Makes the next operation of an action fail. */
  failNext(action: "start_compute" | "apply_config" | "suspend_compute"): void {
    this.engine.failNext({ action, endpointId: undefined, times: 1, error: "the compute did not come up" });
  }

  /** The control plane checks an endpoint so many times. The checks end at once. */
  maintain(projectId: string, endpointId: string, count: number): void {
    this.#addEnded(this.engine.endpoint(projectId, endpointId), count);
  }

  /** Returns for how long the computes of a branch have run, and with how many units. For oracles. */
  usageOf(projectId: string, branchId: string) {
    return this.engine.restores.usage({ projectId, branchId }, { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER });
  }

  /** Makes the control plane show the next operation of the operator otherwise than it is. */
  disguiseNext(disguise: Disguise): void {
    this.#nextDisguise = disguise;
  }

  /** Notes the operations that a write of the operator has started. */
  noteStarted(operations: readonly OperationRecord[]): void {
    const last = operations.at(-1);
    if (last === undefined || this.#nextDisguise === undefined) return;
    this.disguises.set(last.id, this.#nextDisguise);
    this.everDisguised.add(last.id);
    this.#nextDisguise = undefined;
  }

  /** Shows all operations as they are from now on. */
  endDisguises(): void {
    this.disguises.clear();
    this.#nextDisguise = undefined;
  }

  /** Returns when an endpoint was created, in true milliseconds. */
  madeAtMs({ createdMs }: EndpointRecord): number {
    return createdMs - this.#epochMs;
  }

  /** Returns every operation that ever existed, whatever lists show. For oracles. */
  history(projectId: string): readonly OperationRecord[] {
    return this.engine.snapshot().operations.filter((record) => record.projectId === projectId);
  }
}
