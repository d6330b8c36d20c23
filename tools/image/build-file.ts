/** Builds an image from a Dockerfile. */
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";
import type { Buildah } from "./buildah.ts";

/** The options of one build. */
export interface FileBuild {
  /** The build context: the repository's root. */
  readonly root: string;
  /** The text of the Dockerfile. */
  readonly text: string;
  /** The directory for the Dockerfile. */
  readonly directory: string;
  /** The name of the new image, with a tag. */
  readonly reference: string;
  /** The stage to build. @default the last one */
  readonly target?: string;
  /** @default that of this machine */
  readonly architecture?: string;
  /** The time of every file in the image, in seconds since 1970. */
  readonly epochSeconds: number;
}

/** Builds an image without a registry. @throws CommandError with the last lines of the step that failed */
export async function buildFile(buildah: Buildah, build: FileBuild): Promise<void> {
  const { root, text, directory, reference, target, architecture, epochSeconds } = build;
  const file = path.join(directory, "Dockerfile");
  await writeFile(file, text);
  await buildah([
    ...["build", "--isolation", "chroot", "--pull-never", "--no-cache", "--format", "oci"],
    ...["--timestamp", String(epochSeconds), ...(target === undefined ? [] : ["--target", target]), "--tag", reference],
    ...(architecture === undefined ? [] : ["--platform", `linux/${architecture}`]),
    ...(await buildVolumes()),
    ...["--ignorefile", path.join(root, ".dockerignore"), "--file", file, root],
  ]);
}

/**
 * Returns what npm needs in the build: its cache, the user's settings, and the certificates that this machine trusts.
 */
async function buildVolumes(): Promise<readonly string[]> {
  const cache = process.env.npm_config_cache ?? path.join(homedir(), ".npm");
  await mkdir(cache, { recursive: true });
  const settings = process.env.npm_config_userconfig ?? path.join(homedir(), ".npmrc");
  const readOnly = [
    [settings, "/root/.npmrc"],
    ["/etc/ssl/certs", "/etc/ssl/certs"],
  ] as const;
  const present = readOnly.flatMap(([source, mountPoint]) => (existsSync(source) ? `${source}:${mountPoint}:ro` : []));
  return [`${cache}:/root/.npm`, ...present].flatMap((volume) => ["--volume", volume]);
}
