/** Finds PostgreSQL and PgBouncer on this machine. */
import { findBinaries, type PostgresBinaries } from "./postgres/binaries.ts";
import { ComputeSetupError } from "./postgres/compute-error.ts";
import { findPooler } from "./postgres/pooler.ts";
import { chooseSystemUser, type SystemUser } from "./postgres/system-user.ts";

export interface ComputeOptions {
  /** With `postgres` and `initdb`. `undefined`: that of the npm package. */
  readonly postgresBin: string | undefined;
  readonly pgbouncerBin: string | undefined;
  readonly maxComputes: number;
  /** Port 0: the system chooses a free port. */
  readonly host: string;
  readonly port: number;
  /** A name or address of this machine for clients elsewhere; certificates hold it. */
  readonly publicHost: string | undefined;
}

export interface ComputePrograms {
  readonly binaries: PostgresBinaries;
  readonly user: SystemUser;
  readonly pooler: string | undefined;
}

/** Finds PostgreSQL and PgBouncer. @throws ComputeSetupError */
export async function findComputePrograms({ postgresBin, pgbouncerBin }: ComputeOptions): Promise<ComputePrograms> {
  const user = chooseSystemUser(process.getuid?.());
  if (user === undefined) {
    throw new ComputeSetupError(
      "PostgreSQL refuses to run as root, and there is neither a user `postgres` nor a user `nobody`; run the sandbox as another user",
    );
  }
  return { binaries: await findBinaries(postgresBin, user), user, pooler: findPooler(pgbouncerBin) };
}
