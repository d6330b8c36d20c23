/** The client libraries of PostgreSQL that tests use, with one interface. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";
import pg from "pg";
import postgres from "postgres";

const execute = promisify(execFile);

/** A client library for PostgreSQL, as an application uses it. */
export interface SqlClient {
  /** Runs statements on one connection. @returns for each row its first value, and for each error its SQLSTATE. */
  run(uri: string, ...statements: readonly string[]): Promise<readonly string[]>;
  /**
   * Opens a connection that stays open.
   * @returns when it is open; `dropped` resolves when the connection is lost
   */
  hold(uri: string): Promise<{ readonly dropped: Promise<void> }>;
  /**
   * Opens connections until the server refuses one.
   * @returns the SQLSTATE of the refusal
   */
  exhaust(uri: string): Promise<string>;
}

/**
 * Returns the connection string without verification of the certificate. With `sslmode=require`, node-postgres would
 * verify it, and libpq does not.
 */
const unverified = (uri: string): string => uri.replace("sslmode=require", "sslmode=no-verify");

async function connected(uri: string): Promise<pg.Client> {
  const client = new pg.Client(unverified(uri));
  client.on("error", () => {});
  await client.connect();
  return client;
}

/** npm `pg`. */
export const nodePostgres: SqlClient = {
  async run(uri, ...statements) {
    const client = await connected(uri);
    const seen: string[] = [];
    for (const statement of statements) {
      await client.query({ text: statement, rowMode: "array" }).then(
        ({ rows }) => seen.push(...rows.map(([value]: unknown[]) => String(value))),
        (error: pg.DatabaseError) => seen.push(error.code ?? "dropped"),
      );
    }
    await client.end();
    return seen;
  },
  async hold(uri) {
    const client = await connected(uri);
    return { dropped: new Promise((resolve) => client.once("end", () => resolve())) };
  },
  async exhaust(uri) {
    const held: pg.Client[] = [];
    try {
      while (held.length < 130) held.push(await connected(uri));
      return "none was refused";
    } catch (error) {
      // After the refusal, the server still serves the open connections.
      await held[0]?.query("SELECT 1");
      return (error as pg.DatabaseError).code ?? String(error);
    } finally {
      await Promise.all(held.map((client) => client.end()));
    }
  },
};

const openPostgresJs = (uri: string) => postgres(uri, { max: 1, onnotice: () => {}, connect_timeout: 15 });

/** npm `postgres`. */
export const postgresJs: SqlClient = {
  async run(uri, ...statements) {
    const sql = openPostgresJs(uri);
    const seen: string[] = [];
    for (const statement of statements) {
      await sql.unsafe(statement).then(
        (rows) => seen.push(...rows.map((row) => String(Object.values(row)[0]))),
        (error: { readonly code: string }) => seen.push(error.code),
      );
    }
    await sql.end({ timeout: 5 });
    return seen;
  },
  async hold(uri) {
    const sql = openPostgresJs(uri);
    await sql`SELECT 1`;
    const waiting = sql`SELECT pg_sleep(60)`.then(
      () => {},
      () => {},
    );
    return { dropped: waiting.then(() => sql.end({ timeout: 1 })) };
  },
  async exhaust(uri) {
    const pools: ReturnType<typeof openPostgresJs>[] = [];
    try {
      for (let count = 0; count < 130; count++) {
        const sql = openPostgresJs(uri);
        pools.push(sql);
        await sql`SELECT 1`;
      }
      return "none was refused";
    } catch (error) {
      return (error as { readonly code: string }).code;
    } finally {
      await Promise.all(pools.map((sql) => sql.end({ timeout: 1 })));
    }
  },
};

/** psql does not print the SQLSTATE of a refused connection, so the text of libpq's message is checked. */
const tooMany = /too many clients already|remaining connection slots are reserved/;

/** Starts psql with one statement that waits. Resolves once the connection is open or refused. */
async function psqlThatWaits(uri: string) {
  const statements = ["SELECT 'open'", "SELECT pg_sleep(60)"].flatMap((each) => ["-c", each]);
  const child = spawn("psql", ["-X", "-q", "-A", "-t", uri, ...statements], { timeout: 90_000 });
  let output = "";
  child.stderr.on("data", (bytes: Buffer) => {
    output += bytes.toString("utf8");
  });
  const closed = once(child, "close");
  const isOpen = await Promise.race([once(child.stdout, "data").then(() => true), closed.then(() => false)]);
  const end = async () => {
    child.kill("SIGTERM");
    await closed;
  };
  return { isOpen, closed, output: () => output, end };
}

/** psql of the Debian package. `run` returns all rows first, and then the errors. */
export const psql: SqlClient = {
  async run(uri, ...statements) {
    const commands = statements.flatMap((each) => ["-c", each]);
    const args = ["-X", "-q", "-A", "-t", "-v", "VERBOSITY=sqlstate", uri, ...commands];
    const { stdout, stderr } = await execute("psql", args, { timeout: 60_000 }).catch(
      (error: { readonly stdout: string; readonly stderr: string }) => error,
    );
    const errors = [...stderr.matchAll(/ERROR:\s+(\w{5})/g)].map(([, code = ""]) => code);
    return [...stdout.split("\n").filter((line) => line !== ""), ...errors];
  },
  async hold(uri) {
    const { isOpen, closed, output } = await psqlThatWaits(uri);
    if (!isOpen) throw new Error(output());
    return {
      dropped: closed.then(() => {
        if (!/terminating connection|closed the connection/.test(output())) throw new Error(`not dropped: ${output()}`);
      }),
    };
  },
  async exhaust(uri) {
    const held: Awaited<ReturnType<typeof psqlThatWaits>>[] = [];
    try {
      while (held.length < 130) {
        const next = await psqlThatWaits(uri);
        if (!next.isOpen) return tooMany.test(next.output()) ? "53300" : next.output();
        held.push(next);
      }
      return "none was refused";
    } finally {
      await Promise.all(held.map((each) => each.end()));
    }
  },
};
