/** Starts and stops the PostgreSQL servers of the endpoints. */
import type { ComputeDriver } from "../engine/compute-driver.ts";
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
import { type Holder, holderOfBranch } from "./storage/compute-directories.ts";

export interface FleetParts extends BranchDataParts {
  readonly records: ComputeRecords;
  /** `undefined`: it is not installed, and clients of pooled names connect directly. */
  readonly pooler: string | undefined;
  readonly maxComputes: number;
  readonly isTemporary: boolean;
  /** From the sandbox's clock to the machine's clock, epoch milliseconds. @throws ComputeError */
  readonly wallTimeOf: (timeMs: number) => number;
  /** Where users find `pg_stat_statements`; `undefined`: it is not offered. */
  readonly extensionPath: string | undefined;
  readonly maxConnectionsOf: (minUnits: number) => number;
  /** Called when a server has ended although the sandbox did not stop it. `why`: the server's last message. */
  readonly onLoss: (endpointId: string, why: string) => void;
}

export interface RunningCompute {
  readonly endpointId: string;
  /** The endpoint's record may name another branch already, while the endpoint moves. */
  readonly branchId: string;
  readonly type: EndpointRecord["type"];
  readonly server: PostgresServer;
  /** The last start of PgBouncer for this server, which may have failed; `undefined`: it was never started. */
  pooler: Promise<Pooler> | undefined;
}

/** Starts, configures and stops all servers of a sandbox. Work on the same branch runs one at a time. */
export class ComputeFleet implements Pick<ComputeDriver, "carryOut"> {
  readonly #parts: FleetParts;
  readonly #data: BranchData;
  readonly #copies: BranchCopies;
  readonly #queue = new KeyedQueue();
  readonly #running = new Map<string, RunningCompute>();
  readonly #wanted = new Set<string>();
  readonly #starting = new Set<string>();
  readonly #socketDirectories = new Map<string, string>();
  #isClosed = false;

  constructor(parts: FleetParts) {
    this.#parts = parts;
    this.#data = new BranchData(parts);
    this.#copies = new BranchCopies({
      records: parts.records,
      directories: parts.directories,
      data: this.#data,
      queue: this.#queue,
      primaryOf: (branchId) => this.#primaryOf(branchId)?.server,
      wallTimeOf: parts.wallTimeOf,
      stopAllOf: async (branchId) => {
        for (const compute of [...this.#running.values()]) if (compute.branchId === branchId) await this.#end(compute);
      },
    });
  }

  /** If that fails, the first start of a compute reports it. */
  prepare(): void {
    this.#data.prepare().catch(() => {});
  }

  running(endpointId: string): RunningCompute | undefined {
    return this.#running.get(endpointId);
  }

  isExpected(endpointId: string): boolean {
    return this.#running.has(endpointId) || this.#wanted.has(endpointId);
  }

  /** @throws ComputeError when PgBouncer does not start */
  async pooledSocket(compute: RunningCompute): Promise<string> {
    const { pooler: program, directories, user } = this.#parts;
    if (program === undefined) return compute.server.socketPath;
    if (this.#isClosed) throw new ComputeError("the sandbox stops");
    if ((await compute.pooler?.catch(() => undefined))?.hasEnded !== false) {
      compute.pooler = Pooler.start(program, compute.server, { directory: directories.socketDirectory(), user });
    }
    return (await (compute.pooler as Promise<Pooler>)).socketPath;
  }

  /** "": no compute has run since the API created the database. @throws ComputeError, PostgresError */
  async schema(branchId: string, database: string): Promise<string> {
    const { directories, binaries, user, isTemporary } = this.#parts;
    const data = this.#data;
    return await this.#queue.run([branchId], async () => {
      const running = this.#primaryOf(branchId)?.server;
      if (running !== undefined) return await readSchema(running, database);
      const holder = holderOfBranch(branchId);
      if (!directories.has(holder)) return "";
      data.requireVersion(directories.dataOf(holder));
      const place = {
        binaries,
        user,
        isTemporary,
        dataDirectory: directories.dataOf(holder),
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

  /** @throws ComputeError */
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

  async suspend(endpointId: string): Promise<void> {
    const compute = this.#running.get(endpointId);
    if (compute === undefined) return;
    await this.#queue.run([compute.branchId], () => this.#stop(compute));
  }

  /** Stops all servers after the running work has ended. The records of their endpoints stay active. */
  async stopAll(): Promise<void> {
    await this.#queue.idle();
    await Promise.all([...this.#running.values()].map((compute) => this.#end(compute)));
  }

  /** Waiting work never begins, so nothing writes into the directories afterwards. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.#queue.close(), this.#data.close()]);
    await this.stopAll();
  }

  async clear(): Promise<void> {
    await this.stopAll();
    const { directories } = this.#parts;
    for (const holder of directories.listAll()) await directories.remove(directories.of(holder));
  }

  /** The data of a branch stays while its deleted project can be recovered. */
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
    for (const holder of directories.listAll().filter(isGone)) {
      const branchId = holder.kind === "replicas" ? (records.endpoint(holder.id)?.branchId ?? holder.id) : holder.id;
      await this.#queue.run([branchId], async () => {
        if (isGone(holder)) await directories.remove(directories.of(holder));
      });
    }
  }

  /** Begins a new history period for each branch whose period is full and whose primary runs. */
  async rollHistories(): Promise<void> {
    const { history } = this.#data;
    for (const { endpointId, branchId, type } of [...this.#running.values()]) {
      if (type !== "read_write" || !history.isPeriodFull(branchId)) continue;
      await this.#queue.run([branchId], async () => {
        const endpoint = this.#parts.records.endpoint(endpointId);
        const compute = this.#primaryOf(branchId);
        if (endpoint?.branchId !== branchId || compute?.endpointId !== endpointId) return;
        // While this work waited, an earlier call may have begun a period.
        if (!history.isPeriodFull(branchId)) return;
        history.openPeriod(branchId);
        await this.#configure(endpoint, compute.server.place);
        await compute.server.admin.query("SELECT pg_reload_conf()");
        await history.completePeriod(branchId, compute.server).catch((error: NodeJS.ErrnoException) => {
          // The disk is full, or the server has just ended. The next call tries again.
          if (error.code === undefined) throw error;
        });
      });
    }
  }

  /** Epoch milliseconds of the machine's clock; 0: every time since the branch was created. */
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
      holderOfBranch(branchId),
      this.#parts.maxConnectionsOf(endpoint.minUnits),
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
    // A standby is copied from the primary's data at each start. The copy is complete, whether the primary runs or not.
    const source = holderOfBranch(branchId);
    await this.#data.copy({ holder: source, running: this.#primaryOf(branchId)?.server }, holder);
    await this.#data.write(this.#parts.directories.dataOf(holder), "standby.signal", "");
    await this.#launch(endpoint, holder, this.#standbyConnections(endpoint));
  }

  /** PostgreSQL requires at least as many as on the primary. */
  #standbyConnections({ minUnits, branchId }: EndpointRecord): number {
    const primary = this.#primaryOf(branchId)?.server.place.maxConnections ?? this.#data.lastMaxConnections(branchId);
    return Math.max(this.#parts.maxConnectionsOf(minUnits), primary);
  }

  async #launch(endpoint: EndpointRecord, holder: Holder, maxConnections: number): Promise<RunningCompute> {
    const { directories, binaries, user } = this.#parts;
    const dataDirectory = directories.dataOf(holder);
    this.#data.requireVersion(dataDirectory);
    const socketDirectory = this.#socketDirectoryOf(endpoint.id);
    await this.#configure(endpoint, { dataDirectory, socketDirectory, maxConnections });
    await this.#data.forgetStatistics(dataDirectory);
    const logFile = directories.logOf(endpoint.id);
    const place = { binaries, user, dataDirectory, socketDirectory, maxConnections, logFile };
    const server = await PostgresServer.start(place);
    const { id: endpointId, branchId, type } = endpoint;
    const compute: RunningCompute = { endpointId, branchId, type, server, pooler: undefined };
    this.#running.set(endpoint.id, compute);
    void server.ended.then(() => this.#noteEnd(compute));
    return compute;
  }

  /** A running server would not say which setting is wrong, only that the file has errors. */
  async checkSettings(pgSettings: Readonly<Record<string, string>>): Promise<void> {
    await this.#data.prepare();
    await checkSettings(pgSettings, { ...this.#parts, dataDirectory: this.#data.templateData });
  }

  async #configure(
    { type, branchId, pgSettings }: EndpointRecord,
    { dataDirectory, ...place }: Pick<ServerPlace, "dataDirectory" | "socketDirectory" | "maxConnections">,
  ): Promise<void> {
    const isStandby = type === "read_only";
    const needs = {
      ...place,
      pgSettings,
      isTemporary: this.#parts.isTemporary,
      extensionPath: this.#parts.extensionPath,
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

  /** If no compute runs for the endpoint, its next start applies them. */
  async #applyConfig(endpointId: string): Promise<void> {
    const endpoint = this.#parts.records.endpoint(endpointId);
    if (endpoint === undefined) return;
    const compute = this.#running.get(endpointId);
    if (compute === undefined || compute.branchId !== endpoint.branchId) return;
    await this.#queue.run([compute.branchId], async () => {
      await this.#configure(endpoint, compute.server.place);
      await compute.server.admin.query("SELECT pg_reload_conf()");
      if (compute.type === "read_write") await this.#bringObjects(compute);
    });
  }

  /** An object that PostgreSQL refuses fails this operation and no later one. */
  async #bringObjects({ branchId, server }: RunningCompute): Promise<void> {
    const wanted = objectsOf(this.#parts.records, branchId);
    const steps = planObjects(this.#data.applied(branchId), wanted);
    if (steps.length === 0) return;
    const refused = await applyObjects(server, steps);
    await this.#data.noteApplied(branchId, wanted);
    if (refused.length > 0) throw new ComputeError(refused.join("; "));
  }

  /** If no primary runs, they follow no server. A standby with too few connections is restarted. */
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
