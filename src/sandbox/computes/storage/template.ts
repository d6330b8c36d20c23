/** Makes the template from which new branches are copied. */
import { existsSync } from "node:fs";
import path from "node:path";
import { AdminConnection, adminRole } from "../postgres/admin-connection.ts";
import type { PostgresBinaries } from "../postgres/binaries.ts";
import { ComputeError } from "../postgres/compute-error.ts";
import { writeOwned } from "../postgres/copy-tree.ts";
import { GuardedProcess } from "../postgres/guarded-process.ts";
import { PostgresServer } from "../postgres/postgres-server.ts";
import { accessRules, serverSettings, walSegmentMb } from "../postgres/server-settings.ts";
import type { SystemUser } from "../postgres/system-user.ts";
import { templateStatements } from "../postgres/template-statements.ts";
import type { ComputeDirectories } from "./compute-directories.ts";

/** The directories, PostgreSQL programs and system user with which the template is made. */
export interface TemplateParts {
  readonly directories: ComputeDirectories;
  readonly binaries: PostgresBinaries;
  readonly user: SystemUser;
}

/**
 * Makes the template's data directory, if there is none. It has an empty PostgreSQL with the sandbox's own role, and
 * the view `neon_stat_file_cache` in every database.
 * @param signal ends initdb when it is aborted
 * @throws ComputeError, also when the signal is aborted
 */
export async function ensureTemplate(parts: TemplateParts, signal: AbortSignal): Promise<void> {
  const { directories, user } = parts;
  signal.throwIfAborted();
  if (existsSync(directories.template)) return;
  const staged = directories.stage();
  const dataDirectory = path.join(staged, "data");
  await initialize(parts, dataDirectory, signal);
  signal.throwIfAborted();
  await writeOwned(path.join(dataDirectory, "pg_hba.conf"), accessRules, user);
  await addObjects(parts, dataDirectory);
  await directories.settle(staged, directories.template);
}

/** Runs initdb. @throws ComputeError */
async function initialize(
  { binaries, user }: TemplateParts,
  dataDirectory: string,
  signal: AbortSignal,
): Promise<void> {
  const locale = binaries.version >= 17 ? ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"] : [];
  const fixed = [
    "-U",
    adminRole,
    "--auth=trust",
    "--encoding=UTF8",
    "--locale=C",
    "--no-sync",
    "--no-instructions",
    `--wal-segsize=${walSegmentMb}`,
  ];
  const initdb = new GuardedProcess({
    program: binaries.initdb,
    args: ["-D", dataDirectory, ...fixed, ...locale],
    user,
  });
  const stop = (): void => initdb.stop();
  signal.addEventListener("abort", stop);
  await initdb.ended;
  signal.removeEventListener("abort", stop);
  if (initdb.exitCode !== 0) throw new ComputeError(`initdb failed: ${initdb.lastWords()}`);
}

/** Adds the sandbox's roles and views to the template. @throws ComputeError, PostgresError */
async function addObjects({ directories, binaries, user }: TemplateParts, dataDirectory: string): Promise<void> {
  const socketDirectory = directories.socketDirectory();
  const maxConnections = 20;
  const needs = {
    maxConnections,
    socketDirectory,
    pgSettings: {},
    primarySocketDirectory: undefined,
    isTemporary: true,
  };
  await writeOwned(path.join(dataDirectory, "postgresql.conf"), serverSettings(needs), user);
  const server = await PostgresServer.start({ binaries, user, dataDirectory, socketDirectory, maxConnections });
  try {
    for (const database of ["template1", "postgres"]) {
      const connection = await AdminConnection.open(server.socketPath, database);
      await connection.query(templateStatements(binaries.version, database).join(";\n"));
      connection.close();
    }
  } finally {
    await server.stop();
  }
}
