/** Makes, copies and moves the data directories of branches, standbys and branch snapshots. */
import { existsSync, readFileSync } from "node:fs";
import { rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { BranchHistory } from "./history/branch-history.ts";
import { withBriefServer } from "./history/brief-server.ts";
import { emptyTables } from "./history/empty-tables.ts";
import { markPresent, recoverData } from "./history/recover-data.ts";
import { type AppliedObjects, appliedForm, nothingApplied, type WantedObjects } from "./objects/plan-objects.ts";
import type { PostgresBinaries } from "./postgres/binaries.ts";
import { ComputeError } from "./postgres/compute-error.ts";
import { writeOwned } from "./postgres/copy-tree.ts";
import type { PostgresServer } from "./postgres/postgres-server.ts";
import { maxConnectionsIn } from "./postgres/server-settings.ts";
import type { SystemUser } from "./postgres/system-user.ts";
import { type ComputeDirectories, dataVersionOf, type Holder, holderOfBranch } from "./storage/compute-directories.ts";
import { copyAtRest, copyRunning } from "./storage/copy-data.ts";
import { ensureTemplate } from "./storage/template.ts";

export interface BranchDataParts {
  readonly directories: ComputeDirectories;
  readonly binaries: PostgresBinaries;
  readonly user: SystemUser;
}

export interface DataSource {
  readonly holder: Holder;
  /** `undefined`: it does not run, or the source is a branch snapshot. */
  readonly running: PostgresServer | undefined;
  /** For a branch: the time of the data to copy, in epoch milliseconds of the machine's clock. @default now */
  readonly wallMs?: number | undefined;
}

/** `untilMs`: when they were replaced, in epoch milliseconds of the machine's clock. */
interface EarlierApplied {
  readonly untilMs: number;
  readonly applied: AppliedObjects;
}

/** Makes, copies and moves data directories. A directory appears in its place only when it is complete. */
export class BranchData {
  readonly #parts: BranchDataParts;
  readonly history: BranchHistory;
  #template: Promise<void> | undefined;
  readonly #end = new AbortController();

  constructor(parts: BranchDataParts) {
    this.#parts = parts;
    this.history = new BranchHistory(parts);
  }

  /** It exists after `prepare`. */
  get templateData(): string {
    return path.join(this.#parts.directories.template, "data");
  }

  /** After a failure, the next call tries again. @throws ComputeError */
  async prepare(): Promise<void> {
    this.#template ??= ensureTemplate(this.#parts, this.#end.signal);
    try {
      await this.#template;
    } catch (error) {
      this.#template = undefined;
      throw error;
    }
  }

  /** An unfinished template is made again at the next start of the sandbox. */
  async close(): Promise<void> {
    this.#end.abort(new ComputeError("the sandbox stops"));
    await this.#template?.catch(() => {});
  }

  async ensureBranch(branchId: string): Promise<void> {
    const { directories } = this.#parts;
    const holder = holderOfBranch(branchId);
    if (directories.has(holder)) return;
    await this.prepare();
    await this.#place(holder, async (target, staged) => {
      await copyAtRest({ source: this.templateData, target, user: this.#parts.user });
      await this.history.beginAtTemplate(staged);
    });
  }

  /** @param objects `undefined`: the target is a standby or a branch snapshot. @throws ComputeError, PostgresError */
  async copy(
    source: DataSource,
    to: Holder,
    { objects, isSchemaOnly = false }: { readonly objects?: WantedObjects; readonly isSchemaOnly?: boolean } = {},
  ): Promise<void> {
    const { binaries, user } = this.#parts;
    await this.#place(to, async (dataDirectory, staged) => {
      await this.#fill(source, dataDirectory);
      if (isSchemaOnly) {
        const socketDirectory = this.#parts.directories.socketDirectory();
        await withBriefServer({ binaries, user, isTemporary: true, dataDirectory, socketDirectory }, emptyTables);
      }
      if (to.kind === "branches" && source.holder.kind === "branches" && !isSchemaOnly) {
        await this.history.inherit(source.holder.id, staged, source.wallMs);
      }
      const applied = this.#appliedAt(source.holder, source.wallMs);
      await writeApplied(staged, objects === undefined ? applied : adopted(applied, objects));
    });
  }

  async #fill({ holder, running, wallMs }: DataSource, dataDirectory: string): Promise<void> {
    const { directories, binaries, user } = this.#parts;
    if (wallMs !== undefined) {
      if (running !== undefined) await markPresent(running);
      const period = this.history.periodAt(holder.id, wallMs);
      if (period === undefined) throw new ComputeError("the history of the branch's data does not reach back so far");
      const socketDirectory = directories.socketDirectory();
      await recoverData({ period, wallMs, binaries, user, dataDirectory, socketDirectory });
    } else if (running === undefined)
      await copyAtRest({ source: directories.dataOf(holder), target: dataDirectory, user });
    else await copyRunning(running, { target: dataDirectory, user });
  }

  /** Neither branch may have a running server. A repeated call moves nothing. */
  async moveBranch(fromId: string, toId: string, objects: WantedObjects): Promise<void> {
    const { directories } = this.#parts;
    const from = holderOfBranch(fromId);
    const to = holderOfBranch(toId);
    if (!directories.has(to) && directories.has(from))
      await directories.settle(directories.of(from), directories.of(to));
    if (directories.has(to)) await writeApplied(directories.of(to), adopted(this.applied(toId), objects));
  }

  applied(branchId: string): AppliedObjects {
    return this.#appliedAt(holderOfBranch(branchId), undefined);
  }

  async noteApplied(branchId: string, objects: WantedObjects): Promise<void> {
    const holder = holderOfBranch(branchId);
    const earlier = [...this.#earlierApplied(holder), { untilMs: Date.now(), applied: this.applied(branchId) }];
    const directory = this.#parts.directories.of(holder);
    await writeWhole(path.join(directory, earlierAppliedFileName), JSON.stringify(earlier.slice(-mostEarlierApplied)));
    await writeApplied(directory, appliedForm(objects));
  }

  /** @param wallMs epoch milliseconds of the machine's clock; `undefined`: now */
  #appliedAt(holder: Holder, wallMs: number | undefined): AppliedObjects {
    const then =
      wallMs === undefined ? undefined : this.#earlierApplied(holder).find(({ untilMs }) => untilMs > wallMs);
    if (then !== undefined) return then.applied;
    const file = path.join(this.#parts.directories.of(holder), appliedFileName);
    return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as AppliedObjects) : nothingApplied;
  }

  #earlierApplied(holder: Holder): readonly EarlierApplied[] {
    const file = path.join(this.#parts.directories.of(holder), earlierAppliedFileName);
    return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as readonly EarlierApplied[]) : [];
  }

  /** Of the last primary of the branch; 0: none ever ran. */
  lastMaxConnections(branchId: string): number {
    const file = path.join(this.#parts.directories.dataOf(holderOfBranch(branchId)), "postgresql.conf");
    return existsSync(file) ? maxConnectionsIn(readFileSync(file, "utf8")) : 0;
  }

  /** Writes a file of a data directory. After a crash, the file has its old or its new content. */
  async write(dataDirectory: string, name: string, text: string): Promise<void> {
    await writeOwned(path.join(dataDirectory, name), text, this.#parts.user);
  }

  /** @throws ComputeError when another version of PostgreSQL has written it */
  requireVersion(dataDirectory: string): void {
    const version = dataVersionOf(dataDirectory);
    if (version === this.#parts.binaries.version) return;
    throw new ComputeError(versionProblem(dataDirectory, version, this.#parts.binaries.version));
  }

  /** Removes the server's statistics, because the API counts them from the start of a compute. */
  async forgetStatistics(dataDirectory: string): Promise<void> {
    await rm(path.join(dataDirectory, "pg_stat", "pgstat.stat"), { force: true });
  }

  async #place(holder: Holder, fill: (target: string, staged: string) => Promise<void>): Promise<void> {
    const { directories } = this.#parts;
    const staged = directories.stage();
    try {
      await fill(path.join(staged, "data"), staged);
      await directories.remove(directories.of(holder));
      await directories.settle(staged, directories.of(holder));
    } catch (error) {
      await rm(staged, { recursive: true, force: true }).catch(() => {});
      throw error;
    }
  }
}

export function versionProblem(dataDirectory: string, found: number | undefined, needed: number): string {
  if (found === undefined)
    return `${dataDirectory} is not a data directory of PostgreSQL; remove it to start the branch empty`;
  return (
    `${dataDirectory} was written by PostgreSQL ${found}, and computes run PostgreSQL ${needed}; ` +
    `use a PostgreSQL ${found} with --postgres-bin, or another directory with --data`
  );
}

const appliedFileName = "applied.json";

const earlierAppliedFileName = "applied-earlier.json";

const mostEarlierApplied = 500;

async function writeApplied(directory: string, applied: AppliedObjects): Promise<void> {
  await writeWhole(path.join(directory, appliedFileName), JSON.stringify(applied));
}

async function writeWhole(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

/** A database gets the id of the target's database of the same name. */
function adopted(parent: AppliedObjects, { databases }: WantedObjects): AppliedObjects {
  return {
    roles: parent.roles,
    databases: parent.databases.map((database) => ({
      ...database,
      id: databases.find(({ name }) => name === database.name)?.id ?? database.id,
    })),
  };
}
