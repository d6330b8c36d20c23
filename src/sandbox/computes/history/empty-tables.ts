/** Removes all rows from all tables of a server, for branches that copy only the schema. */
import { AdminConnection } from "../postgres/admin-connection.ts";
import type { PostgresServer } from "../postgres/postgres-server.ts";

/** All definitions stay. Tables of extensions keep their rows. @throws PostgresError */
export async function emptyTables(server: PostgresServer): Promise<void> {
  const databases = await server.admin.query(
    "SELECT datname FROM pg_database WHERE datallowconn AND NOT datistemplate",
  );
  for (const [database] of databases) {
    const connection = await AdminConnection.open(server.socketPath, database ?? "postgres");
    try {
      await connection.query(emptyOneDatabase);
    } finally {
      connection.close();
    }
  }
}

const ofExtension = (oid: string): string =>
  `EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = ${oid} AND d.deptype = 'e')`;

/** With `replica`, ordinary triggers do not run. One TRUNCATE names all tables, because of foreign keys. */
const emptyOneDatabase = `DO $$
DECLARE
  tables text;
  view regclass;
BEGIN
  SET LOCAL session_replication_role = replica;
  SELECT string_agg(c.oid::regclass::text, ', ') INTO tables FROM pg_class c
    WHERE c.relkind IN ('r', 'p') AND c.relpersistence <> 't'
      AND c.relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
      AND NOT ${ofExtension("c.oid")};
  IF tables IS NOT NULL THEN
    EXECUTE 'TRUNCATE ' || tables || ' RESTART IDENTITY';
  END IF;
  PERFORM setval(s.oid, q.seqstart, false) FROM pg_class s JOIN pg_sequence q ON q.seqrelid = s.oid WHERE NOT ${ofExtension("s.oid")};
  PERFORM lo_unlink(oid) FROM pg_largeobject_metadata;
  FOR view IN SELECT oid FROM pg_class WHERE relkind = 'm' AND NOT ${ofExtension("pg_class.oid")} LOOP
    EXECUTE 'REFRESH MATERIALIZED VIEW ' || view || ' WITH NO DATA';
  END LOOP;
END
$$`;
