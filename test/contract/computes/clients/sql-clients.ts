/** The client libraries of PostgreSQL that tests use, with one interface. */
import pg from "pg";
import postgres from "postgres";

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
