/** One replica of the operator: it starts processes, and starts them again after a crash. */
import { createSeededRandom } from "../../support/seeded-random.ts";
import type { Creator } from "../control-plane/server.ts";
import {
  type ControlPlaneCall,
  type DescribedPlane,
  type Outcome,
  type SentCall,
  simulatedCall,
} from "../control-plane/sim-control-plane.ts";
import type { PlannedCall } from "../faults/fault.ts";
import type { Answer } from "../kubernetes/answers.ts";
import { SimConnection } from "../kubernetes/sim-connection.ts";
import {
  clusterControlPlaneNames,
  controlPlaneNames,
  databaseAccessNames,
  databaseBranchNames,
  group,
  type KindGaps,
  type KubernetesCall,
  type Logger,
  OperatorParts,
  parseConfig,
  stopOperator,
} from "../ports.ts";
import { settingsPlane } from "../run/stored-planes.ts";
import type { World } from "../run/world.ts";
import type { Machine } from "../time/machine.ts";
import { Process } from "./process.ts";

/** The key of the control plane of the settings. No output may contain it. */
export const secretKey = "napi_simulated0secret0key0000000000";

/** The URL of the control plane of the settings. */
export const serviceUrl = "https://console.example/api/v2";
export const clusterId = "cluster-of-the-run";

/** After this time, a pod that ended starts again. */
const restartMs = 3_000;

/** One replica of the operator: a machine, and the process that runs on it now. */
export class Replica {
  readonly machine: Machine;
  readonly #world: World;
  #runs = 0;
  #isOver = false;
  process: Process | undefined;
  parts: OperatorParts | undefined;

  constructor(world: World, machine: Machine) {
    this.#world = world;
    this.machine = machine;
  }

  /** Starts a process, unless one runs already. */
  start(): void {
    if (this.process !== undefined && !this.process.isDead) return;
    this.#runs += 1;
    const identity = `${this.machine.name}_${this.#runs}`;
    const process = new Process(this.machine, identity, () => this.#ended());
    this.process = process;
    this.#world.log.add(this.machine.name, `starts (run ${this.#runs})`);
    const parts = this.#assemble(process);
    this.parts = parts;
    void parts.failed.then((why) => {
      this.#world.log.add(this.machine.name, `ends itself: ${why}`);
      process.crash();
    });
    parts.start();
  }

  /** Asks the process to end, as SIGTERM does. The pod starts again afterwards. */
  stop(): void {
    const { process, parts } = this;
    if (process === undefined || process.isDead || parts === undefined) return;
    const { log } = this.#world;
    log.add(this.machine.name, "is asked to end");
    void (async () => {
      const surroundings = { clock: this.machine.clockOf(process), logger: loggerOf(this.#world, process) };
      const isInTime = await stopOperator(parts, () => parts.close(), surroundings);
      if (isInTime) this.#world.history.stopped.add(process.identity);
      else log.add(this.machine.name, "has work that did not end in time");
      process.crash();
    })();
  }

  /** Ends the replica, because the run is over. */
  end(): void {
    this.#isOver = true;
    this.process?.crash();
  }

  #ended(): void {
    // The metrics of this process end here, but they were scraped before.
    const page = this.parts?.metrics.render();
    if (page !== undefined) this.#world.lastPages.push(page);
    if (this.#isOver) return;
    const world = this.#world;
    world.history.deaths += 1;
    if (!world.history.stopped.has(this.process?.identity ?? "")) world.history.kills += 1;
    world.log.add(this.machine.name, "is gone, with everything in its memory");
    world.time.after(restartMs, { isDead: false, pausedUntilMs: 0 }, () => this.start());
  }

  #assemble(process: Process): OperatorParts {
    const world = this.#world;
    const random = createSeededRandom(world.options.seed * 31 + this.#runs * 7 + this.machine.name.length);
    const wire = {
      process,
      network: world.network,
      faultOf: (call: PlannedCall) => world.faultOf(call),
      latencyMs: () => world.latencyMs(),
    };
    const connection = new SimConnection({
      ...wire,
      apiServer: world.apiServer,
      hub: world.hub,
      tap: kubernetesTap(world),
    });
    return new OperatorParts({
      config: parseConfig({
        CONTROL_PLANE_URL: serviceUrl,
        CONTROL_PLANE_API_KEY: secretKey,
        LEADER_ELECTION: String(world.options.hasElection),
        ...world.options.settings,
      }),
      credentials: {
        server: "https://kubernetes",
        namespace: "operators",
        current: () => Promise.reject(),
        reload() {},
      },
      clock: this.machine.clockOf(process),
      logger: loggerOf(world, process),
      version: "0.0.0",
      instance: this.machine.name,
      random: random.next,
      forgets: () => world.forgets(),
      connection,
      leaseConnection: connection,
      callOf: ({ id: planeId, url, fence }) => {
        const account = world.accountAt(url);
        const accepts = (key: string) => account.keys.has(key);
        const isOfSettings = planeId === settingsPlane;
        const described = isOfSettings ? undefined : { planeId, url, accepts };
        const server = isOfSettings ? world.controlPlane : account.controlPlane;
        return simulatedCall({ ...wire, server, fence, tap: controlPlaneTap(world), described });
      },
      clusterId,
      gaps: gapsOf(world),
      identity: process.identity,
      account: "operators:endpoint-operator",
    });
  }
}

function loggerOf(world: World, process: Process): Logger {
  const write = (level: string) => (fields: Readonly<Record<string, unknown>>, message: string) => {
    if (process.isDead) return;
    const { err } = fields;
    const why = err instanceof Error ? `: ${err.message}` : "";
    world.log.add(process.machine.name, `logs (${level}) ${message}${why}`);
  };
  return { debug() {}, info: write("info"), warn: write("warn"), error: write("error") };
}

function kubernetesTap(world: World) {
  return {
    sent(call: KubernetesCall, process: Process, planned: PlannedCall) {
      if (planned.isEffect) world.history.noteEffect();
      if (!isLease(call) && !isEvent(call)) world.log.add(process.machine.name, `asks the API server to ${call.what}`);
      for (const oracle of world.oracles) oracle.onKubernetesCall?.(call, process);
    },
    applied(call: KubernetesCall, process: Process, answer: Answer) {
      if (isEvent(call)) logEvent(world, call, process);
      else if (!isLease(call)) world.log.add("API server", `answers ${answer.status}: ${call.what}`);
      for (const oracle of world.oracles) oracle.onKubernetesApplied?.(call, process, answer);
    },
  };
}

function isLease({ path }: KubernetesCall): boolean {
  return path.includes("/leases");
}

function isEvent({ path }: KubernetesCall): boolean {
  return path.includes("/events");
}

function logEvent(world: World, { body }: KubernetesCall, process: Process): void {
  const { type = "Warning or Normal", reason = "again", note = "" } = body as Readonly<Record<string, string>>;
  world.log.add(process.machine.name, `publishes an event (${type}) ${reason}: ${note}`);
}

function controlPlaneTap(world: World) {
  return {
    sent(call: ControlPlaneCall, process: Process, plane: DescribedPlane | undefined): SentCall {
      const replica = process.machine.name;
      const creator: Creator =
        call.newName === undefined ? { by: "Person" } : world.history.creatorOf(call.newName, replica);
      const what = `${call.method} ${call.object ?? call.endpointId ?? call.subject.toLowerCase()} of ${call.projectId}`;
      const planned: PlannedCall = {
        replica,
        server: "control plane",
        what,
        isEffect: call.method !== "GET",
        isRead: call.method === "GET",
      };
      const sent: SentCall = { call, process, planned, creator, sentAtMs: world.time.nowMs(), plane };
      const which = plane === undefined ? "the control plane" : plane.planeId;
      world.log.add(replica, `asks ${which} to ${call.purpose.replace("cannot ", "")}`);
      if (planned.isEffect) world.history.noteEffect();
      world.history.noteSent(sent);
      for (const oracle of world.oracles) oracle.onControlPlaneCall?.(sent);
      return sent;
    },
    applied(sent: SentCall, outcome: Outcome) {
      world.history.noteApplied(sent, outcome);
      for (const oracle of world.oracles) oracle.onControlPlaneApplied?.(sent, outcome);
    },
    settled(sent: SentCall, error: Error | undefined) {
      world.history.noteSettled(sent, error, world.controlPlane.listLagMs);
      for (const oracle of world.oracles) oracle.onControlPlaneSettled?.(sent, error);
    },
  };
}

/** Returns the kinds that the API server does not serve in this run. */
function gapsOf({ apiServer }: World): ReadonlyMap<string, KindGaps> {
  const kinds = [databaseAccessNames, databaseBranchNames, controlPlaneNames, clusterControlPlaneNames];
  const missing = kinds.filter(({ plural }) => !apiServer.isInstalled(`${plural}.${group}`));
  return new Map(missing.map(({ kind }) => [kind, new Map([[undefined, "NotServed"]])]));
}
