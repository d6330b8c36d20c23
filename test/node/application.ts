// The application of docs/connect.md. For each request to port 8080 it connects with the data that its pod has, and
// answers with the database's answer. `SERVICE_BINDING_ROOT` leads to a mounted Secret; else `DATABASE_URL` names the
// database.
import { createServer } from "node:http";
import { createRequire } from "node:module";
import pg from "pg";
import postgres from "postgres";

const { getBinding } = createRequire(import.meta.url)("kube-service-bindings") as {
  getBinding(type: string, client: string): pg.ClientConfig & { readonly sslmode?: string };
};

const statement = "SELECT current_user AS role, current_database() AS database";

/** Reads the mounted Secret again, as an application that follows rotations does. */
async function askByDirectory(): Promise<readonly object[]> {
  const binding = getBinding("POSTGRESQL", "pg");
  // `require` asks for TLS without verification of the server. The driver understands it only by this option.
  const ssl = binding.ssl ?? (binding.sslmode === "require" ? { rejectUnauthorized: false } : true);
  const client = new pg.Client({ ...binding, ssl, connectionTimeoutMillis: 10_000 });
  try {
    await client.connect();
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

async function askByUrl(url: string): Promise<readonly object[]> {
  const sql = postgres(url, { max: 1, connect_timeout: 10 });
  try {
    return await sql.unsafe(statement);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

const ask = () =>
  process.env.SERVICE_BINDING_ROOT === undefined ? askByUrl(process.env.DATABASE_URL ?? "") : askByDirectory();

const server = createServer(async (_, response) => {
  try {
    const [row] = await ask();
    response.end(JSON.stringify(row));
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message: string };
    response.writeHead(503).end(JSON.stringify({ code, message }));
  }
});
server.listen(8080);
process.once("SIGTERM", () => process.exit());
