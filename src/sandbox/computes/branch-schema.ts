import type { BranchData } from "./branch-data.ts";
import { AdminConnection, PostgresError } from "./postgres/admin-connection.ts";
import { PostgresServer, type ServerPlace } from "./postgres/postgres-server.ts";
import { schemaStatements } from "./postgres/schema-statements.ts";
import { serverSettings } from "./postgres/server-settings.ts";

/** What a server for one look at a schema is started with. */
export interface SchemaReading extends ServerPlace {
  readonly data: BranchData;
  readonly isTemporary: boolean;
}

/**
 * Reads the schema of a database from a running server.
 *
 * @returns SQL; empty for a database that is not in the server yet, because its compute has not run since.
 * @throws PostgresError
 */
export async function readSchema(server: PostgresServer, database: string): Promise<string> {
  const connection = await openOrAbsent(server.socketPath, database);
  if (connection === undefined) return "";
  try {
    // All names in full, whatever the database's own search path is.
    await connection.query("SET search_path = pg_catalog");
    const rows = await connection.query(schemaStatements);
    return rows.map(([text]) => `${text};\n`).join("\n");
  } finally {
    connection.close();
  }
}

/** The same of data on which no server runs: one is started for the look. @throws ComputeError, PostgresError */
export async function readSchemaAtRest(reading: SchemaReading, database: string): Promise<string> {
  const { data, isTemporary, ...place } = reading;
  const { dataDirectory, socketDirectory, maxConnections } = place;
  data.requireVersion(dataDirectory);
  const needs = { maxConnections, isTemporary, socketDirectory, pgSettings: {}, primarySocketDirectory: undefined };
  await data.write(dataDirectory, "postgresql.conf", serverSettings(needs));
  const server = await PostgresServer.start(place);
  try {
    return await readSchema(server, database);
  } finally {
    await server.stop();
  }
}

const noSuchDatabase = "3D000";

async function openOrAbsent(socketPath: string, database: string): Promise<AdminConnection | undefined> {
  try {
    return await AdminConnection.open(socketPath, database);
  } catch (error) {
    if (error instanceof PostgresError && error.code === noSuchDatabase) return undefined;
    throw error;
  }
}
