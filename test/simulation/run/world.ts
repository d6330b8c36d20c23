/** The world of a run: time, servers, replicas and oracles. */
import { createSeededRandom, type SeededRandom } from "../../support/seeded-random.ts";
import type { ControlPlaneClock } from "../control-plane/calendar.ts";
import { type EndpointRecord, type ProfileName, world as places } from "../control-plane/engine.ts";
import { ControlPlaneServer } from "../control-plane/server.ts";
import { EventLog } from "../event-log.ts";
import { type Fault, type PlannedCall, wordsOf } from "../faults/fault.ts";
import { createFaultSource, type FaultPlan, type RecordingSource } from "../faults/fault-plan.ts";
import type { StoredObject } from "../kubernetes/answers.ts";
import {
  ApiServer,
  clusterControlPlanes,
  computeEndpoints,
  controlPlanes,
  databaseAccesses,
  databaseBranches,
} from "../kubernetes/api-server.ts";
import type { Change } from "../kubernetes/object-store.ts";
import { WatchHub } from "../kubernetes/watch-hub.ts";
import { Network } from "../network/exchange.ts";
import { problemOfAccess } from "../oracles/accesses.ts";
import { createOracles } from "../oracles/all-oracles.ts";
import { problemOf } from "../oracles/at-rest.ts";
import { problemOfBranch } from "../oracles/branches.ts";
import type { Oracle } from "../oracles/oracle.ts";
import { problemOfPlane } from "../oracles/planes.ts";
import { clusterControlPlaneNames, controlPlaneNames, databaseAccessNames, databaseBranchNames } from "../ports.ts";
import { Replica, serviceUrl } from "../replica/replica.ts";
import { type ClockError, epochMs, Machine } from "../time/machine.ts";
import { VirtualTime } from "../time/virtual-time.ts";
import { History } from "./history.ts";
import { namespace } from "./perform-action.ts";
import type { Promised, Violation } from "./violation.ts";

/** After this time without a change by the operator, the run is at rest. It is longer than two polls of a project. */
const restMs = 65_000;

/** When the operator forgets everything about a project before a reconcile of it. It ends when all faults end. */
export interface Amnesia {
  /** The share of reconciles, from 0 to 1. */
  readonly rate: number;
  /** Before every reconcile in these times, in true milliseconds. */
  readonly stretches: readonly { readonly fromMs: number; readonly untilMs: number }[];
}

/** Everything that a run depends on besides its actions. */
export interface WorldOptions {
  readonly seed: number;
  readonly profile: ProfileName;
  /** One clock for each replica. */
  readonly machines: readonly ClockError[];
  readonly controlPlaneClock: ControlPlaneClock;
  readonly operationLatencyMs: { readonly min: number; readonly max: number };
  readonly hasElection: boolean;
  /** Whether the kind DatabaseAccess is installed. @default false */
  readonly hasAccesses?: boolean;
  /** Whether the kind DatabaseBranch is installed. @default false */
  readonly hasBranches?: boolean;
  /** Whether resources may describe control planes, and a second account exists. @default false */
  readonly hasPlanes?: boolean;
  /** Whether the usage is compared with what the control plane counts. Each branch has at most one endpoint. @default false */
  readonly hasUsage?: boolean;
  readonly faults: FaultPlan;
  /** @default the operator forgets nothing */
  readonly amnesia?: Amnesia | undefined;
  /** Settings of the operator in addition to those of every run. */
  readonly settings: Readonly<Record<string, string>>;
}

/** An account at the control plane: what it holds, and the keys that it accepts. */
export interface Account {
  readonly controlPlane: ControlPlaneServer;
  readonly keys: Set<string>;
}

/** The URL of the second account. */
export const northUrl = "https://north.example/api/v2";

const planeNames = [controlPlaneNames.plural, clusterControlPlaneNames.plural];

/** A key of an account by its number. Actions name keys by number, so that the log never shows one. */
export function planeKey(number: number): string {
  return `napi_simulated0plane0key${String(number).padStart(4, "0")}`;
}

/** The present faults of watch events. Actions change them. */
export interface WatchConditions {
  lagMs: number;
  /** How many of a thousand events are lost. */
  lostPerMille: number;
  /** How many of a thousand events are repeated. */
  repeatedPerMille: number;
}

/** One run: servers, machines, replicas, users, and everything that really happened. */
export class World {
  readonly options: WorldOptions;
  readonly time = new VirtualTime();
  readonly random: SeededRandom;
  readonly log: EventLog;
  readonly network: Network;
  readonly apiServer: ApiServer;
  readonly hub: WatchHub;
  readonly controlPlane: ControlPlaneServer;
  /** The accounts by the URL of their control plane. The first is that of the settings. */
  readonly accounts: Map<string, Account>;
  readonly history: History;
  readonly replicas: readonly Replica[];
  readonly faults: RecordingSource;
  readonly violations: Violation[] = [];
  readonly watchConditions: WatchConditions = { lagMs: 5, lostPerMille: 0, repeatedPerMille: 0 };
  readonly oracles: readonly Oracle[];
  /** The names of replicas that cannot reach a server. */
  readonly cut = new Set<string>();
  /** The metrics of each process at its end. */
  readonly lastPages: Promise<string>[] = [];
  metricsPages: readonly string[] = [];
  /** Whether faults can still happen. */
  isQuiet = false;

  constructor(options: WorldOptions) {
    this.options = options;
    const { seed, profile, controlPlaneClock, operationLatencyMs } = options;
    this.random = createSeededRandom(seed);
    this.faults = createFaultSource(options.faults);
    const nowMs = () => this.time.nowMs();
    this.log = new EventLog(nowMs);
    this.network = new Network(this.time);
    this.history = new History(nowMs);
    this.apiServer = new ApiServer({
      wallMs: () => epochMs + nowMs(),
      served: [
        ...(options.hasAccesses === true ? [databaseAccessNames.plural] : []),
        ...(options.hasBranches === true ? [databaseBranchNames.plural] : []),
        ...(options.hasPlanes === true ? planeNames : []),
      ],
      onChange: (change) => this.#changed(change),
    });
    const delivery = () => this.#deliver();
    this.hub = new WatchHub({ time: this.time, store: this.apiServer.store, delivery });
    const ofEvery = { profile, epochMs, operationLatencyMs, trueNowMs: nowMs, clock: controlPlaneClock };
    this.controlPlane = new ControlPlaneServer({ ...ofEvery, seed });
    this.accounts = new Map([[serviceUrl, { controlPlane: this.controlPlane, keys: new Set([planeKey(0)]) }]]);
    if (options.hasPlanes === true) {
      const { creators } = this.controlPlane;
      const north = new ControlPlaneServer({ ...ofEvery, seed: seed + 7_919, creators });
      this.accounts.set(northUrl, { controlPlane: north, keys: new Set() });
    }
    this.replicas = options.machines.map((clock, at) => {
      const machine = new Machine(`operator-${at + 1}`, this.time, clock);
      return new Replica(this, machine);
    });
    this.oracles = createOracles(this);
  }

  readonly projectIds: readonly string[] = [places.project, places.freeProject];

  /** Returns a resource as it is stored. */
  stored(name: string): StoredObject | undefined {
    return this.apiServer.store.get(computeEndpoints, namespace, name);
  }

  /** Returns every resource as it is stored. */
  resources(): readonly StoredObject[] {
    return this.apiServer.store.list(computeEndpoints, undefined);
  }

  /** Returns every DatabaseAccess as it is stored. */
  accesses(): readonly StoredObject[] {
    return this.apiServer.store.list(databaseAccesses, undefined);
  }

  /** Returns every DatabaseBranch as it is stored. */
  branches(): readonly StoredObject[] {
    return this.apiServer.store.list(databaseBranches, undefined);
  }

  /** Returns every ControlPlane and ClusterControlPlane as it is stored. */
  planes(): readonly StoredObject[] {
    return [controlPlanes, clusterControlPlanes].flatMap((kind) => this.apiServer.store.list(kind, undefined));
  }

  /** Returns every live endpoint of every account, whatever lists show. */
  endpoints(): readonly EndpointRecord[] {
    return this.controlPlanes.flatMap((controlPlane) =>
      this.projectIds.flatMap((projectId) => controlPlane.live(projectId)),
    );
  }

  /** Returns every live endpoint that the operator created for a resource. */
  madeFor(uid: string): readonly EndpointRecord[] {
    return this.endpoints().filter(({ id }) => {
      const creator = this.controlPlane.creators.get(id);
      return creator?.by === "Operator" && creator.uid === uid;
    });
  }

  /** The control planes of all accounts. The first is that of the settings. */
  get controlPlanes(): readonly ControlPlaneServer[] {
    return [...this.accounts.values()].map(({ controlPlane }) => controlPlane);
  }

  /** The account behind a URL. */
  accountAt(url: string): Account {
    const account = this.accounts.get(url);
    if (account === undefined) throw new Error(`there is no control plane at ${url}`);
    return account;
  }

  /** Ends all faults for the rest of the run. */
  becomeQuiet(): void {
    this.isQuiet = true;
    this.log.add("world", "everything works from now on");
    // After an outage the operator may wait for a minute before it tries again.
    if (this.cut.size > 0) this.history.noteEffect();
    this.cut.clear();
    for (const controlPlane of this.controlPlanes) {
      controlPlane.setListLag(0);
      controlPlane.unreadable.clear();
      controlPlane.endDisguises();
      controlPlane.transferred.clear();
    }
    Object.assign(this.watchConditions, { lagMs: 5, lostPerMille: 0, repeatedPerMille: 0 });
  }

  /**
   * Whether every resource has reached the state in which it should stay, and the operator has changed nothing for a
   * while.
   */
  isAtRest(): boolean {
    if (this.time.nowMs() - this.history.lastEffectMs <= restMs) return false;
    return this.#isSettled();
  }

  /** Whether all work is done, and the operator still changes something. */
  isUnquietAtRest(): boolean {
    return !this.isAtRest() && this.#isSettled();
  }

  #isSettled(): boolean {
    return (
      this.resources().every((resource) => problemOf(this, resource) === undefined) &&
      this.accesses().every((access) => problemOfAccess(this, access) === undefined) &&
      this.branches().every((branch) => problemOfBranch(this, branch) === undefined) &&
      this.planes().every((plane) => problemOfPlane(this, plane) === undefined)
    );
  }

  violate(promise: Promised, text: string): void {
    const isKnown = this.violations.some((violation) => violation.promise === promise && violation.text === text);
    if (isKnown) return;
    this.violations.push({ promise, atMs: this.time.nowMs(), text });
    this.log.add("ORACLE", `${promise} is broken: ${text}`);
  }

  faultOf(call: PlannedCall): Fault {
    if (this.cut.has(`${call.replica} ${call.server}`)) return { kind: "Unreachable" };
    const fault: Fault = this.isQuiet ? { kind: "None" } : this.faults.of(call);
    if (fault.kind !== "None") this.log.add("fault", `${call.what}: ${wordsOf(fault)}`);
    return fault;
  }

  /** Whether the operator forgets everything about a project before this reconcile. */
  forgets(): boolean {
    const { amnesia } = this.options;
    if (amnesia === undefined || this.isQuiet) return false;
    const nowMs = this.time.nowMs();
    const isStretch = amnesia.stretches.some(({ fromMs, untilMs }) => fromMs <= nowMs && nowMs < untilMs);
    const forgets = isStretch || this.random.next() < amnesia.rate;
    if (forgets) this.log.add("fault", "the operator forgets a project");
    return forgets;
  }

  latencyMs(): number {
    return 5 + this.random.below(20);
  }

  #deliver(): readonly number[] {
    const { lagMs, lostPerMille, repeatedPerMille } = this.watchConditions;
    if (lostPerMille > 0 && this.random.below(1_000) < lostPerMille) return [];
    const isRepeated = repeatedPerMille > 0 && this.random.below(1_000) < repeatedPerMille;
    return isRepeated ? [lagMs, lagMs + 50] : [lagMs];
  }

  #changed(change: Change): void {
    if (change.collection.startsWith("computeendpoints")) {
      this.history.noteObject(change);
      for (const oracle of this.oracles) oracle.onObject?.(change);
    }
    if (change.collection === databaseAccesses) this.history.accesses.set(change.object.metadata.uid, change.object);
    for (const oracle of this.options.hasPlanes === true ? this.oracles : []) oracle.onAnyObject?.(change);
    this.hub.publish(change);
  }
}
