/** Starts a PostgreSQL server that clients reach without the sandbox's proxy. */
import { appendFileSync, chownSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import pg from "pg";
import { CertificateAuthority } from "../../../src/sandbox/certificates/certificate-authority.ts";
import { GuardedProcess } from "../../../src/sandbox/computes/postgres/guarded-process.ts";
import type { SystemUser } from "../../../src/sandbox/computes/postgres/system-user.ts";
import { copyAtRest } from "../../../src/sandbox/computes/storage/copy-data.ts";
import { findFreePorts } from "../../process/free-ports.ts";
import { waitUntil } from "../../process/wait-until.ts";

/** A server that clients reach without the proxy. */
export interface DirectServer {
  readonly uri: string;
  stop(): Promise<void>;
}

/**
 * Starts the same PostgreSQL with the same settings, on a copy of an idle compute's data. It has its own TLS and TCP.
 * @param uri the connection string of the compute; role, password and database are the same.
 */
export async function startDirectServer(options: {
  readonly postgres: string;
  readonly user: SystemUser;
  readonly source: string;
  /** The directory of the copy. It must not exist. */
  readonly target: string;
  readonly uri: string;
}): Promise<DirectServer> {
  const { postgres, user, source, target } = options;
  await copyIdleData({ source, target, user });
  const [port = 0] = await findFreePorts(1);
  const { cert, key } = CertificateAuthority.create(Date.now()).issue(["localhost", "127.0.0.1"], Date.now());
  for (const [name, text] of [
    ["server.crt", cert],
    ["server.key", key],
  ] as const) {
    writeFileSync(path.join(target, name), text, { mode: 0o600 });
    if (user.uid !== undefined && user.gid !== undefined) chownSync(path.join(target, name), user.uid, user.gid);
  }
  // The copied settings name the archive directory of the compute.
  const archive = path.join(target, "archive");
  mkdirSync(archive, { mode: 0o700 });
  if (user.uid !== undefined && user.gid !== undefined) chownSync(archive, user.uid, user.gid);
  appendFileSync(path.join(target, "pg_hba.conf"), "hostssl all all 127.0.0.1/32 scram-sha-256\n");
  const tls = { ssl: "on", ssl_cert_file: "server.crt", ssl_key_file: "server.key" };
  const own = {
    ...{ ...tls, listen_addresses: "127.0.0.1", port, unix_socket_directories: "" },
    archive_command: `ln -f "%p" "archive/%f"`,
  };
  const settings = Object.entries(own).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const server = new GuardedProcess({ program: postgres, args: ["-D", target, ...settings], user });
  const { username, password, pathname } = new URL(options.uri);
  const uri = `postgresql://${username}:${password}@127.0.0.1:${port}${pathname}?sslmode=require`;
  const stop = async (): Promise<void> => {
    server.stop();
    await server.ended;
  };
  try {
    await waitUntil(() => answers(uri, server), { what: "the server that is asked directly answers" });
  } catch (error) {
    await stop();
    throw error;
  }
  return { uri, stop };
}

/**
 * Copies the data of a compute. PostgreSQL removes its pid file last, so without the file no server uses the data.
 * @throws Error when a server uses the data at the end of the copy
 */
async function copyIdleData(copy: Parameters<typeof copyAtRest>[0]): Promise<void> {
  const pidFile = path.join(copy.source, "postmaster.pid");
  await waitUntil(() => !existsSync(pidFile) || undefined, { what: `no server uses ${copy.source}` });
  await copyAtRest(copy);
  if (existsSync(pidFile)) throw new Error(`a server was started on ${copy.source} while its data was copied`);
}

async function answers(uri: string, server: GuardedProcess): Promise<true | undefined> {
  if (server.hasEnded) throw new Error(`the server that is asked directly ended: ${server.lastWords()}`);
  const client = new pg.Client(uri.replace("sslmode=require", "sslmode=no-verify"));
  client.on("error", () => {});
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return undefined;
  }
}
