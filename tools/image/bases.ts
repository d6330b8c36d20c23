/** Prepares the base images and the npm packages, from a cache if possible. */
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { withCacheLock } from "../assets/cache-lock.ts";
import { type ProgressSink, withProgress } from "../assets/progress.ts";
import { type DebianPackage, makeBaseImages } from "./base-images.ts";
import { type Buildah, buildFile, removeStorage, type Workspace, withBuildah } from "./buildah.ts";

export interface Bases extends Workspace {
  /** The text that is built in place of the Dockerfile. It begins after the npm packages. */
  readonly dockerfile: string;
  /** The Debian packages of the shipped image, by name. */
  readonly debian: readonly DebianPackage[];
}

export interface BasesOptions extends Pick<Workspace, "root" | "epochSeconds"> {
  /** The folder that keeps base images and npm packages for the next build. @default none: everything is made again */
  readonly cache?: string | undefined;
  readonly progress: ProgressSink;
  readonly signal?: AbortSignal | undefined;
}

const packagesImage = "docker.io/library/endpoint-operator-packages:cached";

/**
 * Makes the base images, or takes those of the cache, and runs `work` with them.
 * A cache is used only for the same Dockerfile, lock file, Node, npm and time. It does not see new versions of Debian's
 * packages, so a release is made without it.
 */
export async function withBases<T>(options: BasesOptions, work: (bases: Bases) => Promise<T>): Promise<T> {
  const { cache } = options;
  if (cache !== undefined) return await withCacheLock(cache, options, () => withBasesIn(cache, options, work));
  const own = await mkdtemp(path.join(tmpdir(), "endpoint-operator-bases-"));
  try {
    return await withBasesIn(own, options, work);
  } finally {
    await removeStorage(own);
  }
}

async function withBasesIn<T>(cache: string, options: BasesOptions, work: (bases: Bases) => Promise<T>): Promise<T> {
  const { root, epochSeconds, progress, signal } = options;
  const dockerfile = await readFile(path.join(root, "Dockerfile"), "utf8");
  const [packages] = /^[\s\S]*?^RUN npm ci.*\n/m.exec(dockerfile) ?? [];
  if (packages === undefined) throw new Error("the Dockerfile has no step that starts with RUN npm ci");
  const rest = `FROM ${packagesImage} AS build\nWORKDIR /work\n${dockerfile.slice(packages.length)}`;
  const name = await keyOf(options, packages);
  const folder = path.join(cache, name);
  const others = (await readdir(cache, { withFileTypes: true })).filter((entry) => entry.isDirectory());
  for (const other of others) if (other.name !== name) await removeStorage(path.join(cache, other.name));
  await mkdir(folder, { recursive: true });
  const listFile = path.join(folder, "debian.json");
  const build = async (buildah: Buildah, directory: string) => {
    const workspace = { buildah, directory, root, epochSeconds };
    let debian = await readFile(listFile, "utf8").then(JSON.parse, () => undefined);
    if (debian === undefined) {
      debian = await withProgress(progress, "Making the base images", () => makeBaseImages(workspace, dockerfile));
      const file = { text: packages, reference: packagesImage };
      await withProgress(progress, "Installing the npm packages", () => buildFile(workspace, file));
      await writeFile(listFile, JSON.stringify(debian));
    }
    return await keepingImages(buildah, () => work({ ...workspace, dockerfile: rest, debian }));
  };
  return await withBuildah(path.join(folder, "storage"), build, signal);
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
