/** Makes a binary: downloads it, or builds it. */
import { AssetError, describeError } from "./asset-error.ts";
import type { Asset } from "./asset-table.ts";
import { apiServerAssets, requiredGoVersion } from "./asset-table.ts";
import { createDownloader, type Downloader, type DownloadTimeouts } from "./download.ts";
import type { DownloadHosts, DownloadLocation } from "./download-sources.ts";
import { buildFromGoModules, checkGo } from "./go-build.ts";
import type { Platform } from "./platform.ts";
import { type ProgressSink, withProgress } from "./progress.ts";

/** What making a binary needs. */
export interface MakeOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly platform: Platform;
  readonly progress: ProgressSink;
  readonly hosts: DownloadHosts;
  readonly timeouts: DownloadTimeouts;
  readonly download: boolean;
  readonly build: boolean;
  readonly signal: AbortSignal | undefined;
}

/** Makes binaries that are neither given by the user nor in the cache. */
export interface AssetMaker {
  /**
   * Downloads or builds one binary inside `directory`.
   * @returns the path of the finished file.
   * @throws AssetError that names each attempt, why it failed, and what to do.
   */
  make(asset: Asset, directory: string): Promise<string>;
  close(): Promise<void>;
}

/** Makes a maker for one run. It remembers which hosts cannot be reached, so that each costs its timeout only once. */
export function createAssetMaker(options: MakeOptions): AssetMaker {
  const downloader = createDownloader(options.timeouts, options.signal);
  const unreachable = new Map<string, string>();
  return {
    make: async (asset, directory) => {
      const failures: string[] = [];
      const downloaded = await tryDownloads({ asset, directory, options, downloader, unreachable, failures });
      return downloaded ?? (await build(asset, directory, options, failures));
    },
    close: () => downloader.close(),
  };
}

interface Attempt {
  readonly asset: Asset;
  readonly directory: string;
  readonly options: MakeOptions;
  readonly downloader: Downloader;
  /** The error of each unreachable host, by its name. */
  readonly unreachable: Map<string, string>;
  /** One sentence for each attempt that failed. */
  readonly failures: string[];
}

async function tryDownloads(attempt: Attempt): Promise<string | undefined> {
  const { asset, options, failures } = attempt;
  if (!options.download) {
    failures.push("the download is switched off");
    return undefined;
  }
  let isPublished = false;
  for (const source of asset.downloads) {
    try {
      const { name, version } = asset;
      const fetchText = (url: string) => fetchFrom(attempt, url, () => attempt.downloader.fetchText(url));
      const location = await source({ name, version, platform: options.platform, hosts: options.hosts, fetchText });
      if (location === undefined) continue;
      isPublished = true;
      return await fetchLocation(attempt, location);
    } catch (error) {
      if (options.signal?.aborted)
        throw new AssetError("Interrupted", `Interrupted while downloading ${asset.name}.`, { cause: error });
      if (error instanceof AssetError && error.reason === "CacheNotWritable") throw error;
      isPublished = true;
      failures.push(`the download failed (${describeError(error)})`);
    }
  }
  if (!isPublished) failures.push(`no official download exists for ${options.platform.os} on ${options.platform.arch}`);
  return undefined;
}

async function fetchLocation(attempt: Attempt, location: DownloadLocation): Promise<string> {
  const { asset, directory, downloader, options } = attempt;
  const host = new URL(location.url).host;
  return await withProgress(options.progress, `Downloading ${asset.name} ${asset.version} from ${host}`, () =>
    fetchFrom(attempt, location.url, () => downloader.fetchBinary(location, directory)),
  );
}

async function fetchFrom<T>(attempt: Attempt, url: string, fetchIt: () => Promise<T>): Promise<T> {
  const { host } = new URL(url);
  const known = attempt.unreachable.get(host);
  if (known !== undefined) throw new Error(known);
  try {
    return await fetchIt();
  } catch (error) {
    // undici throws TypeError "fetch failed" only if there was no answer at all.
    if (error instanceof TypeError) attempt.unreachable.set(host, `${host} cannot be reached: ${describeError(error)}`);
    throw error;
  }
}

async function build(
  asset: Asset,
  directory: string,
  options: MakeOptions,
  failures: readonly string[],
): Promise<string> {
  const { env, platform, progress, signal } = options;
  if (!options.build) throw nothingWorked(asset, [...failures, "the build from Go modules is switched off"]);
  if (failures.length > 0)
    progress(`${asset.name} ${asset.version}: ${failures.join("; ")}; building it from Go modules`);
  try {
    await checkGo(env);
  } catch (error) {
    throw nothingWorked(asset, [...failures, describeError(error)], error);
  }
  const what = `Building ${asset.name} ${asset.version} (about ${asset.build.roughly} on two cores, once)`;
  try {
    return await withProgress(progress, what, () => buildFromGoModules(asset, { directory, platform, env, signal }));
  } catch (error) {
    if (error instanceof AssetError && error.reason === "BuildFailed")
      throw nothingWorked(asset, [...failures, error.message], error);
    throw error;
  }
}

function nothingWorked(asset: Asset, failures: readonly string[], cause?: unknown): AssetError {
  const reason = cause instanceof AssetError ? cause.reason : "Unavailable";
  const message = [
    `${asset.name} ${asset.version} is missing:`,
    asset.systemPackage === undefined
      ? "  - it is neither in KUBEBUILDER_ASSETS nor in the cache"
      : "  - it is neither in KUBEBUILDER_ASSETS, nor on the PATH, nor in the cache",
    ...failures.map((failure) => `  - ${failure}`),
    "Any one of these helps:",
    ...(asset.systemPackage === undefined ? [] : [`  - install it, for instance: ${asset.systemPackage.install}`]),
    `  - set KUBEBUILDER_ASSETS to a directory that holds ${asset.name}`,
    "  - let this machine reach the official downloads (HTTPS_PROXY is honoured)",
    `  - install Go ${requiredGoVersion} or later (https://go.dev/dl) and let it reach its module proxy`,
    `Then run: npm run assets${apiServerAssets.includes(asset.name) ? "" : ` -- --with ${asset.name}`}`,
  ].join("\n");
  return new AssetError(reason, message, { cause });
}
