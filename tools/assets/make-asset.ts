/** Makes a binary: downloads it, or builds it. */
import { AssetError, describeError } from "./asset-error.ts";
import { type Asset, apiServerAssets, type Platform, requiredGoVersion } from "./asset-table.ts";
import { Downloader, downloadsFor } from "./download.ts";
import { buildFromGoModules } from "./go-build.ts";
import { type ProgressSink, withProgress } from "./progress.ts";

/** What making a binary needs. */
export interface MakeOptions {
  readonly platform: Platform;
  readonly progress: ProgressSink;
  readonly download: boolean;
  readonly build: boolean;
  readonly signal: AbortSignal | undefined;
}

/** Makes binaries that are neither given by the user nor in the cache. */
export class AssetMaker {
  readonly #options: MakeOptions;
  readonly #downloader: Downloader;

  constructor(options: MakeOptions) {
    this.#options = options;
    this.#downloader = new Downloader(options.signal);
  }

  /**
   * Downloads or builds one binary inside `directory`.
   * @returns the path of the finished file.
   * @throws AssetError that names each attempt, why it failed, and what to do.
   */
  async make(asset: Asset, directory: string): Promise<string> {
    const failures: string[] = [];
    return (
      (await this.#download(asset, directory, failures)) ??
      (await this.#build(asset, directory, failures)) ??
      fail(asset, failures)
    );
  }

  close(): Promise<void> {
    return this.#downloader.close();
  }

  async #download(asset: Asset, directory: string, failures: string[]): Promise<string | undefined> {
    const { platform, progress, signal, download } = this.#options;
    if (!download) failures.push("the download is switched off");
    for (const place of download ? downloadsFor(asset, platform) : []) {
      const what = `Downloading ${asset.name} ${asset.version} from ${new URL(place.url).host}`;
      try {
        const file = await withProgress(progress, what, () => this.#downloader.fetchBinary(place, directory));
        if (file !== undefined) return file;
        failures.push(`${place.url} is not published`);
      } catch (error) {
        signal?.throwIfAborted();
        failures.push(`the download failed (${describeError(error)})`);
      }
    }
    if (failures.length === 0) failures.push(`no official download exists for ${platform.os} on ${platform.arch}`);
    return undefined;
  }

  async #build(asset: Asset, directory: string, failures: string[]): Promise<string | undefined> {
    const { progress, signal } = this.#options;
    if (!this.#options.build) {
      failures.push("the build from Go modules is switched off");
      return undefined;
    }
    progress(`${asset.name} ${asset.version}: ${failures.join("; ")}; building it from Go modules`);
    const what = `Building ${asset.name} ${asset.version} (about ${asset.build.roughly} on two cores, once)`;
    try {
      return await withProgress(progress, what, () => buildFromGoModules(asset, { ...this.#options, directory }));
    } catch (error) {
      signal?.throwIfAborted();
      failures.push(`building it from Go modules failed: ${(error as Error).message}`);
      return undefined;
    }
  }
}

function fail({ name, version, systemPackage }: Asset, failures: readonly string[]): never {
  const onPath = systemPackage === undefined ? "" : ", nor on the PATH";
  const message = [
    `${name} ${version} is missing:`,
    `  - it is neither in KUBEBUILDER_ASSETS${onPath}, nor in the cache`,
    ...failures.map((failure) => `  - ${failure}`),
    "Any one of these helps:",
    ...(systemPackage === undefined ? [] : [`  - install it, for instance: ${systemPackage.install}`]),
    `  - set KUBEBUILDER_ASSETS to a directory that holds ${name}`,
    "  - let this machine reach the official downloads (HTTPS_PROXY is honoured)",
    `  - install Go ${requiredGoVersion} or later (https://go.dev/dl) and let it reach its module proxy`,
    `Then run: npm run assets${apiServerAssets.includes(name) ? "" : ` -- --with ${name}`}`,
  ];
  throw new AssetError(message.join("\n"));
}
