/** Copies a PostgreSQL data directory, whether its server runs or not. */
import { readdir } from "node:fs/promises";
import path from "node:path";
import { AdminConnection } from "../postgres/admin-connection.ts";
import { copyOne, copyTree, writeOwned } from "../postgres/copy-tree.ts";
import type { PostgresServer } from "../postgres/postgres-server.ts";
import type { SystemUser } from "../postgres/system-user.ts";

/** The data directories of a copy: source and target. */
export interface DataCopy {
  readonly source: string;
  /** The target directory, which must not exist. */
  readonly target: string;
  /** The owner of the copy. */
  readonly user: SystemUser;
}

/** Files that belong to one server only, and so are not in a copy. */
const ofTheServer =
  /^(postmaster\.(pid|opts)|standby\.signal|pg_replslot\/.+|pg_stat\/.+|pg_stat_tmp\/.+|postgresql\.auto\.conf\.tmp)$/;

/** Files that a copy of a running server must not have. @see PostgreSQL 18, 25.3.4, "Backing Up the Data Directory" */
const whileItRuns =
  /^(backup_label|tablespace_map|pg_wal\/.+|pg_(dynshmem|notify|serial|snapshots|subtrans)\/.+|(.+\/)?pgsql_tmp.*|(.+\/)?pg_internal\.init.*)$/;

/** Copies the data of a server that does not run. */
export async function copyAtRest({ source, target, user }: DataCopy): Promise<void> {
  await copyTree(source, target, { user, mayChange: false, leavesOut: (name) => ofTheServer.test(name) });
}

/**
 * Copies the data of a running primary in a consistent state. PostgreSQL's backup functions mark the begin and the end
 * of the copy, and the copy has the write-ahead log between them.
 * @throws PostgresError, or Error of the file system
 */
export async function copyRunning(server: PostgresServer, { target, user }: Omit<DataCopy, "source">): Promise<void> {
  const source = server.place.dataDirectory;
  // PostgreSQL ends the backup with this connection, also if something fails.
  const backup = await AdminConnection.open(server.socketPath);
  try {
    await backup.query("SELECT pg_backup_start('sandbox', true)");
    const leavesOut = (name: string): boolean => ofTheServer.test(name) || whileItRuns.test(name);
    await copyTree(source, target, { user, mayChange: true, leavesOut });
    const [row] = await backup.query("SELECT labelfile FROM pg_backup_stop(false)");
    const label = row?.[0] ?? "";
    await writeOwned(path.join(target, "backup_label"), label, user);
    await copyLog(source, target, { user, firstSegment: firstSegmentOf(label) });
  } finally {
    backup.close();
  }
}

/** Returns the name of the log segment with which recovery begins. */
function firstSegmentOf(label: string): string {
  return /^START WAL LOCATION: \S+ \(file ([0-9A-F]{24})\)/m.exec(label)?.[1] ?? "";
}

async function copyLog(
  source: string,
  target: string,
  { user, firstSegment }: { readonly user: SystemUser; readonly firstSegment: string },
): Promise<void> {
  for (const name of await readdir(path.join(source, "pg_wal"))) {
    if (!/^[0-9A-F]{24}$/.test(name) || name < firstSegment) continue;
    await copyOne(path.join(source, "pg_wal", name), path.join(target, "pg_wal", name), { user, mayChange: true });
  }
}
