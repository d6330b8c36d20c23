import path from "node:path";
import { ComputeError } from "../postgres/compute-error.ts";
import { writeOwned } from "../postgres/copy-tree.ts";
import type { PostgresServer } from "../postgres/postgres-server.ts";
import { copyAtRest } from "../storage/copy-data.ts";
import type { Period } from "./branch-history.ts";
import { type BriefPlace, withBriefServer } from "./brief-server.ts";

/** Which moment is recovered, and to where. */
export interface RecoveryOrder
  extends Omit<BriefPlace, "archiveDirectory" | "recovery" | "maxConnections" | "isTemporary"> {
  readonly period: Period;
  /** Epoch milliseconds of the machine's clock. Must not be before the period. */
  readonly wallMs: number;
}

/**
 * Makes the data of an earlier moment in `dataDirectory`, which must not exist: PostgreSQL itself recovers it from a base
 * copy and the write-ahead log. What was committed by then is there, and nothing else.
 *
 * @throws ComputeError with PostgreSQL's reason, or Error of the file system
 */
export async function recoverData({ period, wallMs, ...place }: RecoveryOrder): Promise<void> {
  const { dataDirectory, user } = place;
  await copyAtRest({ source: period.base, target: dataDirectory, user });
  await writeOwned(path.join(dataDirectory, "recovery.signal"), "", user);
  // What is being made is thrown away after a crash of the machine, as any copy is.
  const recover = (targetMs: number | undefined) =>
    withBriefServer({ ...place, isTemporary: true, recovery: { logs: period.logs, targetMs } }, async () => {});
  try {
    await recover(Number.isFinite(wallMs) ? wallMs : undefined);
  } catch (error) {
    // PostgreSQL finds the moment by the first later commit. There was none: all of the log belongs to it.
    if (!(error instanceof ComputeError) || !error.message.includes(targetNotReached)) throw error;
    await recover(undefined);
  }
}

const targetNotReached = "recovery ended before configured recovery target was reached";

/**
 * Writes what a running primary has committed so far to its write-ahead log, with a commit at the end, by which a recovery
 * finds the moments before it. @throws PostgresError
 */
export async function markPresent({ admin }: PostgresServer): Promise<void> {
  await admin.query("SELECT pg_current_xact_id()");
  await admin.query("SELECT pg_switch_wal()");
}
