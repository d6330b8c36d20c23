/** The SQL statements that add the sandbox's roles and views to the template, from which new branches are copied. */

/** The view counts since the server's start. pg_dump leaves it out, and no user can drop it. */
export function templateStatements(version: number, database: string): readonly string[] {
  return [...(database === "template1" ? sharedStatements : []), allowOwnSchema, fileCacheView(version), grantView];
}

/** Roles belong to the whole server, so these statements run in one database only. */
const sharedStatements = [
  "CREATE ROLE neon_superuser CREATEDB CREATEROLE NOLOGIN BYPASSRLS",
  "GRANT pg_read_all_data, pg_write_all_data, pg_monitor, pg_signal_backend TO neon_superuser WITH ADMIN OPTION",
];

const allowOwnSchema = "SET allow_system_table_mods = on";

const grantView = "GRANT SELECT ON pg_catalog.neon_stat_file_cache TO PUBLIC";

function fileCacheView(version: number): string {
  const writes =
    version >= 16
      ? "(SELECT coalesce(sum(writes), 0) + coalesce(sum(extends), 0) FROM pg_stat_io)"
      : "(SELECT buffers_checkpoint + buffers_clean + buffers_backend FROM pg_stat_bgwriter)";
  return `CREATE VIEW pg_catalog.neon_stat_file_cache AS
SELECT misses AS file_cache_misses, hits AS file_cache_hits,
  least(misses, pg_size_bytes(current_setting('shared_buffers')) / 8192)::bigint AS file_cache_used,
  ${writes}::bigint AS file_cache_writes,
  CASE WHEN hits + misses = 0 THEN NULL ELSE round(100.0 * hits / (hits + misses), 2) END AS file_cache_hit_ratio
FROM (SELECT coalesce(sum(blks_read), 0)::bigint AS misses, coalesce(sum(blks_hit), 0)::bigint AS hits
  FROM pg_stat_database) AS counters`;
}
