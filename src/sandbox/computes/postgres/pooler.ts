/** Runs PgBouncer in front of a server, for pooled connections. */
import { existsSync } from "node:fs";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { pooledConnections } from "../../engine/compute-sizes.ts";
import { adminRole } from "./admin-connection.ts";
import { ComputeError, ComputeSetupError } from "./compute-error.ts";
import { writeOwned } from "./copy-tree.ts";
import { GuardedProcess } from "./guarded-process.ts";
import type { PostgresServer } from "./postgres-server.ts";
import { probeSocket } from "./socket-probe.ts";
import type { SystemUser } from "./system-user.ts";

const usualFolders = ["/usr/sbin", "/usr/bin", "/usr/local/bin", "/usr/local/sbin", "/opt/homebrew/bin"];

/** @param given a path that must exist; `undefined`: the usual folders are searched. @throws ComputeSetupError */
export function findPooler(given: string | undefined): string | undefined {
  if (given === undefined) return usualFolders.map((folder) => path.join(folder, "pgbouncer")).find(existsSync);
  if (existsSync(given)) return path.resolve(given);
  throw new ComputeSetupError(`${given} does not exist; name the program pgbouncer with --pgbouncer-bin`);
}

const startDeadlineMs = 10_000;

export class Pooler {
  readonly socketPath: string;
  readonly #process: GuardedProcess;

  private constructor(socketPath: string, process: GuardedProcess) {
    this.socketPath = socketPath;
    this.#process = process;
  }

  get hasEnded(): boolean {
    return this.#process.hasEnded;
  }

  /** Waits at most 10 seconds. The directory belongs to the servers' user. @throws ComputeError */
  static async start(
    program: string,
    server: PostgresServer,
    { directory, user }: { readonly directory: string; readonly user: SystemUser },
  ): Promise<Pooler> {
    const settings = path.join(directory, "pgbouncer.ini");
    await writeOwned(path.join(directory, "users.txt"), `"${adminRole}" ""\n`, user);
    await writeOwned(settings, poolerSettings(directory, server), user);
    // After a softer signal, PgBouncer would wait for running transactions. It has no data that could be lost.
    const process = new GuardedProcess({ program, args: ["-q", settings], user, ends: "atOnce" });
    const socketPath = path.join(directory, ".s.PGSQL.6432");
    const deadlineMs = performance.now() + startDeadlineMs;
    while (!process.hasEnded && performance.now() < deadlineMs) {
      if ((await probeSocket(socketPath)) === "Accepted") return new Pooler(socketPath, process);
      await Promise.race([wait(5), process.ended]);
    }
    process.stop();
    throw new ComputeError(`PgBouncer did not start: ${process.lastWords()}`);
  }

  async stop(): Promise<void> {
    this.#process.stop();
    await this.#process.ended;
  }
}

/** The proxy has checked the password, so PgBouncer asks the server only whether the role exists. */
function poolerSettings(directory: string, { place }: PostgresServer): string {
  return `[databases]
* = host=${place.socketDirectory} port=5432
[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = ${directory}
unix_socket_mode = 0700
auth_type = trust
auth_file = ${path.join(directory, "users.txt")}
auth_user = ${adminRole}
auth_query = SELECT usename, passwd FROM pg_catalog.pg_shadow WHERE usename = $1
pool_mode = transaction
max_client_conn = ${pooledConnections}
default_pool_size = ${Math.floor(place.maxConnections * 0.9)}
server_tls_sslmode = disable
ignore_startup_parameters = extra_float_digits,options,search_path
`;
}
