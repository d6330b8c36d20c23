/** Checks whether the demo can run PostgreSQL. */
import { execFile } from "node:child_process";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { findBinaries } from "../../../src/sandbox/computes/postgres/binaries.ts";
import { chooseSystemUser, type SystemUser } from "../../../src/sandbox/computes/postgres/system-user.ts";

/** Whether real PostgreSQL servers can run behind the endpoints of the demo. */
export type Computes =
  | { readonly kind: "Found"; readonly postgresBin: string }
  | { readonly kind: "Missing"; readonly why: string };

/** Looks for PostgreSQL. Never throws, because the demo works without it. */
export async function findComputes(): Promise<Computes> {
  const user = chooseSystemUser(process.getuid?.());
  if (user === undefined) return { kind: "Missing", why: "PostgreSQL does not run as root" };
  try {
    const { postgres } = await findBinaries(undefined, user);
    await requirePassage(user);
    return { kind: "Found", postgresBin: path.dirname(postgres) };
  } catch (error) {
    return { kind: "Missing", why: (error as Error).message };
  }
}

/**
 * Checks access for the servers' user. If root starts the demo, the servers run as another user, and their data is
 * below the temporary directory.
 */
async function requirePassage({ uid, gid, name }: SystemUser): Promise<void> {
  if (uid === undefined || gid === undefined) return;
  const options = { uid, gid, cwd: "/", timeout: 10_000 };
  await promisify(execFile)("/bin/sh", ["-c", 'cd "$1"', "sh", tmpdir()], options).catch(() => {
    throw new Error(`the user ${name} cannot reach ${tmpdir()}`);
  });
}
