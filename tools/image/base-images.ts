/** Makes the base images of the operator's image, without a registry. */
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { runCommand } from "../assets/run-command.ts";
import type { Buildah } from "./buildah.ts";

/** A Debian package of a base image. */
export interface DebianPackage {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
}

/** The options of the base images. */
export interface BaseImageOptions {
  readonly buildah: Buildah;
  /** The directory for temporary files. */
  readonly directory: string;
  /** The text of the Dockerfile. Its `FROM` lines name the images. */
  readonly dockerfile: string;
  /** No file in the images is newer than this, in seconds since 1970. */
  readonly epochSeconds: number;
  /** The architecture in Debian's words. @default that of this machine */
  readonly architecture?: string;
}

const release = "bookworm";
const mirror = "http://deb.debian.org/debian";
const searchPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/** The libraries that Node links, and the certificates and time zones that programs expect. */
const runtimePackages = ["libc6", "libstdc++6", "libgcc-s1", "ca-certificates", "tzdata"];
/** npm runs scripts with a shell, so the build image has one. */
const buildPackages = ["libc6", "libstdc++6", "libgcc-s1", "dash"];
/** Files of the machine that builds. They must not be in the image. */
const machineFiles = ["etc/hostname", "etc/resolv.conf", "etc/apt", "var/lib/apt", "var/log"];

/**
 * Makes the base images that the Dockerfile names, from Debian packages and the Node of devDependencies. It needs no
 * registry. Two calls make the same bytes while Debian publishes the same packages.
 * @returns the Debian packages of the shipped image, by name.
 */
export async function makeBaseImages(options: BaseImageOptions): Promise<readonly DebianPackage[]> {
  const names = new Set([...options.dockerfile.matchAll(/^FROM (\S+:\S+)/gm)].map(([, name = ""]) => name));
  let packages: readonly DebianPackage[] = [];
  for (const name of names) {
    if (name.startsWith("node:")) await makeBuildImage(options, name);
    else packages = await makeRuntimeImage(options, name);
  }
  return packages;
}

export async function makeRuntimeImage(options: BaseImageOptions, name: string): Promise<readonly DebianPackage[]> {
  const { root, packages } = await makeRoot(options, "runtime", runtimePackages);
  await commit(options, name, [root, "/"], [searchPath]);
  return packages;
}

async function makeBuildImage(options: BaseImageOptions, name: string): Promise<void> {
  const { root } = await makeRoot(options, "build", buildPackages);
  const npm = npmDirectory();
  const script = path.join(options.directory, "npm");
  await writeFile(script, '#!/bin/sh\nexec node /usr/local/lib/npm/bin/npm-cli.js "$@"\n', { mode: 0o755 });
  const node = process.execPath;
  const files = [root, "/", node, "/usr/local/bin/node", npm, "/usr/local/lib/npm", script, "/usr/local/bin/npm"];
  await commit(options, name, files, [searchPath, "NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt"]);
}

/** Returns the directory of the npm that runs this script. */
function npmDirectory(): string {
  const program = process.env.npm_execpath;
  if (program === undefined)
    throw new Error("Start this with npm run, so that npm can be copied into the build image.");
  return path.resolve(path.dirname(program), "..");
}

/** The list of packages, in the root that is being made. */
const listInside = "/packages.list";

async function makeRoot(options: BaseImageOptions, name: string, include: readonly string[]) {
  const { directory, epochSeconds, architecture } = options;
  const root = path.join(directory, `${name}.tar`);
  const list = path.join(directory, `${name}.packages`);
  const removals = machineFiles.map((file) => `"$1"/${file}`).join(" ");
  await runCommand({
    command: "mmdebstrap",
    args: [
      ...["--quiet", "--variant=extract", `--include=${include.join(",")}`],
      ...(architecture === undefined ? [] : [`--architectures=${architecture}`]),
      // If the user is not root, a hook may write only below the new root. mmdebstrap itself copies the list out.
      `--extract-hook=cd "$1"/var/cache/apt/archives && ls *.deb > "$1${listInside}"`,
      `--extract-hook=download ${listInside} ${list}`,
      `--customize-hook=rm -rf "$1${listInside}" ${removals}`,
      ...[release, root, mirror],
    ],
    env: { ...process.env, SOURCE_DATE_EPOCH: String(epochSeconds) },
  });
  return { root, packages: packagesIn(await readFile(list, "utf8")) };
}

/** Parses lines like `libc6_2.36-9_amd64.deb`; `%3a` stands for the colon of an epoch. Pure. */
function packagesIn(list: string): readonly DebianPackage[] {
  return list
    .split("\n")
    .filter((line) => line.endsWith(".deb"))
    .map((line) => {
      const [name = "", version = "", architecture = ""] = line.slice(0, -".deb".length).split("_");
      return { name, version: decodeURIComponent(version), architecture };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Makes an image from files. @param files source and target of each copy, one after the other */
export async function commit(
  { buildah, epochSeconds, architecture }: BaseImageOptions,
  name: string,
  files: readonly string[],
  environment: readonly string[],
): Promise<void> {
  const container = await buildah(["from", "scratch"]);
  for (let at = 0; at < files.length; at += 2)
    await buildah(["add", "--quiet", container, files[at] ?? "", files[at + 1] ?? ""]);
  if (architecture !== undefined) await buildah(["config", "--os", "linux", "--arch", architecture, container]);
  await buildah(["config", ...environment.flatMap((variable) => ["--env", variable]), container]);
  const reference = name.includes("/") ? name : `docker.io/library/${name}`;
  await buildah(["commit", "--quiet", "--rm", "--timestamp", String(epochSeconds), container, reference]);
}
