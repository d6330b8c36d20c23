/** Checks whether the demo can run PostgreSQL. */
import path from "node:path";
import { findBinaries } from "../../../src/sandbox/computes/postgres/binaries.ts";
import { chooseSystemUser } from "../../../src/sandbox/computes/postgres/system-user.ts";

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
    return { kind: "Found", postgresBin: path.dirname(postgres) };
  } catch (error) {
    return { kind: "Missing", why: (error as Error).message };
  }
}
