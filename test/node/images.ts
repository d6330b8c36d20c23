/** Makes the images of this version and of the version before. */
import { createHash } from "node:crypto";
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { withCacheLock } from "../../tools/assets/cache-lock.ts";
import { runCommand } from "../../tools/assets/run-command.ts";
import { buildImage } from "../../tools/image/build-image.ts";
import type { Buildah } from "../../tools/image/buildah.ts";
import { pauseImage } from "../../tools/node/node-files.ts";
import { cacheFolder, imageCache, imageEpochSeconds } from "../support/warm-image.ts";
import { applicationImage } from "./world.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The sources of the images. */
const sources = [
  "Dockerfile",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "tools/build.ts",
  "tools/image",
  "src",
  "test/node/application.ts",
];

/** This package reads files beside its own code at run time, so the image holds it unbundled. */
const bindingReader = "kube-service-bindings";

/** Returns the tag of the last release; `undefined`: there is none. */
async function previousTag(): Promise<string | undefined> {
  const described = ["describe", "--tags", "--abbrev=0", "--match", "v*", "HEAD^"];
  const tag = await runCommand({ command: "git", args: ["-C", root, ...described] }).catch(() => undefined);
  return tag?.trim();
}

/**
 * Copies the manifests of this version to `directory`, and checks out the last release there. Without a release this
 * version stands for it: what was never released left no stored form behind.
 */
export async function layOutVersions(directory: string): Promise<string> {
  const current = path.join(directory, "current");
  for (const folder of ["charts", "deploy", "crds"])
    await cp(path.join(root, folder), path.join(current, folder), { recursive: true });
  const previous = path.join(directory, "previous");
  await mkdir(previous, { recursive: true });
  const tag = await previousTag();
  if (tag === undefined) {
    for (const name of ["charts", "deploy", "crds", "src", "tools", "package.json", "tsconfig.json"])
      await cp(path.join(root, name), path.join(previous, name), { recursive: true });
    return "this version (nothing was released)";
  }
  const archive = path.join(directory, "previous.tar");
  await runCommand({ command: "git", args: ["-C", root, "archive", `--output=${archive}`, tag] });
  await runCommand({ command: "tar", args: ["--extract", "--file", archive, "--directory", previous] });
  return tag;
}

/**
 * Builds the images, or uses those that an earlier run built from the same sources.
 * @param previous the source of the previous version
 */
export async function storyImages(previous: string, progress: (line: string) => void): Promise<readonly string[]> {
  const cache = cacheFolder("node-images");
  const target = path.join(
    cache,
    await digestOf([...sources.map((name) => path.join(root, name)), path.join(previous, "src")]),
  );
  const archives = ["endpoint-operator", "previous", "pause", "application"].map((name) =>
    path.join(target, `${name}.tar`),
  );
  // Another run on this machine may build the same images, and each run removes what it does not know.
  await withCacheLock(cache, { progress }, async () => {
    if (!(await exists(target))) await buildImages({ cache, target, previous, progress });
  });
  return archives;
}

interface Build {
  readonly cache: string;
  readonly target: string;
  readonly previous: string;
  readonly progress: (line: string) => void;
}

/** Builds the images into the folder `target`, and removes the images of other sources. */
async function buildImages({ cache, target, previous, progress }: Build): Promise<void> {
  const outdated = (await readdir(cache)).filter((name) => !name.startsWith("lock."));
  const work = await mkdtemp(path.join(cache, "partial-"));
  try {
    const [image] = await buildImage({
      root,
      outDir: work,
      epochSeconds: imageEpochSeconds,
      cache: imageCache,
      progress,
      afterBuild: async (buildah, reference, directory) => {
        await makePreviousImage(buildah, { reference, previous, archive: path.join(work, "previous.tar") });
        await makePauseImage(buildah, path.join(work, "pause.tar"));
        await makeApplicationImage(buildah, { reference, directory, archive: path.join(work, "application.tar") });
      },
    });
    await rename(image.archive, path.join(work, "endpoint-operator.tar"));
    for (const name of outdated) await rm(path.join(cache, name), { recursive: true, force: true });
    await rename(work, target);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

interface Previous {
  readonly reference: string;
  readonly previous: string;
  readonly archive: string;
}

/** Makes an image of this version with the bundle of the previous version. */
async function makePreviousImage(buildah: Buildah, { reference, previous, archive }: Previous): Promise<void> {
  await symlink(path.join(root, "node_modules"), path.join(previous, "node_modules"));
  await runCommand({ command: process.execPath, args: ["tools/build.ts"], cwd: previous });
  const container = await buildah(["from", "--pull-never", reference]);
  await buildah(["add", "--quiet", container, path.join(previous, "dist"), "/app"]);
  await archiveImage(buildah, container, { name: "docker.io/library/endpoint-operator:previous", archive });
}

interface ApplicationImage {
  readonly reference: string;
  /** The folder for temporary files. */
  readonly directory: string;
  readonly archive: string;
}

/** Makes an image with Node of this version, the application and its drivers. */
async function makeApplicationImage(
  buildah: Buildah,
  { reference, directory, archive }: ApplicationImage,
): Promise<void> {
  const outfile = path.join(directory, "application.mjs");
  const entry = fileURLToPath(new URL("./application.ts", import.meta.url));
  const banner = {
    js: 'import { createRequire as bundleRequire } from "node:module"; const require = bundleRequire(import.meta.url);',
  };
  const external = ["pg-native"];
  const how = { bundle: true, format: "esm", platform: "node", target: "node24", external } as const;
  await build({ ...how, entryPoints: [entry], outfile, banner, logLevel: "warning" });
  const container = await buildah(["from", "--pull-never", reference]);
  await buildah(["add", "--quiet", container, outfile, "/application/application.mjs"]);
  const reader = path.join(root, "node_modules", bindingReader);
  await buildah(["add", "--quiet", container, reader, `/application/node_modules/${bindingReader}`]);
  const command = ["--entrypoint", '["node","/application/application.mjs"]', "--cmd", "[]"];
  await buildah(["config", ...command, "--workingdir", "/application", container]);
  await archiveImage(buildah, container, { name: applicationImage, archive });
}

/** Makes the image of the container that keeps the namespaces of a pod. Its program only sleeps. */
async function makePauseImage(buildah: Buildah, archive: string): Promise<void> {
  const container = await buildah(["from", "--pull-never", "docker.io/library/debian:12.12-slim"]);
  await buildah(["add", "--quiet", container, "/usr/bin/sleep", "/pause"]);
  await buildah(["config", "--entrypoint", '["/pause","infinity"]', container]);
  await archiveImage(buildah, container, { name: pauseImage, archive });
}

/** Makes an image from a container, and an archive of the image for containerd. */
async function archiveImage(
  buildah: Buildah,
  container: string,
  { name, archive }: { readonly name: string; readonly archive: string },
): Promise<void> {
  await buildah(["commit", "--quiet", "--rm", container, name]);
  await buildah(["push", "--quiet", name, `oci-archive:${archive}:${name}`]);
}

async function digestOf(entries: readonly string[]): Promise<string> {
  const hash = createHash("sha256");
  for (const entry of entries) {
    const isFolder = (await stat(entry)).isDirectory();
    const names = isFolder
      ? (await readdir(entry, { recursive: true, withFileTypes: true })).filter((item) => item.isFile())
      : [];
    const files = isFolder ? names.map((item) => path.join(item.parentPath, item.name)).sort() : [entry];
    for (const file of files) hash.update(path.basename(file)).update(await readFile(file));
  }
  return hash.digest("hex").slice(0, 16);
}

function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}

/**
 * Makes a directory for one run of the story. Its path is short, because the path of a socket may have only 107 bytes.
 */
export function storyDirectory(): Promise<string> {
  return mkdtemp(path.join(tmpdir(), "eo-node-"));
}
