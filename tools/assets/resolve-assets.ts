import { rm, stat } from "node:fs/promises";
import path from "node:path";
import { cacheDirectory, cachedPath, createWorkDirectory, isExecutable, publishFile } from "./asset-cache.ts";
import { AssetError } from "./asset-error.ts";
import { type Asset, type AssetName, assetTable } from "./asset-table.ts";
import { type CacheLockOptions, withCacheLock } from "./cache-lock.ts";
import { type DownloadTimeouts, defaultDownloadTimeouts } from "./download.ts";
import { type DownloadHosts, officialHosts } from "./download-sources.ts";
import { createAssetMaker, type MakeOptions } from "./make-asset.ts";
import { currentPlatform, type Platform } from "./platform.ts";
import type { ProgressSink } from "./progress.ts";

/** How to find binaries; every field has a default that suits a developer's machine. */
export interface ResolveOptions {
  /** Where lines about long steps go. @default nowhere */
  readonly progress?: ProgressSink;
  /** Read for KUBEBUILDER_ASSETS, XDG_CACHE_HOME, HOME, PATH and what Go and proxies use. @default process.env */
  readonly env?: NodeJS.ProcessEnv;
  /** @default the one this process runs on */
  readonly platform?: Platform;
  readonly hosts?: Partial<DownloadHosts>;
  readonly timeouts?: Partial<DownloadTimeouts>;
  /** Whether the official downloads may be tried. @default true */
  readonly download?: boolean;
  /** Whether building from Go modules may be tried. @default true */
  readonly build?: boolean;
  readonly lock?: Omit<CacheLockOptions, "progress" | "signal">;
  /** Ends it early; unfinished downloads and builds leave nothing behind. */
  readonly signal?: AbortSignal | undefined;
}

/** Absolute paths by name. */
export type AssetPaths<Name extends AssetName = AssetName> = Readonly<Record<Name, string>>;

/**
 * Finds the binaries, or makes them: KUBEBUILDER_ASSETS, the PATH for those that are system packages too, our cache, the
 * official download, a build from Go modules.
 *
 * Guarantees: a path that it returns is a whole, executable file of the version in the table (KUBEBUILDER_ASSETS and the
 * PATH aside, which are taken as they are); one process at a time fills the cache; an interrupted one leaves nothing a later run would use.
 *
 * @throws AssetError that names what is missing and each way out.
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
    await withCacheLock(cache, { ...options.lock, progress, signal }, async () => {
      // Checked again under the lock: the process that held it before may have made them.
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
 * Finds a binary without making it, for callers that can do without.
 *
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
