import { rmSync } from "node:fs";
import type { CertificateAuthority } from "../certificates/certificate-authority.ts";
import type { ComputeDriver } from "../engine/compute-driver.ts";
import type { Engine } from "../engine/engine.ts";
import type { OperationRecord } from "../engine/records.ts";
import { versionProblem } from "./branch-data.ts";
import { ComputeAccess } from "./compute-access.ts";
import { ComputeFleet } from "./compute-fleet.ts";
import type { ComputeRecords } from "./compute-records.ts";
import { quoteText } from "./postgres/admin-connection.ts";
import { findBinaries, type PostgresBinaries } from "./postgres/binaries.ts";
import { ComputeSetupError } from "./postgres/compute-error.ts";
import { findPooler } from "./postgres/pooler.ts";
import { chooseSystemUser, type SystemUser } from "./postgres/system-user.ts";
import { parseVerifier } from "./protocol/scram.ts";
import { CancelKeys } from "./proxy/cancel-keys.ts";
import type { SessionTarget } from "./proxy/client-session.ts";
import { ComputeProxy } from "./proxy/compute-proxy.ts";
import type { EndpointName } from "./proxy/endpoint-name.ts";
import { joinServer } from "./proxy/join-server.ts";
import { ComputeDirectories, dataVersionOf } from "./storage/compute-directories.ts";
import { endOldServer } from "./storage/old-servers.ts";

export { ComputeSetupError } from "./postgres/compute-error.ts";

/** How to run computes. */
export interface ComputeOptions {
  /** Folder with `postgres` and `initdb`. `undefined`: that of the npm package. */
  readonly postgresBin: string | undefined;
  /** The program PgBouncer. `undefined`: that of the system, if there is one. */
  readonly pgbouncerBin: string | undefined;
  /** Computes that may run at once. */
  readonly maxComputes: number;
  /** Address and port at which clients of databases connect; port 0: a free one. */
  readonly host: string;
  readonly port: number;
}

/** Binaries that were found and tried out. Nothing runs yet, and nothing was written. */
export interface ComputePrograms {
  readonly binaries: PostgresBinaries;
  readonly user: SystemUser;
  /** `undefined`: PgBouncer is not installed. */
  readonly pooler: string | undefined;
}

/** @throws ComputeSetupError */
export async function findComputePrograms({ postgresBin, pgbouncerBin }: ComputeOptions): Promise<ComputePrograms> {
  const user = chooseSystemUser(process.getuid?.());
  if (user === undefined) {
    throw new ComputeSetupError(
      "PostgreSQL refuses to run as root, and neither user postgres nor user nobody exists; run the sandbox as another user",
    );
  }
  return { binaries: await findBinaries(postgresBin, user), user, pooler: findPooler(pgbouncerBin) };
}

/** What the computes are attached to. */
export interface ComputeHost {
  readonly engine: Engine;
  readonly records: ComputeRecords;
  /** The sandbox's data directory, which only this sandbox uses. */
  readonly dataDirectory: string;
  /** Whether the directory is removed at the end. */
  readonly isTemporary: boolean;
  readonly authority: CertificateAuthority;
  /** To be called after an operation may have been started. */
  readonly onChange: () => void;
  readonly onBug: (error: unknown) => void;
}

/**
 * Real PostgreSQL servers behind the endpoints of a sandbox, and the proxy through which clients reach them.
 *
 * The driver exists before the engine that needs it; work that is asked of it waits until the computes are attached.
 */
export class Computes {
  readonly #programs: ComputePrograms;
  readonly #options: ComputeOptions;
  readonly #attached = Promise.withResolvers<Attached>();
  #current: Attached | undefined;
  /** Ends when the servers are those of the present records. */
  #replaced: Promise<void> = Promise.resolve();

  constructor(programs: ComputePrograms, options: ComputeOptions) {
    this.#programs = programs;
    this.#options = options;
    this.#attached.promise.catch(() => {});
  }

  /** Carries out the operations of the engine. */
  readonly driver: ComputeDriver = {
    carryOut: (operation) => this.#carryOut(operation),
    isInUse: (endpointId) => this.#current?.access.isInUse(endpointId) ?? false,
  };

  /** The port for clients of databases; 0 before `attach`. */
  get port(): number {
    return this.#current?.port ?? 0;
  }

  /**
   * Ends what a killed sandbox has left, listens for clients, and starts the computes that should run.
   *
   * @throws ComputeSetupError
   */
  async attach(host: ComputeHost): Promise<void> {
    const directories = await ComputeDirectories.open(host.dataDirectory, this.#programs.user);
    try {
      await prepareDirectories(directories, this.#programs.binaries.version);
      const attached = await attach(host, { ...this.#programs, directories, options: this.#options });
      this.#current = attached;
      this.#attached.resolve(attached);
      attached.startSettled();
    } catch (error) {
      directories.close();
      this.#attached.reject(error);
      throw error;
    }
  }

  /** Ends every connection and every server. */
  async stop(): Promise<void> {
    const attached = this.#current;
    if (attached === undefined) return;
    clearInterval(attached.sweeping);
    await attached.proxy.close();
    await this.#replaced;
    await attached.fleet.stopAll();
    attached.directories.close();
    if (attached.host.isTemporary) rmSync(attached.host.dataDirectory, { recursive: true, force: true });
  }

  /**
   * After the records were replaced: ends every server, and starts those that the new records want. Operations that begin
   * meanwhile wait.
   *
   * @param keep whether branches that are still there keep their data.
   */
  replace({ keep }: { readonly keep: boolean }): void {
    const attached = this.#current;
    if (attached === undefined) return;
    const { fleet, host } = attached;
    const replaced = this.#replaced
      .then(() => (keep ? fleet.stopAll() : fleet.clear()))
      .then(() => fleet.sweep())
      .catch(host.onBug);
    this.#replaced = replaced;
    void replaced.then(() => {
      if (this.#replaced === replaced) attached.startSettled();
    });
  }

  async #carryOut(operation: OperationRecord): Promise<void> {
    const { fleet, host } = await this.#attached.promise;
    await this.#replaced;
    // What an operation does to data must not be ahead of the records.
    await host.records.written();
    await fleet.carryOut(operation);
  }
}

/** Deleted branches without an active compute start no operation; their data is removed after this time at most. */
const sweepIntervalMs = 5_000;

interface Attached {
  readonly host: ComputeHost;
  readonly directories: ComputeDirectories;
  readonly fleet: ComputeFleet;
  readonly access: ComputeAccess;
  readonly proxy: ComputeProxy;
  readonly port: number;
  readonly sweeping: NodeJS.Timeout;
  startSettled(): void;
}

/** @throws ComputeSetupError */
async function prepareDirectories(directories: ComputeDirectories, version: number): Promise<void> {
  for (const kind of ["branches", "replicas"] as const) {
    for (const holder of directories.list(kind)) {
      const data = directories.dataOf(holder);
      await endOldServer(data);
      // A standby is copied anew at each start.
      if (kind === "replicas") await directories.remove(directories.of(holder));
      else if (dataVersionOf(data) !== version) {
        throw new ComputeSetupError(versionProblem(data, dataVersionOf(data), version));
      }
    }
  }
  const template = dataVersionOf(`${directories.template}/data`);
  if (template !== undefined && template !== version) await directories.remove(directories.template);
}

async function attach(
  host: ComputeHost,
  {
    options,
    ...parts
  }: ComputePrograms & { readonly directories: ComputeDirectories; readonly options: ComputeOptions },
): Promise<Attached> {
  const { engine, records, isTemporary, onChange, onBug } = host;
  const onLoss = (endpointId: string): void => engine.loseCompute(endpointId);
  const fleet = new ComputeFleet({ ...parts, records, isTemporary, maxComputes: options.maxComputes, onLoss });
  const access = new ComputeAccess({ engine, fleet, onChange });
  const cancelKeys = new CancelKeys();
  const proxy = new ComputeProxy({
    target: (name) => targetOf({ access, fleet, cancelKeys }, name),
    cancel: (key, packet) => cancelKeys.cancel(key, packet),
    endpointOfAddress: () => undefined,
    certificateFor: (names) => host.authority.issue(names, Date.now()),
    onBug,
  });
  const port = await listen(proxy, options);
  fleet.prepare();
  const startSettled = (): void => {
    for (const { id } of records.settledActive()) {
      fleet.start(id).catch(() => engine.loseCompute(id));
    }
  };
  const sweeping = setInterval(() => void fleet.sweep().catch(onBug), sweepIntervalMs).unref();
  return { host, sweeping, directories: parts.directories, fleet, access, proxy, port, startSettled };
}

async function listen(proxy: ComputeProxy, { host, port }: ComputeOptions): Promise<number> {
  try {
    return await proxy.listen(port, host);
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code === "EADDRINUSE" ? "is in use" : (error as Error).message;
    throw new ComputeSetupError(`the port for databases, ${host}:${port}, ${why}; choose another with --compute-port`, {
      cause: error,
    });
  }
}

async function targetOf(
  { access, fleet, cancelKeys }: Pick<Attached, "access" | "fleet"> & { readonly cancelKeys: CancelKeys },
  { endpointId, isPooled }: EndpointName,
): Promise<SessionTarget> {
  const compute = await access.reach(endpointId);
  const { server } = compute;
  return {
    verifierOf: async (user) => {
      const [row] = await server.admin.query(
        `SELECT rolpassword FROM pg_authid
         WHERE rolname = ${quoteText(user)} AND (rolvaliduntil IS NULL OR rolvaliduntil > now())`,
      );
      return parseVerifier(row?.[0] ?? "");
    },
    join: async (client, unread, startup) => {
      const release = access.hold(endpointId);
      try {
        const socketPath = isPooled ? await fleet.pooledSocket(compute) : server.socketPath;
        await joinServer({ client, unread, startup, cancelKeys, socketPath });
      } finally {
        release();
      }
    },
  };
}
