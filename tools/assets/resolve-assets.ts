/** Finds the binaries for demo and tests, or makes them. */
import { rm, stat } from "node:fs/promises";
import path from "node:path";
import { cacheDirectory, cachedPath, createWorkDirectory, isExecutable, publishFile } from "./asset-cache.ts";
import { AssetError } from "./asset-error.ts";
import { type Asset, type AssetName, assetTable, currentPlatform } from "./asset-table.ts";
import { withCacheLock } from "./cache-lock.ts";
import { AssetMaker } from "./make-asset.ts";
import type { ProgressSink } from "./progress.ts";

/** How to find binaries. The defaults suit a developer's machine. */
export interface ResolveOptions {
  /** Receives lines about long steps. @default no output */
  readonly progress?: ProgressSink;
  /** Whether the official downloads are tried. @default true */
  readonly download?: boolean;
  /** Whether building from Go modules is tried. @default true */
  readonly build?: boolean;
  /** Ends the search early. Unfinished downloads and builds leave nothing behind. */
  readonly signal?: AbortSignal | undefined;
}

/** The absolute path of each binary, by name. */
export type AssetPaths<Name extends AssetName = AssetName> = Readonly<Record<Name, string>>;

/**
 * Finds the binaries, or makes them. It tries in this order: KUBEBUILDER_ASSETS, the PATH (if a system package will
 * do), the cache, the official download, a build from Go modules.
 * Guarantees: a returned path is a complete, executable file of the version in the table. Files of KUBEBUILDER_ASSETS
 * and the PATH are used without a check. Only one process at a time changes the cache. An interrupted run leaves
 * nothing that a later run would use.
 * @throws AssetError that names what is missing and what to do; the signal's reason.
 */
export async function resolveAssets<Name extends AssetName>(
  names: readonly Name[],
  options: ResolveOptions = {},
): Promise<AssetPaths<Name>> {
  const { progress = () => {}, signal } = options;
  const find = async (name: Name) => [name, await findAsset(name)] as const;
  let found = await Promise.all(names.map(find));
  if (found.some(([, file]) => file === undefined)) {
    await withCacheLock(cacheDirectory(), { progress, signal }, async () => {
      // The check is made again under the lock, because the process that held the lock before may have made them.
      found = await Promise.all(names.map(find));
      const missing = found.flatMap(([name, file]) => (file === undefined ? [assetTable[name]] : []));
      await makeAssets(missing, options);
      found = await Promise.all(names.map(find));
    });
  }
  return Object.fromEntries(found) as Record<Name, string>;
}

/** Finds a binary without making it, for callers that can work without it. @throws AssetError about a wrong setting */
export async function findAsset(name: AssetName): Promise<string | undefined> {
  const asset = assetTable[name];
  const { KUBEBUILDER_ASSETS: given = "", PATH = "" } = process.env;
  if (given !== "" && !(await isDirectory(given))) {
    throw new AssetError(`KUBEBUILDER_ASSETS is ${given}, which is not a directory. Correct it or unset it.`);
  }
  const onPath = PATH.split(path.delimiter)
    .filter((directory) => path.isAbsolute(directory))
    .flatMap((directory) => (asset.systemPackage?.commands ?? []).map((command) => path.join(directory, command)));
  const inCache = cachedPath(cacheDirectory(), asset, currentPlatform());
  const places = [...(given === "" ? [] : [path.resolve(given, name)]), ...onPath, inCache];
  for (const file of places) if (await isExecutable(file)) return file;
  return undefined;
}

function isDirectory(name: string): Promise<boolean> {
  return stat(name).then(
    (entry) => entry.isDirectory(),
    () => false,
  );
}

async function makeAssets(assets: readonly Asset[], options: ResolveOptions): Promise<void> {
  const cache = cacheDirectory();
  const platform = currentPlatform();
  const { progress = () => {}, download = true, build = true, signal } = options;
  const maker = new AssetMaker({ platform, progress, download, build, signal });
  try {
    for (const asset of assets) {
      const directory = await createWorkDirectory(cache);
      try {
        await publishFile(await maker.make(asset, directory), cachedPath(cache, asset, platform));
      } finally {
        await rm(directory, { recursive: true, force: true });
      }
    }
  } finally {
    await maker.close();
  }
}
