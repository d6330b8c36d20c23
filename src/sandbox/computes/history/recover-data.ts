/** Recovers the data that a branch had at an earlier time. */
import path from "node:path";
import { ComputeError } from "../postgres/compute-error.ts";
import { writeOwned } from "../postgres/copy-tree.ts";
import type { PostgresServer } from "../postgres/postgres-server.ts";
import { copyAtRest } from "../storage/copy-data.ts";
import type { Period } from "./branch-history.ts";
import { type BriefPlace, withBriefServer } from "./brief-server.ts";

/** What to recover: a period, a time and the target directory. */
export interface RecoveryOrder
  extends Omit<BriefPlace, "archiveDirectory" | "recovery" | "maxConnections" | "isTemporary"> {
  readonly period: Period;
  /** The time to recover, in epoch milliseconds of the machine's clock. It must not be before the period. */
  readonly wallMs: number;
}

/**
 * Makes `dataDirectory`, which must not exist, with the data of an earlier time. PostgreSQL recovers it from a base
 * copy and the write-ahead log. The result has exactly the commits until `wallMs`.
 * @throws ComputeError with PostgreSQL's reason, or Error of the file system
 */
export async function recoverData({ period, wallMs, ...place }: RecoveryOrder): Promise<void> {
  const { dataDirectory, user } = place;
  await copyAtRest({ source: period.base, target: dataDirectory, user });
  await writeOwned(path.join(dataDirectory, "recovery.signal"), "", user);
  // `isTemporary`: PostgreSQL does not wait for the disk, because the sandbox deletes an unfinished copy after a crash.
  const recover = (targetMs: number | undefined) =>
    withBriefServer({ ...place, isTemporary: true, recovery: { logs: period.logs, targetMs } }, async () => {});
  try {
    await recover(Number.isFinite(wallMs) ? wallMs : undefined);
  } catch (error) {
    // PostgreSQL looks for the first commit after the target time. If there is none, every commit in the log is wanted.
    if (!(error instanceof ComputeError) || !error.message.includes(targetNotReached)) throw error;
    await recover(undefined);
  }
}

const targetNotReached = "recovery ended before configured recovery target was reached";

/**
 * Adds a commit to the running primary's write-ahead log, and finishes the log's segment. PostgreSQL recovers a time
 * only if it finds a later commit.
 * @throws PostgresError
 */
export async function markPresent({ admin }: PostgresServer): Promise<void> {
  await admin.query("SELECT pg_current_xact_id()");
  await admin.query("SELECT pg_switch_wal()");
}
