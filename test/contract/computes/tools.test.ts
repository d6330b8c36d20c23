/** Tests that tools of PostgreSQL's users work with computes: extensions, introspection, migrations, dumps. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { ComputeScene, primary, psql } from "./compute-scene.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Debian's folder of a PostgreSQL with all its client programs. The npm package has only the server. */
const debianBin = "/usr/lib/postgresql/15/bin";

let shared: ComputeScene;

beforeAll(async () => {
  shared = await ComputeScene.start();
});

afterAll(() => shared.stop());

/** Makes a database for one test. @returns its connection string */
async function newDatabase(name: string): Promise<string> {
  await psql(await shared.uri(primary), `CREATE DATABASE ${name}`);
  return (await shared.uri(primary)).replace("/neondb?", `/${name}?`);
}

describe("extensions", () => {
  test("those of the documented list → an owner creates and uses them; another one → refused by name", async () => {
    const uri = await newDatabase("extended");
    const offered = ["btree_gin", "btree_gist", "citext", "cube", "dict_int", "fuzzystrmatch", "hstore", "intarray"];
    const more = ["isn", "lo", "ltree", "pg_stat_statements", "pg_trgm", "pgcrypto", "seg", "tablefunc", "tcn"];
    const all = [...offered, ...more, "tsm_system_rows", "tsm_system_time", "unaccent", "uuid-ossp"];
    await psql(uri, ...all.map((name) => `CREATE EXTENSION "${name}"`), "SELECT 41 + 1");
    const seen = "SELECT count(*) FROM pg_stat_statements WHERE query = 'SELECT $1 + $2'";
    expect(await psql(uri, seen)).toBe("1");
    await expect(psql(uri, "CREATE EXTENSION vector")).rejects.toThrow(/extension "vector" is not available/);
  });
});

/** A folder with files and the packages of this repository, and how a Node program of a package runs in it. */
async function folderWith(files: Readonly<Record<string, string>>) {
  const folder = temporaryFolder("migrations");
  await symlink(path.join(root, "node_modules"), path.join(folder, "node_modules"));
  const authority = await (await fetch(`${shared.controlUrl}/ca.crt`)).text();
  for (const [name, text] of Object.entries({ ...files, "ca.crt": authority })) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), text);
  }
  const base = { PATH: process.env.PATH, HOME: folder, NODE_EXTRA_CA_CERTS: path.join(folder, "ca.crt") };
  return async (program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    (
      await run(process.execPath, [path.join("node_modules", program), ...args], {
        cwd: folder,
        env: { ...base, ...env },
      })
    ).stdout;
}

test("drizzle-kit push → makes the schema, and the next push finds nothing to do", async () => {
  const uri = await newDatabase("pushed");
  const columns = "{ id: serial().primaryKey(), name: text().notNull().unique() }";
  const tool = await folderWith({
    "schema.ts": `import { pgTable, serial, text } from "drizzle-orm/pg-core";\nexport const item = pgTable("item", ${columns});\n`,
  });
  const push = ["push", "--dialect", "postgresql", "--schema", "schema.ts", "--url", uri, "--force"];
  await tool("drizzle-kit/bin.cjs", push);
  expect(await psql(uri, "INSERT INTO item (name) VALUES ('a') RETURNING id")).toBe("1");
  expect(await tool("drizzle-kit/bin.cjs", push)).toContain("No changes detected");
});

test("node-pg-migrate up and down → makes the tables of the migrations, and removes them", async () => {
  const uri = await newDatabase("migrated");
  const tool = await folderWith({
    "migrations/1_item.js": `export const up = (pgm) => pgm.createTable("item", { id: "id", name: { type: "text" } });\n`,
    "package.json": '{ "type": "module" }',
  });
  const program = "node-pg-migrate/bin/node-pg-migrate.js";
  await tool(program, ["up"], { DATABASE_URL: uri });
  expect(await psql(uri, "INSERT INTO item (name) VALUES ('a') RETURNING id")).toBe("1");
  await tool(program, ["down"], { DATABASE_URL: uri });
  expect(await psql(uri, "SELECT to_regclass('item') IS NULL")).toBe("t");
});

test.skipIf(!existsSync(debianBin))(
  "pg_dump of a branch, pg_restore into another branch → without an error",
  async () => {
    const scene = await ComputeScene.start({ compute: { port: 0, postgresBin: debianBin } });
    onTestFinished(() => scene.stop());
    const from = await scene.uri(primary);
    await psql(from, "CREATE TABLE item (id int PRIMARY KEY)", "INSERT INTO item VALUES (1), (2)");
    const { body } = await scene.write("POST", "/branches", {
      branch: { name: "other" },
      endpoints: [{ type: "read_write" }],
    });
    const other = await scene.uri(body.endpoints[0].id);
    await psql(other, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public", "CREATE TABLE leftover ()");
    const folder = temporaryFolder("dump");
    const file = path.join(folder, "dump");
    await run(path.join(debianBin, "pg_dump"), ["-Fc", "-f", file, from]);
    await run(path.join(debianBin, "pg_restore"), ["--clean", "--if-exists", "--exit-on-error", "-d", other, file]);
    expect(await psql(other, "SELECT count(*) FROM item")).toBe("2");
  },
);
