import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { CertificateAuthority } from "./certificates/certificate-authority.ts";
import type { Computes } from "./computes/index.ts";
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
  /** Whether pooled host names lead through PgBouncer. */
  readonly isPooling: boolean;
  /** `undefined` before `attach`. */
  address(): DatabaseAddress | undefined;
  /** @throws ComputeSetupError */
  attach(surroundings: ComputeSurroundings): Promise<DatabaseAddress>;
  /** After the records were replaced. @param keep whether branches that are still there keep their data. */
  replace(how: { readonly keep: boolean }): void;
  stop(): Promise<void>;
}

/** Finds PostgreSQL. Nothing runs yet. @throws ComputeSetupError */
export async function openComputeSide(choice: ComputeChoice, host: string): Promise<ComputeSide> {
  const { Computes: ComputesClass, findComputePrograms } = await import("./computes/index.ts");
  const { postgresBin, pgbouncerBin, port = 5432, maxComputes = 20 } = choice;
  const options = { postgresBin, pgbouncerBin, host, port, maxComputes };
  const programs = await findComputePrograms(options);
  const computes: Computes = new ComputesClass(programs, options);
  let address: DatabaseAddress | undefined;
  return {
    driver: computes.driver,
    isPooling: programs.pooler !== undefined,
    attach: async ({ state, data, pacemaker, authority, onBug }) => {
      await computes.attach({
        engine: state.engine,
        records: recordsOf(state),
        dataDirectory: data ?? mkdtempSync(path.join(tmpdir(), "sandbox-computes-")),
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
    replace: (how) => computes.replace(how),
    stop: () => computes.stop(),
  };
}

function recordsOf({ store, written }: SandboxState): Parameters<Computes["attach"]>[0]["records"] {
  const { endpoints, branches, roles, databases, operations } = store;
  return {
    endpoint: (id) => endpoints.get(id),
    branch: (id) => branches.get(id),
    rolesOf: (branchId) => roles.ofBranch(branchId),
    databasesOf: (branchId) => databases.ofBranch(branchId),
    settledActive: () =>
      store
        .export()
        .endpoints.filter(
          ({ id, state }) => state === "active" && [...operations.unfinishedOfEndpoint(id)].every(isNoMove),
        ),
    written,
  };
}

function isNoMove({ action }: { readonly action: string }): boolean {
  return action !== "start_compute" && action !== "suspend_compute";
}
