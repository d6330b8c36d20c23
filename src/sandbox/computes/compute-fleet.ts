import type { ComputeDriver } from "../engine/compute-driver.ts";
import { maxConnectionsOf } from "../engine/compute-sizes.ts";
import type { EndpointRecord, OperationRecord } from "../engine/records.ts";
import { BranchCopies, objectsOf } from "./branch-copies.ts";
import { BranchData, type BranchDataParts } from "./branch-data.ts";
import { readSchema } from "./branch-schema.ts";
import type { ComputeRecords } from "./compute-records.ts";
import { withBriefServer } from "./history/brief-server.ts";
import { KeyedQueue } from "./keyed-queue.ts";
import { applyObjects } from "./objects/apply-objects.ts";
import { planObjects } from "./objects/plan-objects.ts";
import { checkSettings } from "./postgres/check-settings.ts";
import { ComputeError } from "./postgres/compute-error.ts";
import { Pooler } from "./postgres/pooler.ts";
import { PostgresServer, type ServerPlace } from "./postgres/postgres-server.ts";
import { serverSettings } from "./postgres/server-settings.ts";
import type { Holder } from "./storage/compute-directories.ts";

/** What the fleet works with. */
export interface FleetParts extends BranchDataParts {
  readonly records: ComputeRecords;
  /** The program PgBouncer; `undefined`: it is not installed, and pooled names connect directly. */
  readonly pooler: string | undefined;
  /** Computes that may run at once. */
  readonly maxComputes: number;
  /** Whether the data is thrown away at the end. */
  readonly isTemporary: boolean;
  /** The moment of the machine's clock for a time of the sandbox's, both epoch milliseconds. @throws ComputeError */
  readonly wallTimeOf: (timeMs: number) => number;
  /** The server of a compute has ended by itself. */
  readonly onLoss: (endpointId: string, why: string) => void;
}

/** A server that runs for an endpoint. */
export interface RunningCompute {
  readonly endpointId: string;
  /** The branch whose data it serves; a move changes the endpoint's branch first. */
  readonly branchId: string;
  readonly type: EndpointRecord["type"];
  readonly server: PostgresServer;
  /** Started by the first pooled connection. */
  pooler: Promise<Pooler> | undefined;
}

/** All servers of a sandbox. Work on one branch is done one after the other. */
export class ComputeFleet implements Pick<ComputeDriver, "carryOut"> {
  readonly #parts: FleetParts;
  readonly #data: BranchData;
  readonly #copies: BranchCopies;
  readonly #queue = new KeyedQueue();
  readonly #running = new Map<string, RunningCompute>();
  /** Endpoints whose server is to be started. */
  readonly #wanted = new Set<string>();
  /** Endpoints whose server is being started. */
  readonly #starting = new Set<string>();
  readonly #socketDirectories = new Map<string, string>();

  constructor(parts: FleetParts) {
    this.#parts = parts;
    this.#data = new BranchData(parts);
    this.#copies = new BranchCopies({
      ...{ records: parts.records, directories: parts.directories, data: this.#data, queue: this.#queue },
      primaryOf: (branchId) => this.#primaryOf(branchId)?.server,
      wallTimeOf: parts.wallTimeOf,
      stopAllOf: async (branchId) => {
        for (const compute of [...this.#running.values()]) if (compute.branchId === branchId) await this.#end(compute);
      },
    });
  }

  /** Makes what the first compute needs, ahead of it. Failures show again at the first start. */
  prepare(): void {
    this.#data.prepare().catch(() => {});
  }

  /** `undefined`: no server runs for the endpoint. */
  running(endpointId: string): RunningCompute | undefined {
    return this.#running.get(endpointId);
  }

  /** Whether a server runs for the endpoint, or will soon. */
  isExpected(endpointId: string): boolean {
    return this.#running.has(endpointId) || this.#wanted.has(endpointId);
  }

  /**
   * The socket for pooled connections to a compute that runs.
   *
   * @throws ComputeError when PgBouncer does not start
   */
  async pooledSocket(compute: RunningCompute): Promise<string> {
    const { pooler: program, directories, user } = this.#parts;
    if (program === undefined) return compute.server.socketPath;
    if ((await compute.pooler?.catch(() => undefined))?.hasEnded !== false) {
      compute.pooler = Pooler.start(program, compute.server, { directory: directories.socketDirectory(), user });
    }
    return (await (compute.pooler as Promise<Pooler>)).socketPath;
  }

  /**
   * The schema of a database as SQL; empty for a branch that never ran.
   *
   * @throws ComputeError, PostgresError
   */
  async schema(branchId: string, database: string): Promise<string> {
    const { directories, binaries, user, isTemporary } = this.#parts;
    const data = this.#data;
    return await this.#queue.run([branchId], async () => {
      const running = this.#primaryOf(branchId)?.server;
      if (running !== undefined) return await readSchema(running, database);
      const holder: Holder = { kind: "branches", id: branchId };
      if (!directories.has(holder)) return "";
      data.requireVersion(directories.dataOf(holder));
      const place = {
        ...{ binaries, user, isTemporary, dataDirectory: directories.dataOf(holder) },
        socketDirectory: this.#socketDirectoryOf(branchId),
        maxConnections: data.lastMaxConnections(branchId),
        archiveDirectory: await data.history.prepare(branchId),
      };
      return await withBriefServer(place, (server) => readSchema(server, database));
    });
  }

  async carryOut(operation: OperationRecord): Promise<void> {
    const { action, endpointId } = operation;
    switch (action) {
      case "create_branch":
        await this.#copies.carryOut(operation);
        break;
      case "start_compute":
        if (endpointId !== undefined) await this.start(endpointId);
        break;
      case "suspend_compute":
        if (endpointId !== undefined) await this.suspend(endpointId);
        break;
      case "apply_config":
        if (endpointId !== undefined) await this.#applyConfig(endpointId);
        break;
      default:
        break;
    }
    await this.sweep();
  }

  /** Starts the server of an endpoint, unless it runs. @throws ComputeError */
  async start(endpointId: string): Promise<void> {
    const endpoint = this.#parts.records.endpoint(endpointId);
    if (endpoint === undefined) throw new ComputeError("the endpoint was deleted");
    this.#wanted.add(endpointId);
    try {
      await this.#queue.run([endpoint.branchId], () => this.#startNow(endpoint));
    } finally {
      this.#wanted.delete(endpointId);
    }
  }

  /** Stops the server of an endpoint, if it runs. */
  async suspend(endpointId: string): Promise<void> {
    const compute = this.#running.get(endpointId);
    if (compute === undefined) return;
    await this.#queue.run([compute.branchId], () => this.#stop(compute));
  }

  /** Stops all servers, after the work that is going on; they stay active in the records. */
  async stopAll(): Promise<void> {
    await this.#queue.idle();
    await Promise.all([...this.#running.values()].map((compute) => this.#end(compute)));
  }

  /** Stops all servers and removes all data. */
  async clear(): Promise<void> {
    await this.stopAll();
    const { directories } = this.#parts;
    for (const holder of directories.listAll()) await directories.remove(directories.of(holder));
  }

  /** Ends servers and removes data of endpoints and branches that are not there any more. */
  async sweep(): Promise<void> {
    const { directories, records } = this.#parts;
    for (const compute of this.#running.values()) {
      if (records.endpoint(compute.endpointId) === undefined) await this.suspend(compute.endpointId);
    }
    const isGone = ({ kind, id }: Holder): boolean => {
      if (kind === "branches") return !records.needsData(id);
      if (kind === "snapshots") return records.snapshot(id) === undefined;
      return !this.#running.has(id) && !this.#starting.has(id);
    };
    const gone = directories.listAll().filter(isGone);
    // The records must not come back after a crash, when the data is gone.
    if (gone.length > 0) await records.written();
    for (const holder of gone) {
      const branchId = holder.kind === "replicas" ? (records.endpoint(holder.id)?.branchId ?? holder.id) : holder.id;
      await this.#queue.run([branchId], async () => {
        if (isGone(holder)) await directories.remove(directories.of(holder));
      });
    }
  }

  /** Begins new periods in the histories of branches that have changed much since the last. */
  async rollHistories(): Promise<void> {
    const { history } = this.#data;
    for (const { endpointId, branchId, type } of [...this.#running.values()]) {
      if (type !== "read_write" || !history.isPeriodFull(branchId)) continue;
      await this.#queue.run([branchId], async () => {
        const endpoint = this.#parts.records.endpoint(endpointId);
        const compute = this.#primaryOf(branchId);
        if (endpoint?.branchId !== branchId || compute?.endpointId !== endpointId) return;
        history.openPeriod(branchId);
        await this.#configure(endpoint, compute.server.place);
        await compute.server.admin.query("SELECT pg_reload_conf()");
        await history.completePeriod(branchId, compute.server);
      });
    }
  }

  /** The first moment that can be recovered of a branch, epoch milliseconds of the machine's clock; 0: all since it exists. */
  historyFromMs(branchId: string): number {
    return this.#data.history.firstMs(branchId);
  }

  async #startNow(endpoint: EndpointRecord): Promise<void> {
    if (this.#running.has(endpoint.id)) return;
    this.#requireRoom();
    this.#starting.add(endpoint.id);
    try {
      await (endpoint.type === "read_write" ? this.#startPrimary(endpoint) : this.#startStandby(endpoint));
    } finally {
      this.#starting.delete(endpoint.id);
    }
  }

  #requireRoom(): void {
    const { maxComputes } = this.#parts;
    if (this.#running.size + this.#starting.size < maxComputes) return;
    throw new ComputeError(
      `the limit of ${maxComputes} active computes is reached; suspend another endpoint, or raise --max-computes`,
    );
  }

  async #startPrimary(endpoint: EndpointRecord): Promise<void> {
    const { branchId } = endpoint;
    await this.#data.ensureBranch(branchId);
    await this.#data.history.prepare(branchId);
    const compute = await this.#launch(
      endpoint,
      { kind: "branches", id: branchId },
      maxConnectionsOf(endpoint.minUnits),
    );
    try {
      await this.#bringObjects(compute);
      await this.#followPrimary(branchId);
    } catch (error) {
      await this.#stop(compute);
      throw error;
    }
  }

  async #startStandby(endpoint: EndpointRecord): Promise<void> {
    const { branchId } = endpoint;
    const holder: Holder = { kind: "replicas", id: endpoint.id };
    await this.#data.ensureBranch(branchId);
    // A new copy at each start: it has everything of the primary, whether that runs or not.
    const source: Holder = { kind: "branches", id: branchId };
    await this.#data.copy({ holder: source, running: this.#primaryOf(branchId)?.server }, holder);
    await this.#data.write(this.#parts.directories.dataOf(holder), "standby.signal", "");
    await this.#launch(endpoint, holder, this.#standbyConnections(endpoint));
  }

  /** A standby needs at least the connections of its primary. */
  #standbyConnections({ minUnits, branchId }: EndpointRecord): number {
    const primary = this.#primaryOf(branchId)?.server.place.maxConnections ?? this.#data.lastMaxConnections(branchId);
    return Math.max(maxConnectionsOf(minUnits), primary);
  }

  async #launch(endpoint: EndpointRecord, holder: Holder, maxConnections: number): Promise<RunningCompute> {
    const { directories, binaries, user } = this.#parts;
    const dataDirectory = directories.dataOf(holder);
    this.#data.requireVersion(dataDirectory);
    const socketDirectory = this.#socketDirectoryOf(endpoint.id);
    await this.#checkSettings(endpoint);
    await this.#configure(endpoint, { dataDirectory, socketDirectory, maxConnections });
    await this.#data.forgetStatistics(dataDirectory);
    const server = await PostgresServer.start({ binaries, user, dataDirectory, socketDirectory, maxConnections });
    const { id: endpointId, branchId, type } = endpoint;
    const compute: RunningCompute = { endpointId, branchId, type, server, pooler: undefined };
    this.#running.set(endpoint.id, compute);
    void server.ended.then(() => this.#noteEnd(compute));
    return compute;
  }

  /** Before PostgreSQL reads them from a file, where it only says that the file has errors. */
  async #checkSettings({ pgSettings }: EndpointRecord): Promise<void> {
    await this.#data.prepare();
    await checkSettings(pgSettings, { ...this.#parts, dataDirectory: this.#data.templateData });
  }

  async #configure(
    { type, branchId, pgSettings }: EndpointRecord,
    { dataDirectory, ...place }: Pick<ServerPlace, "dataDirectory" | "socketDirectory" | "maxConnections">,
  ): Promise<void> {
    const isStandby = type === "read_only";
    const needs = {
      ...{ ...place, pgSettings, isTemporary: this.#parts.isTemporary },
      primarySocketDirectory: isStandby ? this.#primaryOf(branchId)?.server.place.socketDirectory : undefined,
      archiveDirectory: isStandby ? undefined : this.#data.history.archiveOf(branchId),
    };
    await this.#data.write(dataDirectory, "postgresql.conf", serverSettings(needs));
  }

  #noteEnd(compute: RunningCompute): void {
    if (this.#running.get(compute.endpointId) !== compute) return;
    this.#running.delete(compute.endpointId);
    void stopPooler(compute);
    if (!compute.server.isStopping) this.#parts.onLoss(compute.endpointId, compute.server.lastWords());
  }

  async #end(compute: RunningCompute): Promise<void> {
    await stopPooler(compute);
    await compute.server.stop();
    if (this.#running.get(compute.endpointId) === compute) this.#running.delete(compute.endpointId);
  }

  async #stop(compute: RunningCompute): Promise<void> {
    await this.#end(compute);
    if (compute.type === "read_write") await this.#followPrimary(compute.branchId);
  }

  /** Brings new settings, roles and databases to an endpoint. Of an idle one only the settings are checked. */
  async #applyConfig(endpointId: string): Promise<void> {
    const endpoint = this.#parts.records.endpoint(endpointId);
    if (endpoint === undefined) return;
    await this.#checkSettings(endpoint);
    const compute = this.#running.get(endpointId);
    if (compute === undefined || compute.branchId !== endpoint.branchId) return;
    await this.#queue.run([compute.branchId], async () => {
      await this.#configure(endpoint, compute.server.place);
      await compute.server.admin.query("SELECT pg_reload_conf()");
      if (compute.type === "read_write") await this.#bringObjects(compute);
    });
  }

  async #bringObjects({ branchId, server }: RunningCompute): Promise<void> {
    const wanted = objectsOf(this.#parts.records, branchId);
    const steps = planObjects(this.#data.applied(branchId), wanted);
    if (steps.length === 0) return;
    await applyObjects(server, steps);
    await this.#data.noteApplied(branchId, wanted);
  }

  /** Lets the standbys of a branch follow its primary, or none; those with too few connections restart. */
  async #followPrimary(branchId: string): Promise<void> {
    for (const { endpointId, server, ...standby } of [...this.#running.values()]) {
      const endpoint = this.#parts.records.endpoint(endpointId);
      if (standby.branchId !== branchId || standby.type !== "read_only" || endpoint?.branchId !== branchId) continue;
      const maxConnections = this.#standbyConnections(endpoint);
      if (server.place.maxConnections >= maxConnections) {
        await this.#configure(endpoint, server.place);
        await server.admin.query("SELECT pg_reload_conf()");
      } else {
        await server.stop();
        await this.#launch(endpoint, { kind: "replicas", id: endpointId }, maxConnections);
      }
    }
  }

  #primaryOf(branchId: string): RunningCompute | undefined {
    return [...this.#running.values()].find(
      (compute) => compute.branchId === branchId && compute.type === "read_write" && !compute.server.isStopping,
    );
  }

  #socketDirectoryOf(endpointId: string): string {
    const known = this.#socketDirectories.get(endpointId);
    if (known !== undefined) return known;
    const made = this.#parts.directories.socketDirectory();
    this.#socketDirectories.set(endpointId, made);
    return made;
  }
}

async function stopPooler({ pooler }: RunningCompute): Promise<void> {
  await pooler?.then(
    (started) => started.stop(),
    () => {},
  );
}
