/** Keeps the history of the data of branches, so that earlier times can be recovered. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { link, rm } from "node:fs/promises";
import path from "node:path";
import { writeOwned } from "../postgres/copy-tree.ts";
import type { PostgresServer } from "../postgres/postgres-server.ts";
import { walSegmentMb } from "../postgres/server-settings.ts";
import type { SystemUser } from "../postgres/system-user.ts";
import { type ComputeDirectories, holderOfBranch } from "../storage/compute-directories.ts";
import { copyAtRest, copyRunning } from "../storage/copy-data.ts";

/** The parts that histories of branches need. */
export interface HistoryParts {
  readonly directories: ComputeDirectories;
  readonly user: SystemUser;
}

/** One period of a branch's history: a copy of the data, and the write-ahead log since then. */
export interface Period {
  /** PostgreSQL's data directory with the copy. No server runs on it. */
  readonly base: string;
  /**
   * Directories with segments of the write-ahead log. If several have a segment of the same name, the first directory
   * counts.
   */
  readonly logs: readonly string[];
}

/**
 * A new period begins when the present one has this many megabytes of write-ahead log. If its base has more data, the
 * size of the base counts instead.
 */
const periodMb = 64;

/** The number of periods that are kept. With only one, a new period would leave almost no history. */
const keptPeriods = 2;

/**
 * The history of the branches' data.
 * Each branch has a base copy and the write-ahead log since then, from which every later moment can be recovered.
 * PostgreSQL's archiver links finished segments into the directory of the newest period.
 * `<branch>/history/<n>` is a period. It holds `wal`, `data` and `from`. If `data` is absent, the template is the base.
 * `from` is the time from which the base can be used; without it the base is not complete, and the period before it
 * continues.
 * `inherited` has the log of the branch from which the data was copied. So a branch whose base is the template needs no
 * base of its own.
 */
export class BranchHistory {
  readonly #parts: HistoryParts;

  constructor(parts: HistoryParts) {
    this.#parts = parts;
  }

  /**
   * Notes in the staged directory of a branch that its data is a copy of the template. The template is then the base of
   * its history.
   */
  async beginAtTemplate(staged: string): Promise<void> {
    const period = path.join(staged, "history", "1");
    this.#makeFolders(period);
    await this.#complete(period, 0);
  }

  /**
   * Begins the history of a branch whose staged directory holds the data of another branch. If the other branch has its
   * own base, nothing happens, and `prepare` makes a base later.
   * @param wallMs the time of the data, in epoch milliseconds of the machine's clock; `undefined`: now.
   */
  async inherit(sourceId: string, staged: string, wallMs: number | undefined): Promise<void> {
    const period = this.periodAt(sourceId, wallMs ?? Number.POSITIVE_INFINITY);
    if (period?.base !== this.#templateData) return;
    const inherited = path.join(staged, "history", "1", inheritedName);
    await this.beginAtTemplate(staged);
    this.#parts.directories.makeFolder(inherited);
    // If several directories of the source have a segment of the same name, the first one also counts in the copy.
    for (const log of period.logs) await linkLog(log, inherited);
  }

  /**
   * Gives a branch a base if it has none. Its primary must not run.
   * @returns the directory for finished segments of the write-ahead log.
   */
  async prepare(branchId: string): Promise<string> {
    const { directories, user } = this.#parts;
    if (this.#periods(branchId).length === 0) {
      const source = directories.dataOf(holderOfBranch(branchId));
      this.openPeriod(branchId);
      await this.#fillPeriod(branchId, { fromMs: 0, copy: (target) => copyAtRest({ source, target, user }) });
    }
    return this.archiveOf(branchId);
  }

  /** Returns the directory for finished segments of a branch's write-ahead log. */
  archiveOf(branchId: string): string {
    return path.join(this.#pathOf(branchId, this.#folders(branchId).at(-1) ?? 1), "wal");
  }

  /** Whether the present period has so much write-ahead log that a new one should begin. */
  isPeriodFull(branchId: string): boolean {
    const last = this.#periods(branchId).at(-1);
    if (last === undefined) return false;
    const folder = this.#pathOf(branchId, last);
    const logMb = (countOf(path.join(folder, "wal")) + countOf(path.join(folder, inheritedName))) * walSegmentMb;
    return logMb >= periodMb && logMb >= sizeOfBaseMb(path.join(folder, "data"));
  }

  /** Makes the folder of a new period. Its archive must be in use before `completePeriod`. */
  openPeriod(branchId: string): void {
    const folders = this.#folders(branchId);
    if (folders.at(-1) !== this.#periods(branchId).at(-1)) return;
    this.#makeFolders(this.#pathOf(branchId, (folders.at(-1) ?? 0) + 1));
  }

  /** Gives the new period its base, a copy of the running primary, and removes old periods. */
  async completePeriod(branchId: string, primary: PostgresServer): Promise<void> {
    const { directories, user } = this.#parts;
    await this.#fillPeriod(branchId, { fromMs: undefined, copy: (target) => copyRunning(primary, { target, user }) });
    const dropped = this.#periods(branchId).slice(0, -keptPeriods);
    for (const period of dropped) await directories.remove(this.#pathOf(branchId, period));
  }

  /**
   * Returns the first time that can be recovered, in epoch milliseconds of the machine's clock. 0: every time since the
   * branch was created.
   */
  firstMs(branchId: string): number {
    const [first] = this.#periods(branchId);
    return first === undefined ? 0 : this.#fromMs(branchId, first);
  }

  /**
   * Returns the period from which a time can be recovered; `undefined`: the history begins later, or the branch has
   * none.
   */
  periodAt(branchId: string, wallMs: number): Period | undefined {
    const { directories } = this.#parts;
    const number = this.#periods(branchId).findLast((period) => this.#fromMs(branchId, period) <= wallMs);
    if (number === undefined) return undefined;
    const own = path.join(this.#pathOf(branchId, number), "data");
    const later = this.#folders(branchId).filter((folder) => folder >= number);
    return {
      base: existsSync(own) ? own : this.#templateData,
      // Segments that are not archived yet are still in the server's directory. Inherited segments end at the time of
      // the copy.
      logs: [
        ...later.map((folder) => path.join(this.#pathOf(branchId, folder), "wal")),
        path.join(directories.dataOf(holderOfBranch(branchId)), "pg_wal"),
        path.join(this.#pathOf(branchId, number), inheritedName),
      ],
    };
  }

  get #templateData(): string {
    return path.join(this.#parts.directories.template, "data");
  }

  /** Returns the numbers of all periods in the order of time, including one without a base. */
  #folders(branchId: string): readonly number[] {
    const folder = path.join(this.#parts.directories.of(holderOfBranch(branchId)), "history");
    if (!existsSync(folder)) return [];
    return readdirSync(folder)
      .map(Number)
      .sort((a, b) => a - b);
  }

  /** Returns the numbers of the periods that are complete. */
  #periods(branchId: string): readonly number[] {
    return this.#folders(branchId).filter((folder) => existsSync(path.join(this.#pathOf(branchId, folder), "from")));
  }

  #pathOf(branchId: string, period: number): string {
    return path.join(this.#parts.directories.of(holderOfBranch(branchId)), "history", String(period));
  }

  #fromMs(branchId: string, period: number): number {
    return Number(readFileSync(path.join(this.#pathOf(branchId, period), "from"), "utf8"));
  }

  /**
   * Fills a period with its base. @param fill its `fromMs` is the time from which the base can be used; `undefined`:
   * the end of the copy
   */
  async #fillPeriod(
    branchId: string,
    { fromMs, copy }: { readonly fromMs: number | undefined; readonly copy: (target: string) => Promise<void> },
  ): Promise<void> {
    const { directories } = this.#parts;
    const folder = this.#pathOf(branchId, this.#folders(branchId).at(-1) ?? 1);
    const staged = directories.stage();
    try {
      await copy(path.join(staged, "data"));
      // An attempt that was interrupted by a crash may have left this directory.
      await directories.remove(path.join(folder, "data"));
      await directories.settle(path.join(staged, "data"), path.join(folder, "data"));
      await this.#complete(folder, fromMs ?? Date.now());
    } finally {
      await rm(staged, { recursive: true, force: true }).catch(() => {});
    }
  }

  #makeFolders(period: string): void {
    const { directories } = this.#parts;
    for (const folder of [path.dirname(period), period, path.join(period, "wal")]) directories.makeFolder(folder);
  }

  async #complete(period: string, fromMs: number): Promise<void> {
    await writeOwned(path.join(period, "from"), String(fromMs), this.#parts.user);
  }
}

const inheritedName = "inherited";

/** Links the segments of a directory of the write-ahead log. A segment that is still being written is copied. */
async function linkLog(from: string, to: string): Promise<void> {
  if (!existsSync(from)) return;
  for (const name of readdirSync(from).filter((file) => /^[0-9A-F]{8}([0-9A-F]{16}|\.history)$/.test(file))) {
    await link(path.join(from, name), path.join(to, name)).catch((error: NodeJS.ErrnoException) => {
      // PostgreSQL has removed the segment since the folder was read, or an earlier copy has linked it.
      if (error.code !== "ENOENT" && error.code !== "EEXIST") throw error;
    });
  }
}

function countOf(directory: string): number {
  return existsSync(directory) ? readdirSync(directory).length : 0;
}

/**
 * Returns the size of a base without its write-ahead log, in megabytes; 0: there is none. The log holds what was written
 * during the copy. If it counted, a copy on a slow disk would make the next period longer.
 */
function sizeOfBaseMb(directory: string): number {
  if (!existsSync(directory)) return 0;
  const log = path.join(directory, "pg_wal");
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && entry.parentPath !== log,
  );
  const bytes = files.map(({ parentPath, name }) => statSync(path.join(parentPath, name)).size);
  return bytes.reduce((sum, size) => sum + size, 0) / 1_000_000;
}
