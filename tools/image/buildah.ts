/** Runs buildah. */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import { AssetError } from "../assets/asset-error.ts";
import { runCommand, undefinedIfFailed } from "../assets/run-command.ts";

/** Runs buildah with its own storage. It returns the output without blanks around it. */
export type Buildah = (args: readonly string[]) => Promise<string>;

export interface Workspace {
  readonly buildah: Buildah;
  readonly directory: string;
  readonly root: string;
  /** No file in the images is newer than this, in seconds since 1970. */
  readonly epochSeconds: number;
}

/** Checks the programs that build an image. @throws AssetError when one of them does not run */
export async function checkImageTools(): Promise<void> {
  for (const command of ["buildah", "mmdebstrap", "tar"]) {
    try {
      await runCommand({ command, args: ["--version"] });
    } catch (error) {
      const remedy =
        "On Debian: apt-get install buildah mmdebstrap. With Docker: docker build --tag endpoint-operator .";
      throw new AssetError(`${command} is missing. ${remedy}`, { cause: error });
    }
  }
}

/** Runs `work` with a buildah and a folder for temporary files. @param storage the folder that keeps the images */
export async function withBuildah<T>(
  storage: string,
  work: (buildah: Buildah, directory: string) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const directory = await mkdtemp(path.join(tmpdir(), "endpoint-operator-image-"));
  const places = ["--root", storage, "--runroot", path.join(directory, "run"), "--storage-driver", "overlay"];
  const buildah: Buildah = async (args) =>
    (await runCommand({ command: "buildah", args: [...places, ...args], signal })).trim();
  try {
    return await work(buildah, directory);
  } finally {
    // If the work has ended early, there may be nothing to remove.
    await buildah(["rm", "--all"]).catch(undefinedIfFailed);
    await removeStorage(directory);
  }
}

/** Removes a folder of buildah. If the user is not root, its files belong to other ids of a user namespace. */
export async function removeStorage(directory: string): Promise<void> {
  try {
    await rm(directory, { recursive: true, force: true });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EACCES")) throw error;
    await runCommand({ command: "buildah", args: ["unshare", "rm", "-rf", directory] });
  }
}

interface FileBuild {
  readonly text: string;
  readonly reference: string;
  readonly target?: string;
  /** @default that of this machine */
  readonly architecture?: string;
}

/** Builds a Dockerfile without a registry. @throws CommandError with the last lines of the step that failed */
export async function buildFile({ buildah, directory, root, epochSeconds }: Workspace, build: FileBuild) {
  const { text, reference, target, architecture } = build;
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

/** What npm needs in the build: its cache, the user's settings, and the certificates that this machine trusts. */
async function buildVolumes(): Promise<readonly string[]> {
  const { npm_config_cache: cache = path.join(homedir(), ".npm"), npm_config_userconfig: settings } = process.env;
  await mkdir(cache, { recursive: true });
  const readOnly = [
    [settings ?? path.join(homedir(), ".npmrc"), "/root/.npmrc"],
    ["/etc/ssl/certs", "/etc/ssl/certs"],
  ] as const;
  const present = readOnly.flatMap(([source, mountPoint]) => (existsSync(source) ? `${source}:${mountPoint}:ro` : []));
  return [`${cache}:/root/.npm`, ...present].flatMap((volume) => ["--volume", volume]);
}

/**
 * Whether a registry is on this machine's loopback. Such registries have no certificate, so they are reached by http.
 * @param reference a registry, or an image in one, for instance `127.0.0.1:5000/endpoint-operator:0.1.0`
 */
export function isLoopbackRegistry(reference: string): boolean {
  const [host = ""] = reference.split("/");
  return /^(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?$/.test(host);
}
