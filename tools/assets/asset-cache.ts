/** The cache of binaries in the user's cache directory. */
import { constants } from "node:fs";
import { access, chmod, mkdir, mkdtemp, open, readdir, rename, rm, stat } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";
import type { Asset, Platform } from "./asset-table.ts";

const workPrefix = ".partial-";

/**
 * Returns this project's directory in the user's cache directory (`XDG_CACHE_HOME`, else the platform's usual one).
 * A relative `XDG_CACHE_HOME` is ignored, as its specification requires.
 */
export function cacheDirectory(env: NodeJS.ProcessEnv = process.env): string {
  const xdg = env.XDG_CACHE_HOME;
  const home = env.HOME ?? homedir();
  const userCache = process.platform === "darwin" ? path.join(home, "Library", "Caches") : path.join(home, ".cache");
  return path.join(xdg !== undefined && path.isAbsolute(xdg) ? xdg : userCache, "endpoint-operator", "assets");
}

/** Returns the path of a complete binary of exactly this version and platform. */
export function cachedPath(cache: string, asset: Asset, { os, arch }: Platform): string {
  return path.join(cache, `${os}-${arch}`, `${asset.name}-${asset.version}`, asset.name);
}

/** Whether the file exists and can be executed. */
export async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}

/**
 * Creates an empty directory to make a binary in. It is on the file system of the cache, so that a rename is atomic.
 * It also removes what interrupted runs have left. The caller holds the lock, so no other run uses these files.
 */
export async function createWorkDirectory(cache: string): Promise<string> {
  const leftovers = (await readdir(cache)).filter((name) => name.startsWith(workPrefix));
  for (const name of leftovers) await rm(path.join(cache, name), { recursive: true, force: true });
  return await mkdtemp(path.join(cache, workPrefix));
}

/**
 * Moves a finished file to its place in the cache. The file is flushed to disk before it is renamed, so a name in the
 * cache always means a complete file.
 */
export async function publishFile(finished: string, target: string): Promise<void> {
  await chmod(finished, 0o755);
  const file = await open(finished, "r");
  await file.sync().finally(() => file.close());
  await mkdir(path.dirname(target), { recursive: true });
  await rename(finished, target);
}
