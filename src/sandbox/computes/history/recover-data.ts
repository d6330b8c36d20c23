/** Recovers the data that a branch had at an earlier time. */
import path from "node:path";
import { ComputeError } from "../postgres/compute-error.ts";
import { writeOwned } from "../postgres/copy-tree.ts";
import type { PostgresServer } from "../postgres/postgres-server.ts";
import { copyAtRest } from "../storage/copy-data.ts";
import type { Period } from "./branch-history.ts";
import { type BriefPlace, withBriefServer } from "./brief-server.ts";

export interface RecoveryOrder
  extends Omit<BriefPlace, "archiveDirectory" | "recovery" | "maxConnections" | "isTemporary"> {
  readonly period: Period;
  /** Epoch milliseconds of the machine's clock, not before the period. */
  readonly wallMs: number;
}

/** `dataDirectory` must not exist. It gets exactly the commits until `wallMs`. @throws ComputeError */
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

/** PostgreSQL recovers a time only if it finds a later commit in a finished segment. @throws PostgresError */
export async function markPresent({ admin }: PostgresServer): Promise<void> {
  await admin.query("SELECT pg_current_xact_id()");
  await admin.query("SELECT pg_switch_wal()");
}
