/** Starts and stops one PostgreSQL server. */
import { existsSync } from "node:fs";
import { readFile, rename, rm } from "node:fs/promises";
import path from "node:path";
import { kill as signalProcess } from "node:process";
import { setTimeout as wait } from "node:timers/promises";
import { AdminConnection } from "./admin-connection.ts";
import type { PostgresBinaries } from "./binaries.ts";
import { ComputeError } from "./compute-error.ts";
import { GuardedProcess } from "./guarded-process.ts";
import { socketFileName } from "./server-settings.ts";
import type { SystemUser } from "./system-user.ts";

/** The directories exist, and the data directory has its configuration. */
export interface ServerPlace {
  readonly binaries: PostgresBinaries;
  readonly user: SystemUser;
  readonly dataDirectory: string;
  readonly socketDirectory: string;
  readonly logFile?: string | undefined;
  readonly maxConnections: number;
}

const deadlines = { start: 60_000, fastStop: 20_000, immediateStop: 5_000 } as const;

export class PostgresServer {
  readonly place: ServerPlace;
  readonly #process: GuardedProcess;
  readonly #admin: AdminConnection;
  #isStopping = false;

  private constructor(place: ServerPlace, process: GuardedProcess, admin: AdminConnection) {
    this.place = place;
    this.#process = process;
    this.#admin = admin;
  }

  /** Waits at most 60 seconds. @throws ComputeError with the server's last messages */
  static async start(place: ServerPlace): Promise<PostgresServer> {
    const { binaries, user, dataDirectory, socketDirectory, logFile } = place;
    const recovery = path.join(dataDirectory, "backup_label");
    // After a kill, the recovery must begin again from this label, or it does not find the end of the copy.
    if (existsSync(`${recovery}.old`)) await rename(`${recovery}.old`, recovery);
    const server = new GuardedProcess({ program: binaries.postgres, args: ["-D", dataDirectory], user, logFile });
    const deadlineMs = performance.now() + deadlines.start;
    while (!server.hasEnded && performance.now() < deadlineMs) {
      const admin = await openIfReady(path.join(socketDirectory, socketFileName));
      if (admin !== undefined) {
        await rm(`${recovery}.old`, { force: true });
        return new PostgresServer(place, server, admin);
      }
      await Promise.race([wait(5), server.ended]);
    }
    const why = server.hasEnded ? server.lastWords() : `it did not accept connections within ${deadlines.start} ms`;
    await endProcess(server, dataDirectory);
    throw new ComputeError(`PostgreSQL did not start: ${why}`);
  }

  get socketPath(): string {
    return path.join(this.place.socketDirectory, socketFileName);
  }

  get ended(): Promise<void> {
    return this.#process.ended;
  }

  get isStopping(): boolean {
    return this.#isStopping;
  }

  get admin(): AdminConnection {
    return this.#admin;
  }

  lastWords(): string {
    return this.#process.lastWords();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#admin.close();
    await endProcess(this.#process, this.place.dataDirectory);
  }
}

async function openIfReady(socketPath: string): Promise<AdminConnection | undefined> {
  try {
    return await AdminConnection.open(socketPath);
  } catch {
    return undefined;
  }
}

async function endProcess(server: GuardedProcess, dataDirectory: string): Promise<void> {
  server.stop();
  if (await endsWithin(server, deadlines.fastStop)) return;
  for (const signal of ["SIGQUIT", "SIGKILL"] as const) {
    await signalServer(dataDirectory, signal);
    if (await endsWithin(server, deadlines.immediateStop)) return;
  }
}

async function endsWithin(server: GuardedProcess, milliseconds: number): Promise<boolean> {
  const timeout = new AbortController();
  const late = wait(milliseconds, false, { signal: timeout.signal }).catch(() => false);
  const isEnded = await Promise.race([server.ended.then(() => true), late]);
  timeout.abort();
  return isEnded;
}

/** The server has not ended, so the pid in `postmaster.pid` is its pid. */
async function signalServer(dataDirectory: string, signal: NodeJS.Signals): Promise<void> {
  const text = await readFile(path.join(dataDirectory, "postmaster.pid"), "utf8").catch(() => "");
  const pid = Number(text.split("\n")[0]);
  if (!(pid > 1)) return;
  try {
    signalProcess(pid, signal);
  } catch {
    // The server has just ended.
  }
}
