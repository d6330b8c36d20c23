/** Runs a real PostgreSQL server for each active endpoint of a sandbox. Such a server is called a compute. */
import { readFile } from "node:fs/promises";
import path from "node:path";
import type { CertificateAuthority } from "../certificates/certificate-authority.ts";
import type { DatabaseAddress } from "../engine/branch-objects.ts";
import type { ComputeDriver } from "../engine/compute-driver.ts";
import type { Engine } from "../engine/engine.ts";
import type { Pacemaker } from "../engine/pacemaker.ts";
import type { OperationRecord } from "../engine/records.ts";
import type { Store } from "../engine/store.ts";
import { type Assembled, assemble } from "./assemble.ts";
import { computeRecords } from "./compute-records.ts";
import { ClockRecord, sandboxTimeOf, wallTimeOf } from "./history/clock-record.ts";
import { ComputeError, withRemedy } from "./postgres/compute-error.ts";
import {
  type ComputeChoice,
  type ComputeHosts,
  type ComputeOptions,
  type ComputePrograms,
  findComputePrograms,
} from "./programs.ts";
import { type AddressBlock, claimBlock, resolvesNames } from "./proxy/address-block.ts";
import { ComputeDirectories } from "./storage/compute-directories.ts";
import { makeTemporaryFolder, type TemporaryFolder } from "./storage/temporary-folder.ts";

const shownLogCharacters = 16_000;

/** The sandbox to whose records the computes belong. */
export interface ComputeSurroundings {
  readonly engine: Engine;
  readonly store: Store;
  /** The sandbox's data directory; `undefined`: its state is in memory only. */
  readonly data: string | undefined;
  readonly pacemaker: Pacemaker;
  readonly authority: () => CertificateAuthority;
  readonly onBug: (error: unknown) => void;
}

/** The engine needs `driver` before `attach`. Operations wait until `attach` has succeeded. */
export class Computes {
  readonly #programs: ComputePrograms;
  readonly #options: ComputeOptions;
  readonly #block: AddressBlock | undefined;
  #temporary: TemporaryFolder | undefined;
  readonly #clock = new ClockRecord();
  readonly #attached = Promise.withResolvers<Assembled>();
  #current: Assembled | undefined;
  /** Resolves when no server of replaced records runs any more. */
  #replaced: Promise<void> = Promise.resolve();
  #isStopping = false;

  private constructor(programs: ComputePrograms, options: ComputeOptions, block: AddressBlock | undefined) {
    this.#programs = programs;
    this.#options = options;
    this.#block = block;
    this.#attached.promise.catch(() => {});
  }

  /** Finds the PostgreSQL programs, and claims addresses for the endpoints. No server starts. @throws ComputeSetupError */
  static async open(choice: ComputeChoice, { host = "127.0.0.1", publicHost }: ComputeHosts): Promise<Computes> {
    const { postgresBin, pgbouncerBin, port = 5432, maxComputes = 20, hosts } = choice;
    const options = { postgresBin, pgbouncerBin, host, publicHost, port, maxComputes };
    const programs = await findComputePrograms(options);
    const hasAddresses = hosts === undefined ? await needsAddresses(options) : hosts === "addresses";
    return new Computes(programs, options, hasAddresses ? await claimBlock(port) : undefined);
  }

  /** The endpoints' addresses are `127.<block>.x.y`; `undefined`: endpoints have host names. */
  get addressBlock(): number | undefined {
    return this.#block?.number;
  }

  /** The major version of the PostgreSQL servers. */
  get pgVersion(): number {
    return this.#programs.binaries.version;
  }

  /** Whether connections to pooled host names go through PgBouncer. */
  get isPooling(): boolean {
    return this.#programs.pooler !== undefined;
  }

  readonly driver: ComputeDriver = {
    carryOut: (operation) => this.#carryOut(operation),
    noteClock: (anchor) => this.#clock.note(anchor),
    pastProblem: (branchId, timeMs) => this.#pastProblem(branchId, timeMs),
    isInUse: (endpointId) => this.#current?.access.isInUse(endpointId) ?? false,
  };

  /** The address at which clients connect to databases; `undefined` before `attach`. */
  get address(): DatabaseAddress | undefined {
    const { host, publicHost } = this.#options;
    return this.#current && { host: publicHost ?? host, port: this.#current.port };
  }

  /** Connects the servers to the state, and begins the real work of unfinished operations. @throws ComputeSetupError */
  async attach({ engine, store, data, pacemaker, authority, onBug }: ComputeSurroundings): Promise<void> {
    this.#temporary = data === undefined ? await makeTemporaryFolder("sandbox-computes-") : undefined;
    const directories = await ComputeDirectories.open(data ?? this.#temporary?.path ?? "", this.#programs.user);
    const onChange = (): void => pacemaker.look();
    const records = computeRecords(store);
    const host = { engine, records, isTemporary: data === undefined, authority: authority(), onChange, onBug };
    try {
      await this.#clock.open(path.join(directories.root, "clock"));
      const wallTimeOf = (timeMs: number): number => this.#wallTimeOf(timeMs);
      const attached = await assemble(host, { ...this.#programs, directories, wallTimeOf, options: this.#options });
      this.#current = attached;
      this.#attached.resolve(attached);
      attached.startSettled();
    } catch (error) {
      await directories.close();
      this.#attached.reject(error);
      throw error;
    }
    engine.onProgress(onChange);
    engine.resumeWork();
  }

  /** @throws ComputeError, PostgresError */
  async schema(branchId: string, database: string): Promise<string> {
    const attached = await this.#attached.promise;
    await this.#replaced;
    return await attached.fleet.schema(branchId, database);
  }

  async log(endpointId: string): Promise<string> {
    const { directories, host } = await this.#attached.promise;
    if (host.records.endpoint(endpointId) === undefined) return "";
    const text = await readFile(directories.logOf(endpointId), "utf8").catch(() => "");
    return text.slice(-shownLogCharacters);
  }

  async checkSettings(pgSettings: Readonly<Record<string, string>>): Promise<void> {
    const attached = await this.#attached.promise;
    await attached.fleet.checkSettings(pgSettings);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    if (this.#current !== undefined) await this.#close(this.#current);
    await this.#temporary?.remove();
    await this.#block?.release();
  }

  async #close({ sweeping, proxy, fleet, directories }: Assembled): Promise<void> {
    clearInterval(sweeping);
    await proxy.close();
    await this.#replaced;
    await fleet.close();
    await directories.close();
  }

  /** Must be called after all records were replaced. `keep`: branches that still exist keep their data. */
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

  #wallTimeOf(timeMs: number): number {
    const wallMs = wallTimeOf(this.#clock.spans, timeMs);
    if (wallMs === undefined) throw new ComputeError("the clock was changed too often since that time");
    return wallMs;
  }

  /** Returns why a branch's data of a time cannot be recovered; `undefined`: it can. */
  #pastProblem(branchId: string, timeMs: number): string | undefined {
    const fromMs = this.#current?.fleet.historyFromMs(branchId) ?? 0;
    const { spans } = this.#clock;
    const wallMs = wallTimeOf(spans, timeMs);
    if (wallMs !== undefined && wallMs >= fromMs) return undefined;
    const first = new Date(Math.ceil(Math.max(sandboxTimeOf(spans, fromMs), spans[0]?.sandboxMs ?? 0))).toISOString();
    return `the sandbox keeps the latest changes of a branch only, and this branch has them from ${first} on`;
  }

  async #carryOut(operation: OperationRecord): Promise<void> {
    const attached = await this.#attached.promise;
    await this.#replaced;
    // The record stays unfinished, so the next start of the sandbox begins the operation again.
    if (this.#isStopping) return await new Promise<never>(() => {});
    await attached.listenFor(operation.endpointId);
    try {
      await attached.fleet.carryOut(operation);
    } catch (error) {
      throw withRemedy(error);
    }
  }
}

/**
 * Whether endpoints get loopback addresses by default: their host names do not resolve, and the port is the default of
 * clients. Only Linux has loopback addresses other than 127.0.0.1.
 */
async function needsAddresses({ host, port }: DatabaseAddress): Promise<boolean> {
  return process.platform === "linux" && host === "127.0.0.1" && port === 5432 && !(await resolvesNames());
}
