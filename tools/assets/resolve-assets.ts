/** Finds the binaries for demo and tests, or makes them. */
import { rm, stat } from "node:fs/promises";
import path from "node:path";
import { cacheDirectory, cachedPath, createWorkDirectory, isExecutable, publishFile } from "./asset-cache.ts";
import { AssetError } from "./asset-error.ts";
import { type Asset, type AssetName, assetTable } from "./asset-table.ts";
import { withCacheLock } from "./cache-lock.ts";
import { type DownloadTimeouts, defaultDownloadTimeouts } from "./download.ts";
import { type DownloadHosts, officialHosts } from "./download-sources.ts";
import { createAssetMaker, type MakeOptions } from "./make-asset.ts";
import { currentPlatform, type Platform } from "./platform.ts";
import type { ProgressSink } from "./progress.ts";

/** How to find binaries. The defaults suit a developer's machine. */
export interface ResolveOptions {
  /** Receives lines about long steps. @default no output */
  readonly progress?: ProgressSink;
  /**
   * The environment: KUBEBUILDER_ASSETS, XDG_CACHE_HOME, HOME, PATH, and the variables of Go and of proxies. @default
   * process.env
   */
  readonly env?: NodeJS.ProcessEnv;
  /** The platform. @default that of this process */
  readonly platform?: Platform;
  readonly hosts?: Partial<DownloadHosts>;
  readonly timeouts?: Partial<DownloadTimeouts>;
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
 * @throws AssetError that names what is missing and what to do.
 */
export async function resolveAssets<Name extends AssetName>(
  names: readonly Name[],
  options: ResolveOptions = {},
): Promise<AssetPaths<Name>> {
  const { env = process.env, progress = () => {}, signal } = options;
  const platform = options.platform ?? currentPlatform();
  const cache = cacheDirectory(env, platform.os);
  const found = new Map<Name, string>();
  const findMissing = async () => {
    const missing: Name[] = [];
    for (const name of names) {
      const file = found.get(name) ?? (await findExisting(assetTable[name], { env, cache, platform }));
      if (file === undefined) missing.push(name);
      else found.set(name, file);
    }
    return missing;
  };
  if ((await findMissing()).length > 0) {
    await withCacheLock(cache, { progress, signal }, async () => {
      // The check is made again under the lock, because the process that held the lock before may have made the
      // binaries.
      const missing = (await findMissing()).map((name) => assetTable[name]);
      await makeAssets(missing, cache, {
        env,
        platform,
        progress,
        signal,
        hosts: { ...officialHosts, ...options.hosts },
        timeouts: { ...defaultDownloadTimeouts, ...options.timeouts },
        download: options.download ?? true,
        build: options.build ?? true,
      });
      await findMissing();
    });
  }
  return Object.fromEntries(found) as Record<Name, string>;
}

/**
 * Finds a binary without making it, for callers that can work without it.
 * @throws AssetError `BadSetting`.
 */
export async function findAsset(
  name: AssetName,
  options: Pick<ResolveOptions, "env" | "platform"> = {},
): Promise<string | undefined> {
  const { env = process.env, platform = currentPlatform() } = options;
  return await findExisting(assetTable[name], { env, platform, cache: cacheDirectory(env, platform.os) });
}

interface Places {
  readonly env: NodeJS.ProcessEnv;
  readonly cache: string;
  readonly platform: Platform;
}

async function findExisting(asset: Asset, places: Places): Promise<string | undefined> {
  const given = places.env.KUBEBUILDER_ASSETS;
  if (given !== undefined && given !== "") {
    const directory = path.resolve(given);
    const isDirectory = await stat(directory).then(
      (entry) => entry.isDirectory(),
      () => false,
    );
    if (!isDirectory)
      throw new AssetError(
        "BadSetting",
        `KUBEBUILDER_ASSETS is ${given}, which is not a directory. Correct it or unset it.`,
      );
    const file = path.join(directory, asset.name);
    if (await isExecutable(file)) return file;
  }
  const file = (await findOnPath(asset, places.env)) ?? cachedPath(places.cache, asset, places.platform);
  return (await isExecutable(file)) ? file : undefined;
}

async function findOnPath({ systemPackage }: Asset, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  if (systemPackage === undefined) return undefined;
  const directories = (env.PATH ?? "").split(path.delimiter).filter((directory) => path.isAbsolute(directory));
  for (const directory of directories) {
    for (const command of systemPackage.commands) {
      const file = path.join(directory, command);
      if (await isExecutable(file)) return file;
    }
  }
  return undefined;
}

async function makeAssets(assets: readonly Asset[], cache: string, options: MakeOptions): Promise<void> {
  const maker = createAssetMaker(options);
  try {
    for (const asset of assets) {
      const directory = await createWorkDirectory(cache);
      try {
        await publishFile(await maker.make(asset, directory), cachedPath(cache, asset, options.platform));
      } finally {
        await rm(directory, { recursive: true, force: true });
      }
    }
  } finally {
    await maker.close();
  }
}
