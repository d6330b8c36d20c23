/** Downloads binaries and checks their digests. */
import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { EnvHttpProxyAgent, fetch } from "undici";
import { describeError } from "./asset-error.ts";
import type { Asset, Download, Platform } from "./asset-table.ts";
import { runCommand } from "./run-command.ts";

/** A machine without a network moves on soon. A download that stands still ends. */
const limits = { connect: { timeout: 5_000 }, headersTimeout: 20_000, bodyTimeout: 20_000 };
const totalMs = 1_200_000;

/** Returns the official downloads of a binary for a platform, in the order in which they are tried. */
export function downloadsFor({ version, downloads }: Asset, { os, arch }: Platform): readonly Download[] {
  const values: Readonly<Record<string, string>> = {
    v: version,
    n: version.slice(1),
    os,
    arch,
    zip: os === "darwin" ? "zip" : "tar.gz",
    System: os === "darwin" ? "Darwin" : "Linux",
    machine: arch === "amd64" ? "x86_64" : arch,
  };
  const filled = (text: string) => text.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? "");
  return downloads
    .filter((download) => download.os === undefined || download.os === os)
    .map(({ url, sums, member }) => ({
      url: filled(url),
      sums: new URL(filled(sums), filled(url)).href,
      ...(member && { member: filled(member) }),
    }));
}

/** Downloads over HTTP, through the proxy of the environment if there is one. */
export class Downloader {
  readonly #agent = new EnvHttpProxyAgent(limits);
  /** The error of each unreachable host, so that each costs its timeout only once. */
  readonly #unreachable = new Map<string, string>();
  readonly #signal: AbortSignal | undefined;

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
  }

  /**
   * Downloads a binary into `directory`.
   * @returns its path; `undefined`: the publisher's list of checksums does not have it.
   * @throws Error when it cannot be downloaded, or has another digest.
   */
  async fetchBinary({ url, sums, member }: Download, directory: string): Promise<string | undefined> {
    const published = digestIn((await this.#get(sums)).toString(), path.basename(url));
    if (published === undefined) return undefined;
    const bytes = await this.#get(url);
    const algorithm = published.length === 64 ? "sha256" : "sha512";
    const digest = createHash(algorithm).update(bytes).digest("hex");
    if (digest !== published) throw new Error(`${url} has ${algorithm} ${digest}, but ${published} is published`);
    const target = path.join(directory, "download");
    await writeFile(target, bytes);
    if (member === undefined) return target;
    // Every platform here has a tar. GNU and BusyBox read tar.gz; bsdtar (macOS) also reads zip.
    await runCommand({ command: "tar", args: ["-xf", target, "-C", directory, member] });
    return path.join(directory, member);
  }

  close(): Promise<void> {
    return this.#agent.close();
  }

  async #get(url: string): Promise<Buffer> {
    const { host } = new URL(url);
    const known = this.#unreachable.get(host);
    if (known !== undefined) throw new Error(known);
    const signals = [AbortSignal.timeout(totalMs), ...(this.#signal ? [this.#signal] : [])];
    try {
      const answer = await fetch(url, { dispatcher: this.#agent, signal: AbortSignal.any(signals) });
      if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
      return Buffer.from(await answer.arrayBuffer());
    } catch (error) {
      // undici throws TypeError "fetch failed" only if there was no answer at all.
      if (error instanceof TypeError) this.#unreachable.set(host, `${host} cannot be reached: ${describeError(error)}`);
      throw error;
    }
  }
}

/**
 * Finds the digest of a file: SHA-256 or SHA-512 in lower-case hexadecimal. The text holds only the digest, or is a list
 * in the form of `sha256sum`, or the index of the envtest archives.
 */
function digestIn(text: string, file: string): string | undefined {
  const name = file.replaceAll(".", String.raw`\.`);
  const listed = new RegExp(String.raw`^([0-9a-f]{64,128})(?:\s+\*?${name})?\s*$`, "im").exec(text);
  const indexed = new RegExp(String.raw`^\s*${name}:\s+hash: ([0-9a-f]{128})$`, "im").exec(text);
  return (listed ?? indexed)?.[1]?.toLowerCase();
}
