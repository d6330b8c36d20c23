/** A cache, a path and a fake Go for tests of the binaries. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { onTestFinished } from "vitest";
import type { DownloadHosts } from "../../../tools/assets/download-sources.ts";

/** The platform of these tests, whatever machine runs them. */
export const linux = { os: "linux", arch: "amd64" } as const;

/** A home directory for one test: a cache, a PATH with a stand-in for Go, and the environment that names both. */
export interface AssetHome {
  readonly directory: string;
  readonly cache: string;
  readonly bin: string;
  /** The file to which the stand-in writes each build that it was asked for, one on each line. */
  readonly buildLog: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Makes a home that is removed when the test is over. */
export async function createAssetHome(): Promise<AssetHome> {
  const directory = await mkdtemp(path.join(tmpdir(), "endpoint-operator-assets-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const bin = path.join(directory, "bin");
  await mkdir(bin);
  return {
    directory,
    bin,
    cache: path.join(directory, "cache", "endpoint-operator", "assets"),
    buildLog: path.join(directory, "builds"),
    env: { PATH: `${bin}:/usr/bin:/bin`, HOME: directory, XDG_CACHE_HOME: path.join(directory, "cache") },
  };
}

/** Writes an executable shell script. */
export async function writeScript(file: string, body: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, `#!/bin/sh\n${body}\n`);
  await chmod(file, 0o755);
}

/** The behaviour of the stand-in for Go. */
export interface FakeGo {
  /** @default "go1.26.8" */
  readonly version?: string;
  /** Shell commands that write `$output`; `$flags` holds the arguments. @default a small script */
  readonly build?: string;
}

/** Puts a stand-in for Go on the path of a home. */
export async function installFakeGo(home: AssetHome, { version = "go1.26.8", build }: FakeGo = {}): Promise<void> {
  const body = `
if [ "$1" = env ]; then printf '%s\\n%s\\n' '${version}' local; exit 0; fi
flags="$*"
while [ "$#" -gt 0 ]; do
  if [ "$1" = -o ]; then output=$2; fi
  shift
done
echo "\${output##*/}" >> '${home.buildLog}'
${build ?? `printf '#!/bin/sh\\necho built\\n' > "$output"`}`;
  await writeScript(path.join(home.bin, "go"), body);
}

/** Returns the builds of the stand-in, in order. */
export async function builds(home: AssetHome): Promise<readonly string[]> {
  const text = await readFile(home.buildLog, "utf8").catch(() => "");
  return text.split("\n").filter((line) => line !== "");
}

/** Returns every file in the cache except the lock, relative to the cache. */
export async function cachedFiles(home: AssetHome): Promise<readonly string[]> {
  const entries = await readdir(home.cache, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isFile() && !entry.name.startsWith("lock.sqlite"))
    .map((entry) => path.relative(home.cache, path.join(entry.parentPath, entry.name)))
    .sort();
}

/** A server on loopback that takes the place of the download hosts. */
export interface DownloadServer {
  readonly hosts: DownloadHosts;
}

/**
 * Serves files by path, and 404 for all other paths, until the test ends. The content "HANG" is never sent; "CUT"
 * breaks off in the middle.
 */
export async function startDownloadServer(files: Readonly<Record<string, string | Buffer>>): Promise<DownloadServer> {
  const server = createServer((request, response) => {
    const url = request.url ?? "";
    const file = files[url];
    if (file === "HANG") return;
    if (file === "CUT") {
      response.writeHead(200, { "content-length": "1000" });
      response.write("only the beginning");
      response.socket?.destroySoon();
      return;
    }
    response.writeHead(file === undefined ? 404 : 200).end(file ?? "not here");
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", () => resolve());
  await promise;
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    hosts: {
      kubernetes: `${base}/k8s`,
      etcd: `${base}/etcd`,
      envtestIndex: `${base}/envtest.yaml`,
      prometheus: `${base}/prometheus`,
      alertmanager: `${base}/alertmanager`,
      helm: `${base}/helm`,
      cosign: `${base}/cosign`,
      crane: `${base}/crane`,
      actionlint: `${base}/actionlint`,
    },
  };
}

/** Returns the digest of some bytes in hexadecimal digits. */
export function digestOf(algorithm: "sha256" | "sha512", bytes: string | Buffer): string {
  return createHash(algorithm).update(bytes).digest("hex");
}

/** Makes a gzipped tar with one file. */
export async function tarOf(home: AssetHome, member: string, content: string): Promise<Buffer> {
  const directory = path.join(home.directory, "tar");
  await writeScript(path.join(directory, member), content);
  const archive = path.join(home.directory, "archive.tar.gz");
  await promisify(execFile)("tar", ["-czf", archive, "-C", directory, member]);
  return await readFile(archive);
}
