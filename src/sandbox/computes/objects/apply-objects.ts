/** Changes the roles and databases of a server by SQL, as the API wants them. */
import path from "node:path";
import { AdminConnection, PostgresError, quoteName, quoteText } from "../postgres/admin-connection.ts";
import type { PostgresServer } from "../postgres/postgres-server.ts";
import { makeVerifier, verifierText } from "../protocol/scram.ts";
import type { ObjectStep } from "./plan-objects.ts";

/** A step may be repeated after a crash. @returns what PostgreSQL refused; it does not hold up the others */
export async function applyObjects(server: PostgresServer, steps: readonly ObjectStep[]): Promise<readonly string[]> {
  const refused: string[] = [];
  for (const step of steps) {
    try {
      await applyStep(server, step);
    } catch (error) {
      if (!(error instanceof PostgresError)) throw error;
      refused.push(`${describe(step)}: ${error.message}`);
    }
  }
  return refused;
}

async function applyStep(server: PostgresServer, step: ObjectStep): Promise<void> {
  const { admin } = server;
  switch (step.kind) {
    case "CreateRole":
      if (!(await exists(admin, "pg_roles", "rolname", step.name))) {
        await admin.query(`CREATE ROLE ${quoteName(step.name)} NOLOGIN`);
      }
      await admin.query(
        `ALTER ROLE ${quoteName(step.name)} CREATEDB CREATEROLE BYPASSRLS INHERIT REPLICATION ${await loginClause(step.password)};
         GRANT neon_superuser TO ${quoteName(step.name)}`,
      );
      return;
    case "SetPassword":
      await admin.query(`ALTER ROLE ${quoteName(step.name)} ${await loginClause(step.password)}`);
      return;
    case "DropRole":
      await dropRole(server, step.name);
      return;
    case "CreateDatabase":
      if (await exists(admin, "pg_database", "datname", step.name)) await setOwner(admin, step);
      else await admin.query(`CREATE DATABASE ${quoteName(step.name)} OWNER ${quoteName(step.ownerName)}`);
      return;
    case "SetOwner":
      await setOwner(admin, step);
      return;
    case "RenameDatabase":
      await renameDatabase(admin, step);
      return;
    case "DropDatabase":
      await admin.query(`DROP DATABASE IF EXISTS ${quoteName(step.name)} WITH (FORCE)`);
      return;
  }
}

async function loginClause(password: string | undefined): Promise<string> {
  // The statement has the verifier in place of the password, because PostgreSQL may log the statement.
  if (password === undefined) return "NOLOGIN PASSWORD NULL";
  return `LOGIN PASSWORD ${quoteText(verifierText(await makeVerifier(password)))}`;
}

async function exists(admin: AdminConnection, table: string, column: string, name: string): Promise<boolean> {
  const rows = await admin.query(`SELECT 1 FROM ${table} WHERE ${column} = ${quoteText(name)}`);
  return rows.length > 0;
}

async function setOwner(
  admin: AdminConnection,
  { name, ownerName }: { readonly name: string; readonly ownerName: string },
): Promise<void> {
  await admin.query(`ALTER DATABASE ${quoteName(name)} OWNER TO ${quoteName(ownerName)}`);
}

/** PostgreSQL refuses to rename a database with sessions, so they are ended. */
async function renameDatabase(
  admin: AdminConnection,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<void> {
  if (!(await exists(admin, "pg_database", "datname", from))) return;
  await admin.query(
    `ALTER DATABASE ${quoteName(from)} ALLOW_CONNECTIONS false;
     SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = ${quoteText(from)}`,
  );
  await admin.query(`ALTER DATABASE ${quoteName(from)} RENAME TO ${quoteName(to)}`);
  await admin.query(`ALTER DATABASE ${quoteName(to)} ALLOW_CONNECTIONS true`);
}

/** What the role owns gets another owner first. */
async function dropRole(server: PostgresServer, name: string): Promise<void> {
  const { admin } = server;
  if (!(await exists(admin, "pg_roles", "rolname", name))) return;
  await admin.query(
    `ALTER ROLE ${quoteName(name)} NOLOGIN;
     SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = ${quoteText(name)}`,
  );
  // REASSIGN OWNED also changes the owner of databases, so they must have another owner before it runs.
  const owned = await admin.query(`SELECT datname FROM pg_database WHERE pg_get_userbyid(datdba) = ${quoteText(name)}`);
  for (const [database] of owned) await setOwner(admin, { name: database ?? "", ownerName: "cloud_admin" });
  const databases = await admin.query("SELECT datname, pg_get_userbyid(datdba) FROM pg_database WHERE datallowconn");
  for (const [database, owner] of databases) {
    const connection = await AdminConnection.open(path.join(server.socketPath), database ?? "postgres");
    try {
      await connection.query(`REASSIGN OWNED BY ${quoteName(name)} TO ${quoteName(owner ?? "cloud_admin")}`);
      await connection.query(`DROP OWNED BY ${quoteName(name)}`);
    } finally {
      connection.close();
    }
  }
  await admin.query(`DROP ROLE ${quoteName(name)}`);
}

function describe(step: ObjectStep): string {
  const name = step.kind === "RenameDatabase" ? step.from : step.name;
  const verb = step.kind.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
  return `cannot ${verb} ${name}`;
}
