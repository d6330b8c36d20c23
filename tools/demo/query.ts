// Runs one statement in the database that DATABASE_URL names, and prints its rows: `node tools/demo/query.ts SQL`.
import pg from "pg";

const [statement = "SELECT 1"] = process.argv.slice(2);
// The demo gives no client the sandbox's certificate authority, so this one does not verify the server.
const connectionString = process.env.DATABASE_URL?.replace("sslmode=require", "sslmode=no-verify") ?? "";
const startedMs = performance.now();
const client = new pg.Client({ connectionString });
await client.connect();
const { rows } = await client.query(statement);
for (const row of rows) console.log(Object.values(row as object).join(" | "));
console.log(`(${((performance.now() - startedMs) / 1000).toFixed(2)} s from connecting to the answer)`);
await client.end();
