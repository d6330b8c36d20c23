/** The settings of PostgreSQL that belong to the control plane. */

/** Settings that belong to the control plane. A user cannot change them. */
const ownedNames = new Set([
  "allow_alter_system",
  "config_file",
  "data_directory",
  "dynamic_library_path",
  "extension_control_path",
  "external_pid_file",
  "fsync",
  "full_page_writes",
  "hba_file",
  "hot_standby",
  "ident_file",
  "listen_addresses",
  "log_destination",
  "logging_collector",
  "max_connections",
  "max_wal_senders",
  "port",
  "primary_conninfo",
  "primary_slot_name",
  "restart_after_crash",
  "shared_buffers",
  "shared_preload_libraries",
  "ssl",
  "superuser_reserved_connections",
  "unix_socket_directories",
  "unix_socket_group",
  "unix_socket_permissions",
  "wal_keep_size",
  "wal_level",
  "wal_recycle",
  "wal_sync_method",
]);

/** Prefixes of settings that run programs, or decide what is recovered. A user cannot change them. */
const ownedPrefixes = /^(archive|recovery|restore|ssl)_/i;

/** Whether a setting of PostgreSQL belongs to the control plane. PostgreSQL ignores upper case in names. */
export function isOwnedSetting(name: string): boolean {
  return ownedNames.has(name.toLowerCase()) || ownedPrefixes.test(name);
}
