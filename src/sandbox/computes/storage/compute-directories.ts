/** The directories in which computes keep their data. */
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { chmodSync, chownSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { ComputeSetupError } from "../postgres/compute-error.ts";
import type { SystemUser } from "../postgres/system-user.ts";
import { makeTemporaryFolder, type TemporaryFolder } from "./temporary-folder.ts";

const run = promisify(execFile);

/**
 * Whose data a directory holds: that of a branch (for its primary), of a read-only endpoint (for its standby), or of a
 * branch snapshot.
 */
export type Holder = { readonly kind: "branches" | "replicas" | "snapshots"; readonly id: string };

export const holderOfBranch = (id: string): Holder => ({ kind: "branches", id });

/**
 * The directories of all computes, in the sandbox's data directory.
 * `branches/<id>`, `replicas/<id>` and `snapshots/<id>` each have a folder `data`, PostgreSQL's data directory. Such a
 * directory is complete or does not exist. Unfinished directories are in `new`, which is emptied at each start.
 */
export class ComputeDirectories {
  readonly root: string;
  /**
   * The directories of Unix sockets. They are in the system's temporary folder, because the path of a socket has at
   * most 107 bytes.
   */
  readonly #sockets: TemporaryFolder;
  readonly #user: SystemUser;
  #counter = 0;

  private constructor(root: string, sockets: TemporaryFolder, user: SystemUser) {
    this.root = root;
    this.#sockets = sockets;
    this.#user = user;
  }

  /**
   * Makes the directories, and removes unfinished ones that a killed sandbox has left.
   * @param data the sandbox's data directory; it exists, and no other sandbox uses it
   * @throws ComputeSetupError when PostgreSQL's user cannot access them
   */
  static async open(data: string, user: SystemUser): Promise<ComputeDirectories> {
    const root = path.join(path.resolve(data), "computes");
    const directories = new ComputeDirectories(root, await makeTemporaryFolder("sandbox-sockets-"), user);
    try {
      letThrough(path.resolve(data), user);
      rmSync(directories.#staging, { recursive: true, force: true, maxRetries: 10 });
      for (const name of ["", "branches", "replicas", "snapshots", "logs", "new"])
        directories.makeFolder(path.join(root, name));
      directories.#give(directories.#sockets.path);
      await requireReachable(root, user);
      return directories;
    } catch (error) {
      await directories.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#sockets.remove();
  }

  get #staging(): string {
    return path.join(this.root, "new");
  }

  /** Returns the directory of a branch, standby or branch snapshot. It may not exist. */
  of({ kind, id }: Holder): string {
    return path.join(this.root, kind, id);
  }

  /** Returns PostgreSQL's data directory of a branch, standby or branch snapshot. It may not exist. */
  dataOf(holder: Holder): string {
    return path.join(this.of(holder), "data");
  }

  has(holder: Holder): boolean {
    return existsSync(this.of(holder));
  }

  list(kind: Holder["kind"]): readonly Holder[] {
    return readdirSync(path.join(this.root, kind)).map((id) => ({ kind, id }));
  }

  listAll(): readonly Holder[] {
    return [...this.list("branches"), ...this.list("replicas"), ...this.list("snapshots")];
  }

  /** The directory of the template. A branch without a parent begins as a copy of the template. */
  get template(): string {
    return path.join(this.root, "template");
  }

  /** Makes a new, empty directory in `new`. It belongs to the servers' user. */
  stage(): string {
    const directory = this.#unusedName();
    this.makeFolder(directory);
    return directory;
  }

  /** Moves a finished directory to its place in one step. */
  async settle(staged: string, place: string): Promise<void> {
    await rename(staged, place);
  }

  /** Removes a directory. After a crash the directory is complete or gone. */
  async remove(directory: string): Promise<void> {
    if (!existsSync(directory)) return;
    const toDelete = this.#unusedName();
    await rename(directory, toDelete);
    await rm(toDelete, { recursive: true, force: true, maxRetries: 3 });
  }

  /** Returns the file for the messages of an endpoint's server. */
  logOf(endpointId: string): string {
    return path.join(this.root, "logs", `${endpointId}.log`);
  }

  /** Makes a new directory for the Unix socket of a server. */
  socketDirectory(): string {
    this.#counter += 1;
    const directory = path.join(this.#sockets.path, String(this.#counter));
    this.makeFolder(directory);
    return directory;
  }

  /**
   * Returns a random path in `new`. A path is never used twice: a server of a killed sandbox may still write to its old
   * directory for a moment.
   */
  #unusedName(): string {
    return path.join(this.#staging, randomUUID());
  }

  /** Makes a directory that belongs to the servers' user. If it exists, nothing happens. */
  makeFolder(directory: string): void {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    this.#give(directory);
  }

  #give(directory: string): void {
    const { uid, gid } = this.#user;
    if (uid !== undefined && gid !== undefined) chownSync(directory, uid, gid);
  }
}

/** Returns the major version of PostgreSQL that wrote a data directory; `undefined`: it is no data directory. */
export function dataVersionOf(dataDirectory: string): number | undefined {
  const file = path.join(dataDirectory, "PG_VERSION");
  return existsSync(file) ? Number.parseInt(readFileSync(file, "utf8"), 10) : undefined;
}

/** Lets the group of PostgreSQL's user pass through a data directory of root. It gives no other right. */
function letThrough(data: string, { uid, gid }: SystemUser): void {
  if (uid === undefined || gid === undefined) return;
  const { uid: owner, mode } = lstatSync(data);
  if (owner !== 0 || (mode & 0o077) !== 0) return;
  chownSync(data, 0, gid);
  chmodSync(data, 0o710);
}

/** Checks that PostgreSQL's user can access a directory. @throws ComputeSetupError */
async function requireReachable(directory: string, { uid, gid, name }: SystemUser): Promise<void> {
  if (uid === undefined || gid === undefined) return;
  try {
    await run("/bin/sh", ["-c", 'cd "$1"', "sh", directory], { uid, gid, cwd: "/", timeout: 10_000 });
  } catch (error) {
    const remedy = "give it access to every folder above (chmod o+x), or name another one with --data";
    throw new ComputeSetupError(
      `PostgreSQL runs as ${name} when the sandbox runs as root, and ${name} cannot reach ${directory}; ${remedy}`,
      { cause: error },
    );
  }
}
