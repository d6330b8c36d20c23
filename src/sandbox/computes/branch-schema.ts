/** Reads the schema of a database. */
import { AdminConnection, PostgresError } from "./postgres/admin-connection.ts";
import type { PostgresServer } from "./postgres/postgres-server.ts";
import { schemaStatements } from "./postgres/schema-statements.ts";

/** "": no compute has run since the API created the database. @throws PostgresError */
export async function readSchema(server: PostgresServer, database: string): Promise<string> {
  const connection = await openOrAbsent(server.socketPath, database);
  if (connection === undefined) return "";
  try {
    // With this search path, PostgreSQL writes every name with its schema. The database's own search path has no
    // effect.
    await connection.query("SET search_path = pg_catalog");
    const rows = await connection.query(schemaStatements);
    return rows.map(([text]) => `${text};\n`).join("\n");
  } finally {
    connection.close();
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
