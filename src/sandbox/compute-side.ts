import type { CertificateAuthority } from "./certificates/certificate-authority.ts";
import type { Computes, TemporaryFolder } from "./computes/index.ts";
import type { DatabaseAddress } from "./engine/branch-objects.ts";
import type { ComputeDriver } from "./engine/compute-driver.ts";
import type { Pacemaker } from "./engine/pacemaker.ts";
import type { SandboxState } from "./sandbox-state.ts";

/** How endpoints get real PostgreSQL servers. */
export interface ComputeChoice {
  /** Folder with `postgres` and `initdb`. @default that of the npm package of this platform */
  readonly postgresBin?: string | undefined;
  /** The program PgBouncer. @default that of the system, if there is one */
  readonly pgbouncerBin?: string | undefined;
  /**
   * What the API shows as the host of an endpoint: its name, or a loopback address of its own (on Linux).
   *
   * @default addresses where names do not resolve, if the port is 5432, which clients take by default
   */
  readonly hosts?: "names" | "addresses" | undefined;
  /** Port for clients of databases. @default 5432; 0: a free one */
  readonly port?: number | undefined;
  /** Computes that may run at once. @default 20, the control plane's own limit */
  readonly maxComputes?: number | undefined;
}

/** What computes are attached to once the state is open. */
export interface ComputeSurroundings {
  readonly state: SandboxState;
  /** `undefined`: state is in memory only. */
  readonly data: string | undefined;
  readonly pacemaker: Pacemaker;
  readonly authority: () => CertificateAuthority;
  readonly onBug: (error: unknown) => void;
}

/** Real computes beside a sandbox. Without them, nothing of them is loaded. */
export interface ComputeSide {
  readonly driver: ComputeDriver;
  /** Set: endpoints have addresses in this block. */
  readonly addressBlock: number | undefined;
  /** Whether pooled host names lead through PgBouncer. */
  readonly isPooling: boolean;
  /** `undefined` before `attach`. */
  address(): DatabaseAddress | undefined;
  /** @throws ComputeSetupError */
  attach(surroundings: ComputeSurroundings): Promise<DatabaseAddress>;
  /** The schema of a database of a branch, as SQL. @throws Error in words for the client */
  schema(branchId: string, database: string): Promise<string>;
  /** After the records were replaced. @param keep whether branches that are still there keep their data. */
  replace(how: { readonly keep: boolean }): void;
  stop(): Promise<void>;
}

/** Finds PostgreSQL. Nothing runs yet. @throws ComputeSetupError */
export async function openComputeSide(choice: ComputeChoice, host: string): Promise<ComputeSide> {
  const {
    Computes: ComputesClass,
    findComputePrograms,
    claimBlock,
    makeTemporaryFolder,
    resolvesNames,
  } = await import("./computes/index.ts");
  const { postgresBin, pgbouncerBin, port = 5432, maxComputes = 20 } = choice;
  const options = { postgresBin, pgbouncerBin, host, port, maxComputes };
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
      address = { host, port: computes.port };
      return address;
    },
    address: () => address,
    schema: (branchId, database) => computes.schema(branchId, database),
    replace: (how) => computes.replace(how),
    stop: async () => {
      await computes.stop();
      temporary?.remove();
      await block?.release();
    },
  };
}

/** Loopback addresses other than 127.0.0.1 exist on Linux only. */
async function needsAddresses(
  resolvesNames: () => Promise<boolean>,
  { host, port }: DatabaseAddress,
): Promise<boolean> {
  return process.platform === "linux" && host === "127.0.0.1" && port === 5432 && !(await resolvesNames());
}

function recordsOf({ store, written }: SandboxState): Parameters<Computes["attach"]>[0]["records"] {
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
    written,
  };
}

function isBranch(id: string): (branch: { readonly id: string }) => boolean {
  return (branch) => branch.id === id;
}

function movesCompute({ action }: { readonly action: string }): boolean {
  return action === "start_compute" || action === "suspend_compute";
}
