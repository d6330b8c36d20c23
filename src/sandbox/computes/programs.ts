import { findBinaries, type PostgresBinaries } from "./postgres/binaries.ts";
import { ComputeSetupError } from "./postgres/compute-error.ts";
import { findPooler } from "./postgres/pooler.ts";
import { chooseSystemUser, type SystemUser } from "./postgres/system-user.ts";

/** How to run computes. */
export interface ComputeOptions {
  /** Folder with `postgres` and `initdb`. `undefined`: that of the npm package. */
  readonly postgresBin: string | undefined;
  /** The program PgBouncer. `undefined`: that of the system, if there is one. */
  readonly pgbouncerBin: string | undefined;
  /** Computes that may run at once. */
  readonly maxComputes: number;
  /** Address and port at which clients of databases connect; port 0: a free one. */
  readonly host: string;
  readonly port: number;
}

/** Binaries that were found and tried out. Nothing runs yet, and nothing was written. */
export interface ComputePrograms {
  readonly binaries: PostgresBinaries;
  readonly user: SystemUser;
  /** `undefined`: PgBouncer is not installed. */
  readonly pooler: string | undefined;
}

/** @throws ComputeSetupError */
export async function findComputePrograms({ postgresBin, pgbouncerBin }: ComputeOptions): Promise<ComputePrograms> {
  const user = chooseSystemUser(process.getuid?.());
  if (user === undefined) {
    throw new ComputeSetupError(
      "PostgreSQL refuses to run as root, and there is neither a user `postgres` nor a user `nobody`; run the sandbox as another user",
    );
  }
  return { binaries: await findBinaries(postgresBin, user), user, pooler: findPooler(pgbouncerBin) };
}
