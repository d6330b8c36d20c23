/** Downloads files and checks their digests. */
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import path from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { EnvHttpProxyAgent, fetch } from "undici";
import { notWritable } from "./asset-cache.ts";
import { AssetError, describeError } from "./asset-error.ts";
import type { DownloadLocation } from "./download-sources.ts";
import { runCommand } from "./run-command.ts";

/** The time limits of one download. Each ends the download with an error. */
export interface DownloadTimeouts {
  /** The limit for the connection. It is short, so that a machine without a network moves on soon. @default 5_000 */
  readonly connectMs: number;
  /** The limit for the first byte of the answer, and between any two later bytes. @default 20_000 */
  readonly idleMs: number;
  /** The limit for the whole file. @default 1_200_000 */
  readonly totalMs: number;
}

/** The limits that are used if none are given. */
export const defaultDownloadTimeouts: DownloadTimeouts = { connectMs: 5_000, idleMs: 20_000, totalMs: 1_200_000 };

/** Downloads files over HTTP, through the proxy of the environment if there is one. */
export interface Downloader {
  /** Downloads a small text. @throws Error when the answer is not 200 */
  fetchText(url: string): Promise<string>;
  /**
   * Downloads the binary of `location` into `directory`, and checks its digest.
   * @returns its path.
   * @throws AssetError `Unverified` when the digest differs, `CacheNotWritable`, `Unavailable`.
   */
  fetchBinary(location: DownloadLocation, directory: string): Promise<string>;
  close(): Promise<void>;
}

/** Creates a downloader with its own connections. The caller must close it. */
export function createDownloader(timeouts: DownloadTimeouts, signal: AbortSignal | undefined): Downloader {
  const dispatcher = new EnvHttpProxyAgent({
    connect: { timeout: timeouts.connectMs },
    headersTimeout: timeouts.idleMs,
    bodyTimeout: timeouts.idleMs,
  });
  const request = async (url: string) => {
    const limits = [AbortSignal.timeout(timeouts.totalMs), ...(signal === undefined ? [] : [signal])];
    const response = await fetch(url, { dispatcher, redirect: "follow", signal: AbortSignal.any(limits) });
    if (response.status === 200) return response;
    await response.body?.cancel();
    throw new Error(`${url} answered ${response.status}`);
  };
  return {
    fetchText: async (url) => (await request(url)).text(),
    fetchBinary: async (location, directory) => {
      const file = path.join(directory, "download");
      const { body } = await request(location.url);
      if (body === null) throw new AssetError("Unavailable", `${location.url} answered without a body.`);
      await saveBody(Readable.fromWeb(body), file);
      await verifyDigest(file, location);
      return location.member === undefined ? file : await extractMember(file, location.member, directory);
    },
    close: () => dispatcher.close(),
  };
}

async function saveBody(body: Readable, file: string): Promise<void> {
  try {
    await pipeline(body, createWriteStream(file));
  } catch (error) {
    if (error instanceof Error && "code" in error && isDiskError(error.code))
      throw notWritable(path.dirname(file), error);
    throw error;
  }
}

function isDiskError(code: unknown): boolean {
  return ["ENOSPC", "EDQUOT", "EROFS", "EACCES", "EIO", "ENOENT"].includes(String(code));
}

async function verifyDigest(file: string, location: DownloadLocation): Promise<void> {
  const hash = createHash(location.algorithm);
  await pipeline(createReadStream(file), hash);
  const digest = hash.digest("hex");
  if (digest === location.digest) return;
  await rm(file, { force: true });
  throw new AssetError(
    "Unverified",
    `${location.url} has ${location.algorithm} ${digest}, but ${location.digest} is published. It is not used.`,
  );
}

/**
 * Extracts a file with the system's tar, because every platform here has one. GNU and BusyBox read tar.gz; bsdtar
 * (macOS) also reads zip.
 */
async function extractMember(archive: string, member: string, directory: string): Promise<string> {
  try {
    await runCommand({ command: "tar", args: ["-xf", archive, "-C", directory, member] });
  } catch (error) {
    throw new AssetError("Unavailable", `Cannot take ${member} out of the archive: ${describeError(error)}`, {
      cause: error,
    });
  }
  return path.join(directory, member);
}
