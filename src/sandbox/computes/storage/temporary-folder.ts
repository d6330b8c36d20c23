/** Makes temporary folders, and removes those of killed processes. */
import { existsSync, mkdtempSync, readdirSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { probeSocket } from "../postgres/socket-probe.ts";

/**
 * A folder in the system's folder for temporary files. Its owner removes it. If the process is killed, the next call of
 * `makeTemporaryFolder` with the same prefix removes it.
 */
export interface TemporaryFolder {
  readonly path: string;
  /** Removes the folder with everything in it. A second call does nothing. */
  remove(): Promise<void>;
}

/**
 * A folder without a socket stays if it is younger than this, in milliseconds: its process may be about to make the
 * socket.
 */
const youngMs = 60_000;

/**
 * Makes a folder, and removes the folders of killed processes. A living process listens on a socket in its folder, and
 * the kernel closes that socket when the process ends.
 * @param prefix the start of the folder's name, such as `sandbox-sockets-`
 */
export async function makeTemporaryFolder(prefix: string): Promise<TemporaryFolder> {
  await removeAbandoned(prefix);
  const folder = mkdtempSync(path.join(tmpdir(), prefix));
  const server = await listen(path.join(folder, socketName));
  return {
    path: folder,
    remove: async () => {
      server.close();
      await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

const socketName = "in-use";

function listen(socketPath: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once("error", reject);
    server.listen(socketPath, () => resolve(server.unref()));
  });
}

async function removeAbandoned(prefix: string): Promise<void> {
  for (const name of readdirSync(tmpdir())) {
    const folder = path.join(tmpdir(), name);
    if (name.startsWith(prefix) && (await isAbandoned(folder))) await removeIfPossible(folder);
  }
}

async function isAbandoned(folder: string): Promise<boolean> {
  const socketPath = path.join(folder, socketName);
  // Only a refused connection proves that no process listens.
  if (existsSync(socketPath)) return (await probeSocket(socketPath)) === "Refused";
  const stats = statSync(folder, { throwIfNoEntry: false });
  return stats !== undefined && Date.now() - stats.mtimeMs > youngMs;
}

async function removeIfPossible(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  } catch {
    // The next start tries again.
  }
}
