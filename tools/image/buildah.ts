/** Runs buildah. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { runCommand, undefinedIfFailed } from "../assets/run-command.ts";

/** Runs buildah with its own storage. It returns the output without blanks around it. */
export type Buildah = (args: readonly string[]) => Promise<string>;

/** The programs that build an image. Debian's packages have the same names. */
export const imageTools = ["buildah", "mmdebstrap", "tar"] as const;

/** This machine cannot build an image. The message says what to do. */
export class ImageToolsMissing extends Error {
  override readonly name = "ImageToolsMissing";
}

/** Checks the programs. @throws ImageToolsMissing when one of them does not run */
export async function checkImageTools(): Promise<void> {
  for (const command of imageTools) {
    try {
      await runCommand({ command, args: ["--version"] });
    } catch (error) {
      throw new ImageToolsMissing(
        `${command} is missing. On Debian: apt-get install buildah mmdebstrap. With Docker: docker build --tag endpoint-operator .`,
        { cause: error },
      );
    }
  }
}

/** The storage of buildah, and the signal that ends it. */
export interface BuildahOptions {
  /** The folder that keeps its images. @default a folder that is removed afterwards */
  readonly storage?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Runs `work` with a buildah that has its own storage. @param work also gets a folder for temporary files */
export async function withBuildah<T>(
  work: (buildah: Buildah, directory: string) => Promise<T>,
  { storage, signal }: BuildahOptions,
): Promise<T> {
  const directory = await mkdtemp(path.join(tmpdir(), "endpoint-operator-image-"));
  const places = [
    ...["--root", storage ?? path.join(directory, "storage"), "--runroot", path.join(directory, "run")],
    ...["--storage-driver", "overlay"],
  ];
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

/**
 * Removes a folder with buildah's storage. If the user is not root, its files belong to other ids of a user namespace.
 */
export async function removeStorage(directory: string): Promise<void> {
  try {
    await rm(directory, { recursive: true, force: true });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EACCES")) throw error;
    await runCommand({ command: "buildah", args: ["unshare", "rm", "-rf", directory] });
  }
}
