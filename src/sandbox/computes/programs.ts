/** Finds PostgreSQL and PgBouncer on this machine. */
import { findBinaries, type PostgresBinaries } from "./postgres/binaries.ts";
import { ComputeSetupError } from "./postgres/compute-error.ts";
import { findPooler } from "./postgres/pooler.ts";
import { chooseSystemUser, type SystemUser } from "./postgres/system-user.ts";

/** The options of real PostgreSQL servers behind the endpoints. */
export interface ComputeChoice {
  /** The folder with `postgres` and `initdb`. @default the folder of the npm package for this platform */
  readonly postgresBin?: string | undefined;
  /** The path of the program PgBouncer. @default the installed PgBouncer, if there is one */
  readonly pgbouncerBin?: string | undefined;
  /**
   * What the API shows as the host of an endpoint: a name, or a loopback address of its own (on Linux).
   * @default addresses on Linux, if the sandbox listens on 127.0.0.1, the port is 5432 and names do not resolve; else
   *   names
   */
  readonly hosts?: "names" | "addresses" | undefined;
  /** The port for clients of databases. @default 5432; 0: a free port */
  readonly port?: number | undefined;
  /** The maximum number of computes that run at the same time. @default 20, the control plane's own limit */
  readonly maxComputes?: number | undefined;
}

/** The names of this machine: the address to listen on, and one for clients elsewhere, which certificates hold. */
export interface ComputeHosts {
  readonly host?: string | undefined;
  readonly publicHost?: string | undefined;
}

export interface ComputeOptions extends Required<Omit<ComputeChoice, "hosts">> {
  readonly maxComputes: number;
  readonly host: string;
  readonly port: number;
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
