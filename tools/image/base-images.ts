/** Makes the base images of the operator's image, without a registry. */
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { runCommand } from "../assets/run-command.ts";
import type { Workspace } from "./buildah.ts";

export interface DebianPackage {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
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
 * Makes the two base images that the Dockerfile names, from Debian packages and the Node of devDependencies. Two calls make
 * the same bytes while Debian publishes the same packages.
 * @returns the Debian packages of the shipped image, by name.
 */
export async function makeBaseImages(workspace: Workspace, dockerfile: string): Promise<readonly DebianPackage[]> {
  const [node = "", debian = ""] = [...dockerfile.matchAll(/^FROM (\S+:\S+)/gm)].map(([, name]) => name);
  await makeBuildImage(workspace, node);
  return await makeRuntimeImage(workspace, debian);
}

/** @param architecture in Debian's words. @default that of this machine */
export async function makeRuntimeImage(
  workspace: Workspace,
  name: string,
  architecture?: string,
): Promise<readonly DebianPackage[]> {
  const { root, packages } = await makeRoot(workspace, runtimePackages, architecture);
  await commit(workspace, name, { files: [[root, "/"]], environment: [searchPath], architecture });
  return packages;
}

async function makeBuildImage(workspace: Workspace, name: string): Promise<void> {
  const { npm_execpath: npm } = process.env;
  if (npm === undefined) throw new Error("Start this with npm run, so that npm can be copied into the build image.");
  const { root } = await makeRoot(workspace, buildPackages);
  const script = path.join(workspace.directory, "npm");
  await writeFile(script, '#!/bin/sh\nexec node /usr/local/lib/npm/bin/npm-cli.js "$@"\n', { mode: 0o755 });
  const files = [
    [root, "/"],
    [process.execPath, "/usr/local/bin/node"],
    [path.resolve(path.dirname(npm), ".."), "/usr/local/lib/npm"],
    [script, "/usr/local/bin/npm"],
  ] as const;
  const environment = [searchPath, "NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt"];
  await commit(workspace, name, { files, environment });
}

const listInside = "/packages.list";

async function makeRoot({ directory, epochSeconds }: Workspace, include: readonly string[], architecture?: string) {
  const root = path.join(directory, "root.tar");
  const list = path.join(directory, "root.packages");
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

/** Parses lines like `libc6_2.36-9_amd64.deb`; `%3a` stands for the colon of an epoch. */
function packagesIn(list: string): readonly DebianPackage[] {
  const names = list.split("\n").filter((line) => line.endsWith(".deb"));
  const packages = names.map((line) => {
    const [name = "", version = "", architecture = ""] = line.slice(0, -".deb".length).split("_");
    return { name, version: decodeURIComponent(version), architecture };
  });
  return packages.sort((a, b) => (a.name < b.name ? -1 : 1));
}

interface NewImage {
  /** Each file or folder, its place in the image, and the image from which it comes. @default from this machine */
  readonly files: readonly (readonly [source: string, place: string, image?: string])[];
  readonly environment?: readonly string[];
  readonly architecture?: string | undefined;
}

export async function commit(
  { buildah, epochSeconds }: Workspace,
  name: string,
  { files, environment = [], architecture }: NewImage,
): Promise<void> {
  const container = await buildah(["from", "scratch"]);
  for (const [source, place, image] of files)
    await buildah(["add", "--quiet", ...(image === undefined ? [] : ["--from", image]), container, source, place]);
  const platform = architecture === undefined ? [] : ["--os", "linux", "--arch", architecture];
  await buildah(["config", ...platform, ...environment.flatMap((variable) => ["--env", variable]), container]);
  const reference = name.includes("/") ? name : `docker.io/library/${name}`;
  await buildah(["commit", "--quiet", "--rm", "--timestamp", String(epochSeconds), container, reference]);
}
