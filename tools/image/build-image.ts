/** Builds the operator's image without a Docker engine. */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { type ProgressSink, withProgress } from "../assets/progress.ts";
import { runCommand } from "../assets/run-command.ts";
import type { DebianPackage } from "./base-images.ts";
import { withBases } from "./bases.ts";
import { buildFile } from "./build-file.ts";
import { type Buildah, checkImageTools } from "./buildah.ts";
import { readImageFile, readOciImage } from "./oci-layout.ts";
import { isLoopbackRegistry } from "./registry-scheme.ts";
import { type BundledPackage, imageSbom } from "./sbom.ts";
import { sourceDateSeconds } from "./source-date.ts";

/** The options of the image. */
export interface ImageOptions {
  /** The repository's root, with the Dockerfile. */
  readonly root: string;
  /** The stage of the Dockerfile. @default "operator" */
  readonly target?: string;
  /** The name of the image without a tag. @default "endpoint-operator" */
  readonly name?: string;
  /** The folder for the results. It is made. */
  readonly outDir: string;
  /** The time of every file in the image, in seconds since 1970. @default as `sourceDateSeconds` */
  readonly epochSeconds?: number;
  /** The folder that keeps base images and npm packages for the next build. @default none: everything is made again */
  readonly cache?: string | undefined;
  /**
   * Also pushes the image to this address, for instance `registry.example.com/endpoint-operator:0.1.0`. @default it is
   * not pushed
   */
  readonly pushTo?: string | undefined;
  /** Makes further images from the finished one, while buildah still has it. @param reference the finished image */
  readonly afterBuild?: (buildah: Buildah, reference: string, directory: string) => Promise<void>;
  readonly progress: ProgressSink;
  readonly signal?: AbortSignal | undefined;
}

/** A finished image as files. */
export interface BuiltImage {
  readonly name: string;
  readonly version: string;
  /** The digest of the manifest, with `sha256:`. */
  readonly digest: string;
  /** The folder of the OCI layout. */
  readonly layout: string;
  /** The same in one file, for `kind load image-archive` and `ctr images import`. */
  readonly archive: string;
  /** The SBOM in the format CycloneDX. */
  readonly sbom: string;
}

/**
 * Builds the image from the Dockerfile, without a Docker engine and without a registry.
 *
 * The same commit gives the same digest while Debian publishes the same packages. Needs Linux, buildah and mmdebstrap.
 *
 * @throws ImageToolsMissing; CommandError with the last lines of the step that failed.
 */
export async function buildImage(options: ImageOptions): Promise<BuiltImage> {
  await checkImageTools();
  const { root, outDir, progress, signal, cache, target = "operator", name = "endpoint-operator" } = options;
  const { version } = JSON.parse(await readFile(path.join(root, "package.json"), "utf8")) as { version: string };
  const epochSeconds = options.epochSeconds ?? (await sourceDateSeconds(root, process.env));
  const layout = path.join(outDir, `${name}-${version}.oci`);
  await mkdir(outDir, { recursive: true });
  await rm(layout, { recursive: true, force: true });
  const reference = `docker.io/library/${name}:${version}`;
  const debian = await withBases({ root, epochSeconds, cache, progress, signal }, async (bases) => {
    const { buildah, directory, dockerfile: text } = bases;
    await withProgress(progress, `Building ${name}:${version}`, () =>
      buildFile(buildah, { root, text, directory, target, reference, epochSeconds }),
    );
    await buildah(["push", "--quiet", reference, `oci:${layout}:${reference}`]);
    const { pushTo } = options;
    if (pushTo !== undefined)
      await withProgress(progress, `Pushing ${pushTo}`, () =>
        buildah(["push", "--quiet", `--tls-verify=${!isLoopbackRegistry(pushTo)}`, reference, `docker://${pushTo}`]),
      );
    await options.afterBuild?.(buildah, reference, directory);
    return bases.debian;
  });
  return await writeBeside({ layout, name, version, epochSeconds, outDir, debian });
}

export interface Finished {
  readonly layout: string;
  readonly name: string;
  readonly version: string;
  /** Follows the version in the names of the files. @default empty */
  readonly suffix?: string;
  readonly epochSeconds: number;
  readonly outDir: string;
  readonly debian: readonly DebianPackage[];
}

export async function writeBeside({ layout, outDir, debian, ...image }: Finished): Promise<BuiltImage> {
  const { name, version, epochSeconds } = image;
  const { digest } = await readOciImage(layout);
  const bundled = JSON.parse(await readImageFile(layout, "app/packages.json")) as readonly BundledPackage[];
  const nodeVersion = process.versions.node;
  const file = path.join(outDir, `${name}-${version}${image.suffix ?? ""}`);
  const sbom = `${file}.cdx.json`;
  const contents = { name, version, digest, bundled, debian, nodeVersion, epochSeconds };
  await writeFile(sbom, `${JSON.stringify(imageSbom(contents), undefined, 2)}\n`);
  const archive = `${file}.oci.tar`;
  const sameBytes = ["--sort=name", `--mtime=@${epochSeconds}`, "--owner=0", "--group=0", "--numeric-owner"];
  await runCommand({ command: "tar", args: [...sameBytes, "--create", "--file", archive, "--directory", layout, "."] });
  return { name, version, digest, layout, archive, sbom };
}
