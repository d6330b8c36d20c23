/** Keeps the history of each branch's data, from which the data of earlier times is recovered. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { link, rm } from "node:fs/promises";
import path from "node:path";
import { writeOwned } from "../postgres/copy-tree.ts";
import type { PostgresServer } from "../postgres/postgres-server.ts";
import { walSegmentMb } from "../postgres/server-settings.ts";
import type { SystemUser } from "../postgres/system-user.ts";
import { type ComputeDirectories, holderOfBranch } from "../storage/compute-directories.ts";
import { copyAtRest, copyRunning } from "../storage/copy-data.ts";

export interface HistoryParts {
  readonly directories: ComputeDirectories;
  readonly user: SystemUser;
}

/** A base (a copy of the data), and the write-ahead log since that copy. */
export interface Period {
  /** A PostgreSQL data directory on which no server runs. */
  readonly base: string;
  /** If a segment is in several directories, the first one counts. */
  readonly logs: readonly string[];
}

/**
 * A period is full when it has this many megabytes of write-ahead log, or as many as its base if the base is larger.
 */
const periodMb = 64;

/** The number of periods to keep. With one, a new period would delete almost the whole history. */
const keptPeriods = 2;

/**
 * The history of each branch's data: a base copy and the write-ahead log since then. PostgreSQL can recover every later
 * time from both.
 * Each period is a folder `<branch>/history/<n>` with `data` (the base), `wal` (finished segments of the log) and
 * `from` (the first time that can be recovered).
 * Without `data`, the template is the base. Without `from`, the base is not complete yet, and the period before it
 * continues.
 * PostgreSQL's archiver links finished segments into `wal` of the newest period.
 * `inherited` has the log of the branch from which the data was copied. With it, a branch whose base is the template
 * needs no base of its own.
 */
export class BranchHistory {
  readonly #parts: HistoryParts;

  constructor(parts: HistoryParts) {
    this.#parts = parts;
  }

  /** @param staged the branch's unfinished directory */
  async beginAtTemplate(staged: string): Promise<void> {
    const period = path.join(staged, "history", "1");
    this.#makeFolders(period);
    await this.#complete(period, 0);
  }

  /** If the base of the other branch is not the template, nothing happens here, and `prepare` makes a base. */
  async inherit(sourceId: string, staged: string, wallMs: number | undefined): Promise<void> {
    const period = this.periodAt(sourceId, wallMs ?? Number.POSITIVE_INFINITY);
    if (period?.base !== this.#templateData) return;
    const inherited = path.join(staged, "history", "1", inheritedName);
    await this.beginAtTemplate(staged);
    this.#parts.directories.makeFolder(inherited);
    // If two directories hold the same segment, that of the earlier one is used: a link that exists is not replaced.
    const before = lastPositionIn(path.join(staged, "data", "pg_wal"));
    for (const log of period.logs) await linkLog(log, inherited, before);
  }

  /** The primary must not run. @returns the directory for finished segments of the write-ahead log */
  async prepare(branchId: string): Promise<string> {
    const { directories, user } = this.#parts;
    if (this.#periods(branchId).length === 0) {
      const source = directories.dataOf(holderOfBranch(branchId));
      this.openPeriod(branchId);
      await this.#fillPeriod(branchId, { fromMs: 0, copy: (target) => copyAtRest({ source, target, user }) });
    }
    return this.archiveOf(branchId);
  }

  archiveOf(branchId: string): string {
    return path.join(this.#pathOf(branchId, this.#folders(branchId).at(-1) ?? 1), "wal");
  }

  isPeriodFull(branchId: string): boolean {
    const last = this.#periods(branchId).at(-1);
    if (last === undefined) return false;
    const folder = this.#pathOf(branchId, last);
    const logMb = (countOf(path.join(folder, "wal")) + countOf(path.join(folder, inheritedName))) * walSegmentMb;
    return logMb >= periodMb && logMb >= sizeOfBaseMb(path.join(folder, "data"));
  }

  /** The server must archive into it before `completePeriod` is called. */
  openPeriod(branchId: string): void {
    const folders = this.#folders(branchId);
    if (folders.at(-1) !== this.#periods(branchId).at(-1)) return;
    this.#makeFolders(this.#pathOf(branchId, (folders.at(-1) ?? 0) + 1));
  }

  async completePeriod(branchId: string, primary: PostgresServer): Promise<void> {
    const { directories, user } = this.#parts;
    await this.#fillPeriod(branchId, { fromMs: undefined, copy: (target) => copyRunning(primary, { target, user }) });
    const dropped = this.#periods(branchId).slice(0, -keptPeriods);
    for (const period of dropped) await directories.remove(this.#pathOf(branchId, period));
  }

  /** Epoch milliseconds of the machine's clock; 0: every time since the branch was created. */
  firstMs(branchId: string): number {
    const [first] = this.#periods(branchId);
    return first === undefined ? 0 : this.#fromMs(branchId, first);
  }

  /** `undefined`: the history begins later, or there is none. */
  periodAt(branchId: string, wallMs: number): Period | undefined {
    const { directories } = this.#parts;
    const number = this.#periods(branchId).findLast((period) => this.#fromMs(branchId, period) <= wallMs);
    if (number === undefined) return undefined;
    const own = path.join(this.#pathOf(branchId, number), "data");
    const later = this.#folders(branchId).filter((folder) => folder >= number);
    return {
      base: existsSync(own) ? own : this.#templateData,
      // Recovery takes a segment of the write-ahead log from the first of these directories that has it. `pg_wal` has those
      // that are not archived yet. Inherited ones come last, so the branch's own segments count.
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

  #folders(branchId: string): readonly number[] {
    const folder = path.join(this.#parts.directories.of(holderOfBranch(branchId)), "history");
    if (!existsSync(folder)) return [];
    return readdirSync(folder)
      .map(Number)
      .sort((a, b) => a - b);
  }

  #periods(branchId: string): readonly number[] {
    return this.#folders(branchId).filter((folder) => existsSync(path.join(this.#pathOf(branchId, folder), "from")));
  }

  #pathOf(branchId: string, period: number): string {
    return path.join(this.#parts.directories.of(holderOfBranch(branchId)), "history", String(period));
  }

  #fromMs(branchId: string, period: number): number {
    return Number(readFileSync(path.join(this.#pathOf(branchId, period), "from"), "utf8"));
  }

  /** @param fill `fromMs`: the first time that can be recovered; `undefined`: the end of the copy */
  async #fillPeriod(
    branchId: string,
    { fromMs, copy }: { readonly fromMs: number | undefined; readonly copy: (target: string) => Promise<void> },
  ): Promise<void> {
    const { directories } = this.#parts;
    const folder = this.#pathOf(branchId, this.#folders(branchId).at(-1) ?? 1);
    const staged = directories.stage();
    try {
      await copy(path.join(staged, "data"));
      // A crash during an earlier attempt may have left this directory.
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

/** A segment's name: eight digits of the timeline, then sixteen of the position in the log. */
const segmentName = /^[0-9A-F]{24}$/;

function positionOf(name: string): string {
  return name.slice(8);
}

function lastPositionIn(directory: string): string {
  return readdirSync(directory)
    .filter((name) => segmentName.test(name))
    .map(positionOf)
    .reduce((last, position) => (position > last ? position : last), "");
}

/**
 * Links the log of a source branch into the directory of a new branch: the histories of timelines, and the segments
 * before a position. These segments are finished, and PostgreSQL never writes to them again (`wal_recycle`). From the
 * position on, the new branch has segments of its own. Those of the source may hold commits that it never had.
 */
async function linkLog(from: string, to: string, before: string): Promise<void> {
  if (!existsSync(from)) return;
  const isWanted = (name: string) =>
    segmentName.test(name) ? positionOf(name) < before : /^[0-9A-F]{8}\.history$/.test(name);
  for (const name of readdirSync(from).filter(isWanted)) {
    await link(path.join(from, name), path.join(to, name)).catch((error: NodeJS.ErrnoException) => {
      // ENOENT: PostgreSQL has removed the segment meanwhile. EEXIST: an earlier directory had the segment.
      if (error.code !== "ENOENT" && error.code !== "EEXIST") throw error;
    });
  }
}

function countOf(directory: string): number {
  return existsSync(directory) ? readdirSync(directory).length : 0;
}

/** Without its own write-ahead log: that of a slow copy is large, and would make the next period longer. */
function sizeOfBaseMb(directory: string): number {
  if (!existsSync(directory)) return 0;
  const log = path.join(directory, "pg_wal");
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && entry.parentPath !== log,
  );
  const bytes = files.map(({ parentPath, name }) => statSync(path.join(parentPath, name)).size);
  return bytes.reduce((sum, size) => sum + size, 0) / 1_000_000;
}
