/** The client libraries of PostgreSQL that tests use, with one interface. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
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

/**
 * Makes a client from a program. The program is called as `COMMAND… MODE URI`, and reads statements from its standard
 * input.
 */
function programClient(command: string, ...args: readonly string[]): SqlClient {
  const lines = (text: string): readonly string[] => text.split("\n").filter((line) => line !== "");
  return {
    async run(uri, ...statements) {
      const child = execute(command, [...args, "run", uri], { timeout: 60_000 });
      child.child.stdin?.end(statements.join(";"));
      return lines((await child).stdout);
    },
    async hold(uri) {
      const child = spawn(command, [...args, "hold", uri], { stdio: ["ignore", "pipe", "inherit"], timeout: 90_000 });
      const closed = once(child, "close");
      let output = "";
      child.stdout.on("data", (bytes: Buffer) => {
        output += bytes.toString("utf8");
      });
      await once(child.stdout, "data");
      const dropped = closed.then(() => {
        if (!output.includes("dropped")) throw new Error(`the client was not dropped: ${output}`);
      });
      return { dropped };
    },
    async exhaust(uri) {
      const { stdout } = await execute(command, [...args, "exhaust", uri], { timeout: 90_000 });
      return lines(stdout)[0] ?? "none was refused";
    },
  };
}

const sources = fileURLToPath(new URL(".", import.meta.url));
const patience = { timeout: 300_000 };

/**
 * Installs PyPI `psycopg`.
 * @param folder where it is installed
 */
export async function psycopg(folder: string): Promise<SqlClient> {
  const target = path.join(folder, "python");
  await execute("python3", ["-m", "pip", "install", "--quiet", "--target", target, "psycopg[binary]==3.3.9"], patience);
  return programClient("env", `PYTHONPATH=${target}`, "python3", path.join(sources, "client.py"));
}

/**
 * Builds a client with the Go module `pgx`.
 * @param folder where it is built
 */
export async function pgx(folder: string): Promise<SqlClient> {
  const module = path.join(folder, "go");
  mkdirSync(module);
  copyFileSync(path.join(sources, "client.go"), path.join(module, "main.go"));
  writeFileSync(path.join(module, "go.mod"), "module client\n\ngo 1.25\n");
  await execute("go", ["get", "github.com/jackc/pgx/v5@v5.7.6"], { ...patience, cwd: module });
  await execute("go", ["build", "-o", "client", "."], { ...patience, cwd: module });
  return programClient(path.join(module, "client"));
}

/**
 * Installs Maven `org.postgresql:postgresql`.
 * @param folder where it is installed
 */
export async function jdbc(folder: string): Promise<SqlClient> {
  const jars = path.join(folder, "java");
  const artifact = "org.postgresql:postgresql:42.7.8";
  const copy = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy";
  await execute("mvn", ["-q", "-B", copy, `-Dartifact=${artifact}`, `-DoutputDirectory=${jars}`], {
    ...patience,
    cwd: folder,
  });
  const [jar = ""] = readdirSync(jars);
  return programClient("java", "-cp", path.join(jars, jar), path.join(sources, "Client.java"));
}
