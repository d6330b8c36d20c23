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

/** The server to start: the same PostgreSQL with the same settings, on a copy of an idle compute's data. */
export interface DirectServerOptions {
  readonly postgres: string;
  readonly user: SystemUser;
  readonly source: string;
  /** The directory of the copy. It must not exist. */
  readonly target: string;
  /** The connection string of the compute; role, password and database are the same. */
  readonly uri: string;
}

/** Starts the server, with its own TLS and TCP, and waits until it answers. */
export async function startDirectServer({ postgres, user, source, target, uri }: DirectServerOptions) {
  // PostgreSQL removes its pid file last, so without the file no server uses the data.
  const isIdle = () => !existsSync(path.join(source, "postmaster.pid")) || undefined;
  await waitUntil(isIdle, { what: `no server uses ${source}` });
  await copyAtRest({ source, target, user });
  await writeOwnFiles(target, user);
  const [port = 0] = await findFreePorts(1);
  const own = {
    ssl: "on",
    ssl_cert_file: "server.crt",
    ssl_key_file: "server.key",
    listen_addresses: "127.0.0.1",
    port,
    unix_socket_directories: "",
    archive_command: `ln -f "%p" "archive/%f"`,
  };
  const settings = Object.entries(own).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const server = new GuardedProcess({ program: postgres, args: ["-D", target, ...settings], user });
  const { username, password, pathname } = new URL(uri);
  const direct = {
    uri: `postgresql://${username}:${password}@127.0.0.1:${port}${pathname}?sslmode=require`,
    stop: async () => {
      server.stop();
      await server.ended;
    },
  };
  const answers = async () => {
    if (server.hasEnded) throw new Error(`the server that is asked directly ended: ${server.lastWords()}`);
    return (await isAnswering(direct.uri)) || undefined;
  };
  await waitUntil(answers, { what: "the server that is asked directly answers" }).catch(async (error: unknown) => {
    await direct.stop();
    throw error;
  });
  return direct;
}

/** Writes certificate and key, the directory of the archive, and the rule that lets clients in. */
async function writeOwnFiles(target: string, { uid, gid }: SystemUser): Promise<void> {
  const { cert, key } = CertificateAuthority.create(Date.now()).issue(["localhost", "127.0.0.1"], Date.now());
  const files = { "server.crt": cert, "server.key": key };
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(target, name), text, { mode: 0o600 });
  mkdirSync(path.join(target, "archive"), { mode: 0o700 });
  for (const name of [...Object.keys(files), "archive"]) {
    if (uid !== undefined && gid !== undefined) chownSync(path.join(target, name), uid, gid);
  }
  appendFileSync(path.join(target, "pg_hba.conf"), "hostssl all all 127.0.0.1/32 scram-sha-256\n");
}

async function isAnswering(uri: string): Promise<boolean> {
  const client = new pg.Client(uri.replace("sslmode=require", "sslmode=no-verify"));
  client.on("error", () => {});
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}
