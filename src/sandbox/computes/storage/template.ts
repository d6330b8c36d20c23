import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { adminRole } from "../postgres/admin-connection.ts";
import type { PostgresBinaries } from "../postgres/binaries.ts";
import { ComputeError } from "../postgres/compute-error.ts";
import { templateStatements } from "../postgres/template-statements.ts";
import { accessRules } from "../postgres/server-settings.ts";
import type { SystemUser } from "../postgres/system-user.ts";
import type { ComputeDirectories } from "./compute-directories.ts";
import { giveTo } from "./copy-tree.ts";

const run = promisify(execFile);

/** What a template is made with. */
export interface TemplateParts {
  readonly directories: ComputeDirectories;
  readonly binaries: PostgresBinaries;
  readonly user: SystemUser;
}

const deadlineMs = 120_000;

/**
 * Makes the directory that new branches are copied from, unless it is there: an empty PostgreSQL with the sandbox's own
 * role and the view of the file cache in every database.
 *
 * @throws ComputeError
 */
export async function ensureTemplate({ directories, binaries, user }: TemplateParts): Promise<void> {
  if (existsSync(directories.template)) return;
  const staged = directories.stage();
  const data = path.join(staged, "data");
  const identity = identityOf(user);
  const locale =
    binaries.version >= 17
      ? ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
      : ["--locale=C"];
  const args = ["-D", data, "-U", adminRole, "--auth=trust", "--encoding=UTF8", "--no-sync", "--no-instructions"];
  try {
    await run(binaries.initdb, [...args, ...locale], { ...identity, cwd: "/", timeout: deadlineMs, env: { LC_ALL: "C" } });
  } catch (error) {
    throw new ComputeError(`initdb failed: ${reasonOf(error)}`, { cause: error });
  }
  await writeFile(path.join(data, "pg_hba.conf"), accessRules, { mode: 0o600 });
  await giveTo(path.join(data, "pg_hba.conf"), user);
  for (const database of ["template1", "postgres"]) {
    await runAlone(binaries, { data, database, identity, sql: templateStatements(binaries.version, database) });
  }
  await directories.settle(staged, directories.template);
}

function identityOf({ uid, gid }: SystemUser): { readonly uid?: number; readonly gid?: number } {
  return uid === undefined || gid === undefined ? {} : { uid, gid };
}

function reasonOf(error: unknown): string {
  const { stderr = "", message } = error as Error & { readonly stderr?: string };
  const lines = stderr.trim().split("\n");
  return lines.find((line) => line.startsWith("initdb: error:")) ?? lines.find((line) => line.includes("FATAL")) ?? lines.at(-1) ?? message;
}

interface SingleUserRun {
  readonly data: string;
  readonly database: string;
  readonly identity: { readonly uid?: number; readonly gid?: number };
  readonly sql: readonly string[];
}

/** Runs statements without a server. @throws ComputeError */
async function runAlone(binaries: PostgresBinaries, { data, database, identity, sql }: SingleUserRun): Promise<void> {
  const args = ["--single", "-j", "-D", data, "-c", "exit_on_error=on", "-c", "fsync=off", database];
  const single = spawn(binaries.postgres, args, { ...identity, cwd: "/", timeout: deadlineMs, env: { LC_ALL: "C" } });
  let output = "";
  single.stderr.on("data", (bytes: Buffer) => {
    output = (output + bytes.toString("utf8")).slice(-8_192);
  });
  single.stdout.resume();
  single.stdin.on("error", () => {});
  // With -j a statement ends with a semicolon and an empty line.
  single.stdin.end(sql.map((statement) => `${statement};\n\n`).join(""));
  const [code] = (await once(single, "close")) as [number | null];
  if (code !== 0) throw new ComputeError(`a new database directory could not be prepared: ${output.trim().split("\n").at(-1)}`);
}
