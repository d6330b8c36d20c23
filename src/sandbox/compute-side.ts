/** Connects the engine to real PostgreSQL servers, if the sandbox runs with the option `compute`. */
import type { CertificateAuthority } from "./certificates/certificate-authority.ts";
import type { Computes, TemporaryFolder } from "./computes/index.ts";
import type { DatabaseAddress } from "./engine/branch-objects.ts";
import type { ComputeDriver } from "./engine/compute-driver.ts";
import type { Pacemaker } from "./engine/pacemaker.ts";
import type { SandboxState } from "./sandbox-state.ts";

/** The options of real PostgreSQL servers behind the endpoints. */
export interface ComputeChoice {
  /** The folder with `postgres` and `initdb`. @default the folder of the npm package for this platform */
  readonly postgresBin?: string | undefined;
  /** The path of the program PgBouncer. @default the installed PgBouncer, if there is one */
  readonly pgbouncerBin?: string | undefined;
  /**
   * What the API shows as the host of an endpoint: a name, or a loopback address of its own (on Linux).
   * @default addresses on Linux, if the sandbox listens on 127.0.0.1, the port is 5432 and names do not resolve; else
   *   names
   */
  readonly hosts?: "names" | "addresses" | undefined;
  /** The port for clients of databases. @default 5432; 0: a free port */
  readonly port?: number | undefined;
  /** The maximum number of computes that run at the same time. @default 20, the control plane's own limit */
  readonly maxComputes?: number | undefined;
}

/** The state, data directory, timer, certificate authority and error handler of the sandbox, for `attach`. */
export interface ComputeSurroundings {
  readonly state: SandboxState;
  /** The sandbox's data directory; `undefined`: its state is in memory only. */
  readonly data: string | undefined;
  readonly pacemaker: Pacemaker;
  readonly authority: () => CertificateAuthority;
  readonly onBug: (error: unknown) => void;
}

/** The PostgreSQL servers of a sandbox. A sandbox without them does not load the code in `computes`. */
export interface ComputeSide {
  readonly driver: ComputeDriver;
  /**
   * The second number of the endpoints' loopback addresses, `127.<block>.x.y`; `undefined`: endpoints have host names.
   */
  readonly addressBlock: number | undefined;
  /** The major version of the PostgreSQL servers. */
  readonly pgVersion: number;
  /** Whether connections to pooled host names go through PgBouncer. */
  readonly isPooling: boolean;
  /** Returns the address at which clients connect to databases; `undefined` before `attach`. */
  address(): DatabaseAddress | undefined;
  /** Connects the servers to the state, and begins the real work of unfinished operations. @throws ComputeSetupError */
  attach(surroundings: ComputeSurroundings): Promise<DatabaseAddress>;
  /** Returns the schema of a branch's database as SQL. @throws Error with a message for the client */
  schema(branchId: string, database: string): Promise<string>;
  log(endpointId: string): Promise<string>;
  /** Lets PostgreSQL check the settings of an endpoint. @throws Error with PostgreSQL's message */
  checkSettings(pgSettings: Readonly<Record<string, string>>): Promise<void>;
  /**
   * Must be called after all records were replaced, by a reset or a restore.
   * @param how `keep`: branches that still exist keep their data
   */
  replace(how: { readonly keep: boolean }): void;
  stop(): Promise<void>;
}

/**
 * Finds the PostgreSQL programs. If endpoints get addresses, it also reserves a block of loopback addresses. It starts
 * no server.
 * @throws ComputeSetupError
 */
export async function openComputeSide(
  choice: ComputeChoice,
  { host = "127.0.0.1", publicHost }: { readonly host?: string | undefined; readonly publicHost?: string | undefined },
): Promise<ComputeSide> {
  const {
    Computes: ComputesClass,
    findComputePrograms,
    claimBlock,
    makeTemporaryFolder,
    resolvesNames,
  } = await import("./computes/index.ts");
  const { postgresBin, pgbouncerBin, port = 5432, maxComputes = 20 } = choice;
  const options = { postgresBin, pgbouncerBin, host, publicHost, port, maxComputes };
  const programs = await findComputePrograms(options);
  const computes: Computes = new ComputesClass(programs, options);
  const showsAddresses =
    choice.hosts === undefined ? await needsAddresses(resolvesNames, { host, port }) : choice.hosts === "addresses";
  const block = showsAddresses ? await claimBlock(port) : undefined;
  let address: DatabaseAddress | undefined;
  let temporary: TemporaryFolder | undefined;
  return {
    driver: computes.driver,
    addressBlock: block?.number,
    pgVersion: programs.binaries.version,
    isPooling: programs.pooler !== undefined,
    attach: async ({ state, data, pacemaker, authority, onBug }) => {
      temporary = data === undefined ? await makeTemporaryFolder("sandbox-computes-") : undefined;
      await computes.attach({
        engine: state.engine,
        records: recordsOf(state),
        dataDirectory: data ?? temporary?.path ?? "",
        isTemporary: data === undefined,
        authority: authority(),
        onChange: () => pacemaker.look(),
        onBug,
      });
      state.engine.onProgress(() => pacemaker.look());
      state.engine.resumeWork();
      address = { host: publicHost ?? host, port: computes.port };
      return address;
    },
    address: () => address,
    schema: (branchId, database) => computes.schema(branchId, database),
    log: (endpointId) => computes.log(endpointId),
    checkSettings: (pgSettings) => computes.checkSettings(pgSettings),
    replace: (how) => computes.replace(how),
    stop: async () => {
      await computes.stop();
      await temporary?.remove();
      await block?.release();
    },
  };
}

/**
 * Whether endpoints get loopback addresses by default: their host names do not resolve, and the port is the default of
 * clients. Only Linux has loopback addresses other than 127.0.0.1.
 */
async function needsAddresses(
  resolvesNames: () => Promise<boolean>,
  { host, port }: DatabaseAddress,
): Promise<boolean> {
  return process.platform === "linux" && host === "127.0.0.1" && port === 5432 && !(await resolvesNames());
}

function recordsOf({ store }: SandboxState): Parameters<Computes["attach"]>[0]["records"] {
  const { endpoints, branches, snapshots, roles, databases, operations, trash } = store;
  const isMoving = (id: string): boolean => [...operations.unfinishedOfEndpoint(id)].some(movesCompute);
  return {
    endpoint: (id) => endpoints.get(id),
    branch: (id) => branches.get(id),
    snapshot: (id) => snapshots.get(id),
    needsData: (id) => branches.get(id) !== undefined || trash.list().some((kept) => kept.branches.some(isBranch(id))),
    endpoints: () => store.export().endpoints,
    rolesOf: (branchId) => roles.ofBranch(branchId),
    databasesOf: (branchId) => databases.ofBranch(branchId),
    settledActive: () => store.export().endpoints.filter(({ id, state }) => state === "active" && !isMoving(id)),
    isMoving,
  };
}

function isBranch(id: string): (branch: { readonly id: string }) => boolean {
  return (branch) => branch.id === id;
}

function movesCompute({ action }: { readonly action: string }): boolean {
  return action === "start_compute" || action === "suspend_compute";
}
