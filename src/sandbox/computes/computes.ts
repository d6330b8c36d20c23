/** Runs a real PostgreSQL server for each active endpoint of a sandbox. Such a server is called a compute. */
import { readFile } from "node:fs/promises";
import path from "node:path";
import type { ComputeDriver } from "../engine/compute-driver.ts";
import type { OperationRecord } from "../engine/records.ts";
import { type Assembled, assemble, type ComputeHost } from "./assemble.ts";
import { ClockRecord, sandboxTimeOf, wallTimeOf } from "./history/clock-record.ts";
import { ComputeError, withRemedy } from "./postgres/compute-error.ts";
import type { ComputeOptions, ComputePrograms } from "./programs.ts";
import { ComputeDirectories } from "./storage/compute-directories.ts";

const shownLogCharacters = 16_000;

/** The engine needs `driver` before `attach`. Operations wait until `attach` has succeeded. */
export class Computes {
  readonly #programs: ComputePrograms;
  readonly #options: ComputeOptions;
  readonly #clock = new ClockRecord();
  readonly #attached = Promise.withResolvers<Assembled>();
  #current: Assembled | undefined;
  /** Resolves when no server of replaced records runs any more. */
  #replaced: Promise<void> = Promise.resolve();
  #isStopping = false;

  constructor(programs: ComputePrograms, options: ComputeOptions) {
    this.#programs = programs;
    this.#options = options;
    this.#attached.promise.catch(() => {});
  }

  readonly driver: ComputeDriver = {
    carryOut: (operation) => this.#carryOut(operation),
    noteClock: (anchor) => this.#clock.note(anchor),
    pastProblem: (branchId, timeMs) => this.#pastProblem(branchId, timeMs),
    isInUse: (endpointId) => this.#current?.access.isInUse(endpointId) ?? false,
  };

  get port(): number {
    return this.#current?.port ?? 0;
  }

  /** @throws ComputeSetupError */
  async attach(host: ComputeHost): Promise<void> {
    const directories = await ComputeDirectories.open(host.dataDirectory, this.#programs.user);
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
    const attached = this.#current;
    if (attached === undefined) return;
    this.#isStopping = true;
    clearInterval(attached.sweeping);
    await attached.proxy.close();
    await this.#replaced;
    await attached.fleet.close();
    await attached.directories.close();
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
