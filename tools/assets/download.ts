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

/** Limits of one download; all end it with an error rather than hang. */
export interface DownloadTimeouts {
  /** To a connection. @default 5_000, so that a machine without a way out moves on soon */
  readonly connectMs: number;
  /** To the answer's first byte, and between any two after it. @default 20_000 */
  readonly idleMs: number;
  /** For the whole file. @default 1_200_000 */
  readonly totalMs: number;
}

/** The limits used when none are given. */
export const defaultDownloadTimeouts: DownloadTimeouts = { connectMs: 5_000, idleMs: 20_000, totalMs: 1_200_000 };

/** Fetches files over HTTP, through the proxy of the environment where there is one. */
export interface Downloader {
  /** A small text. @throws Error when the answer is not 200 */
  fetchText(url: string): Promise<string>;
  /**
   * The binary of `location`, checked against its digest, as an ordinary file in `directory`.
   *
   * @returns its path.
   * @throws AssetError `Unverified` when the digest differs, `CacheNotWritable`, `Unavailable`.
   */
  fetchBinary(location: DownloadLocation, directory: string): Promise<string>;
  close(): Promise<void>;
}

/** Creates a downloader with connections of its own; close it when done. */
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

/** The system's tar, because every platform here has one: GNU or BusyBox for tar.gz, bsdtar (macOS) for zip too. */
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
