/** Writes the configuration of a server: `postgresql.conf` and `pg_hba.conf`. */
import { sharedBuffersMb } from "../../engine/compute-sizes.ts";

export interface ServerNeeds {
  readonly maxConnections: number;
  /** None of them belongs to the control plane. */
  readonly pgSettings: Readonly<Record<string, string>>;
  readonly socketDirectory: string;
  /** For a standby; `undefined`: the server follows no primary. */
  readonly primarySocketDirectory: string | undefined;
  readonly archiveDirectory?: string | undefined;
  readonly recovery?: Recovery | undefined;
  /** `undefined`: `pg_stat_statements` is not offered. */
  readonly extensionPath?: string | undefined;
  /** A crash of the machine may damage data that is deleted at the end. */
  readonly isTemporary: boolean;
}

export interface Recovery {
  /** If a segment is in several directories, the first one counts. */
  readonly logs: readonly string[];
  /** Epoch milliseconds of the machine's clock; `undefined`: all commits. */
  readonly targetMs: number | undefined;
}

export const walSegmentMb = 4;

export const socketFileName = ".s.PGSQL.5432";

export function maxConnectionsIn(settings: string): number {
  return Number(/^max_connections = '(\d+)'$/m.exec(settings)?.[1] ?? 0);
}

/** The deletion at the end would wait for writes to disk. */
const temporarySettings = {
  fsync: "off",
  full_page_writes: "off",
  checkpoint_flush_after: "0",
  bgwriter_flush_after: "0",
};

/** PostgreSQL uses the last value of a name, so the control plane's settings come last. */
export function serverSettings(needs: ServerNeeds): string {
  const { socketDirectory, primarySocketDirectory, isTemporary } = needs;
  const owned: Readonly<Record<string, string | number>> = {
    listen_addresses: "",
    port: 5432,
    unix_socket_directories: socketDirectory,
    unix_socket_permissions: "0700",
    max_connections: needs.maxConnections,
    shared_buffers: `${sharedBuffersMb}MB`,
    wal_level: "logical",
    max_wal_senders: 10,
    wal_keep_size: "64MB",
    hot_standby: "on",
    ssl: "off",
    logging_collector: "off",
    log_destination: "stderr",
    ...(isTemporary ? temporarySettings : {}),
    ...(primarySocketDirectory === undefined
      ? {}
      : { primary_conninfo: `host=${primarySocketDirectory} port=5432 user=cloud_admin` }),
    ...(needs.extensionPath === undefined
      ? {}
      : { extension_control_path: needs.extensionPath, shared_preload_libraries: "pg_stat_statements" }),
    ...archiveSettings(needs.archiveDirectory),
    ...recoverySettings(needs.recovery),
  };
  const defaults = {
    // With a short interval, a standby follows a new or restarted primary at once.
    wal_retrieve_retry_interval: "500ms",
    log_min_messages: "warning",
    timezone: "UTC",
    log_timezone: "UTC",
    ...(isTemporary ? { synchronous_commit: "off" } : {}),
  };
  const lines = [...Object.entries(defaults), ...Object.entries(needs.pgSettings), ...Object.entries(owned)];
  return lines.map(([name, value]) => `${name} = ${quoted(String(value))}\n`).join("");
}

/** A finished segment is linked, not copied, so the server must not write to it again (`wal_recycle`). */
function archiveSettings(directory: string | undefined): Readonly<Record<string, string>> {
  const command = directory === undefined ? "" : `ln -f "%p" ${shellWord(`${directory}/`)}"%f"`;
  return { archive_mode: directory === undefined ? "off" : "on", archive_command: command, wal_recycle: "off" };
}

function recoverySettings(recovery: Recovery | undefined): Readonly<Record<string, string>> {
  if (recovery === undefined) return {};
  const copies = recovery.logs.map((directory) => `cp ${shellWord(`${directory}/`)}"%f" "%p" 2>/dev/null`);
  return {
    // No client may see data before the target time is reached.
    hot_standby: "off",
    restore_command: copies.join(" || "),
    recovery_target_timeline: "latest",
    recovery_target_action: "promote",
    ...(recovery.targetMs === undefined ? {} : { recovery_target_time: timestampOf(recovery.targetMs) }),
  };
}

/** With microseconds, the precision of PostgreSQL's commit times. */
function timestampOf(timeMs: number): string {
  const wholeMs = Math.floor(timeMs);
  const micros = Math.floor((timeMs - wholeMs) * 1000);
  return `${new Date(wholeMs).toISOString().slice(0, -1)}${String(micros).padStart(3, "0")}+00`;
}

function shellWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''").replaceAll("%", "%%")}'`;
}

function quoted(value: string): string {
  return `'${value.replaceAll("\\", "\\\\").replaceAll("'", "''").replaceAll("\n", "\\n")}'`;
}

/** Only the sandbox can reach the Unix socket, and the proxy has checked the password. */
export const accessRules = "local all all trust\nlocal replication all trust\n";
