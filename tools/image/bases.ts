/** Prepares the base images, from a cache if possible. */
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { withCacheLock } from "../assets/cache-lock.ts";
import { type ProgressSink, withProgress } from "../assets/progress.ts";
import { type DebianPackage, makeBaseImages } from "./base-images.ts";
import { buildFile } from "./build-file.ts";
import { type Buildah, removeStorage, withBuildah } from "./buildah.ts";

/** The base images in buildah's storage. */
export interface Bases {
  readonly buildah: Buildah;
  /** The directory for temporary files. */
  readonly directory: string;
  /** The text that is built in place of the Dockerfile. */
  readonly dockerfile: string;
  /** The Debian packages of the shipped image, by name. */
  readonly debian: readonly DebianPackage[];
}

/** The options of the base images. */
export interface BasesOptions {
  readonly root: string;
  readonly epochSeconds: number;
  /** The folder that keeps base images and npm packages for the next build. @default none: everything is made again */
  readonly cache?: string | undefined;
  readonly progress: ProgressSink;
  readonly signal?: AbortSignal | undefined;
}

/** The name of the image with the npm packages. */
const packagesImage = "docker.io/library/endpoint-operator-packages:cached";

/**
 * Makes the base images, or takes those of the cache, and runs `work` with them.
 * A cache is used only for the same Dockerfile, lock file, Node, npm and time. It does not see new versions of Debian's
 * packages, so a release is made without it.
 */
export async function withBases<T>(options: BasesOptions, work: (bases: Bases) => Promise<T>): Promise<T> {
  const { root, epochSeconds, cache, progress, signal } = options;
  const dockerfile = await readFile(path.join(root, "Dockerfile"), "utf8");
  const make = (buildah: Buildah, directory: string) =>
    withProgress(progress, "Making the base images", () =>
      makeBaseImages({ buildah, directory, dockerfile, epochSeconds }),
    );
  if (cache === undefined) {
    const build = async (buildah: Buildah, directory: string) =>
      await work({ buildah, directory, dockerfile, debian: await make(buildah, directory) });
    return await withBuildah(build, { signal });
  }
  const { packages: text, rest } = splitDockerfile(dockerfile);
  const name = await keyOf(options, text);
  const folder = path.join(cache, name);
  const listFile = path.join(folder, "debian.json");
  const build = async (buildah: Buildah, directory: string) => {
    let debian = await readFile(listFile, "utf8").then(JSON.parse, () => undefined);
    if (debian === undefined) {
      await mkdir(folder, { recursive: true });
      debian = await make(buildah, directory);
      const file = { root, text, directory, reference: packagesImage, epochSeconds };
      await withProgress(progress, "Installing the npm packages", () => buildFile(buildah, file));
      await writeFile(listFile, JSON.stringify(debian));
    }
    const cached = `FROM ${packagesImage} AS build\nWORKDIR /work\n${rest}`;
    return await keepingImages(buildah, () => work({ buildah, directory, dockerfile: cached, debian }));
  };
  return await withCacheLock(cache, { progress, signal }, async () => {
    await removeOthers(cache, name);
    return await withBuildah(build, { storage: path.join(folder, "storage"), signal });
  });
}

/** Splits the Dockerfile after the step that installs the npm packages. Pure. @throws Error when it has no such step */
export function splitDockerfile(text: string): { readonly packages: string; readonly rest: string } {
  const end = /^RUN npm ci.*\n/m.exec(text);
  if (end === null) throw new Error("the Dockerfile has no step that starts with RUN npm ci");
  const at = end.index + end[0].length;
  return { packages: text.slice(0, at), rest: text.slice(at) };
}

/** Returns a key of everything that the base images and the npm packages depend on. */
async function keyOf({ root, epochSeconds }: BasesOptions, packages: string): Promise<string> {
  const hash = createHash("sha256");
  const files = [".npmrc", "package-lock.json"].map((file) => path.join(root, file));
  const own = fileURLToPath(new URL("./base-images.ts", import.meta.url));
  for (const file of [...files, own]) hash.update(await readFile(file));
  hash.update(JSON.stringify([packages, epochSeconds, process.version, process.env.npm_config_user_agent]));
  return hash.digest("hex").slice(0, 16);
}

async function removeOthers(cache: string, name: string): Promise<void> {
  const others = (await readdir(cache, { withFileTypes: true })).filter((entry) => entry.isDirectory());
  for (const other of others.filter((entry) => entry.name !== name)) await removeStorage(path.join(cache, other.name));
}

/** Runs `work`, and removes the images that it has added. */
async function keepingImages<T>(buildah: Buildah, work: () => Promise<T>): Promise<T> {
  const ids = async () => (await buildah(["images", "--all", "--quiet", "--no-trunc"])).split("\n");
  const before = new Set(await ids());
  try {
    return await work();
  } finally {
    await buildah(["rm", "--all"]);
    const added = new Set((await ids()).filter((id) => id !== "" && !before.has(id)));
    if (added.size > 0) await buildah(["rmi", "--force", ...added]);
  }
}
