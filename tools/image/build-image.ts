/** Builds the operator's image without a Docker engine. */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { withProgress } from "../assets/progress.ts";
import { buildArm64Image } from "./arm64-image.ts";
import { type Bases, type BasesOptions, withBases } from "./bases.ts";
import { type Buildah, buildFile, checkImageTools, isLoopbackRegistry } from "./buildah.ts";
import { readImageFile, readOciImage } from "./oci-layout.ts";
import { packFiles } from "./same-bytes.ts";
import { imageSbom } from "./sbom.ts";

export interface ImageOptions extends BasesOptions {
  /** The folder for the results. It is made. */
  readonly outDir: string;
  readonly target?: string;
  readonly name?: string;
  readonly arm64?: boolean;
  /** Also pushes the image to this address, for instance `registry.example.com/endpoint-operator:0.1.0`. @default no */
  readonly pushTo?: string | undefined;
  /** Makes further images from the finished one, while buildah still has it. @param reference the finished image */
  readonly afterBuild?: (buildah: Buildah, reference: string, directory: string) => Promise<void>;
}

export interface BuiltImage {
  readonly title: string;
  /** The digest of the manifest, with `sha256:`. */
  readonly digest: string;
  readonly layout: string;
  /** The same in one file, for `kind load image-archive` and `ctr images import`. */
  readonly archive: string;
  readonly sbom: string;
}

/**
 * Builds the image from the Dockerfile, without a Docker engine and without a registry.
 * The same commit gives the same digest while Debian publishes the same packages. Needs Linux, buildah and mmdebstrap.
 * @returns the image of this machine, then that for arm64
 * @throws AssetError; CommandError with the last lines of the step that failed
 */
export async function buildImage(options: ImageOptions): Promise<readonly [BuiltImage, ...BuiltImage[]]> {
  const { root, outDir, target = "operator", name = "endpoint-operator", arm64 = false, pushTo, progress } = options;
  await checkImageTools();
  await mkdir(outDir, { recursive: true });
  const version = await packageVersion(root);
  const step = <T>(what: string, run: () => Promise<T>) => withProgress(progress, what, run);
  const image = { name, version, reference: `docker.io/library/${name}:${version}` };
  const { reference } = image;
  const file = path.join(outDir, `${name}-${version}`);
  return await withBases(options, async (bases) => {
    const { buildah, directory, dockerfile: text } = bases;
    await step(`Building ${name}:${version}`, () => buildFile(bases, { text, target, reference }));
    const built = await writeImage(bases, image, file);
    const push = ["push", "--quiet", `--tls-verify=${!isLoopbackRegistry(pushTo ?? "")}`, reference];
    if (pushTo !== undefined) await step(`Pushing ${pushTo}`, () => buildah([...push, `docker://${pushTo}`]));
    await options.afterBuild?.(buildah, reference, directory);
    if (!arm64) return [built];
    const other = { ...image, reference: `${reference}-arm64` };
    const build = { target, reference: other.reference, finished: reference };
    const debian = await step(`Building ${name}:${version} for arm64`, () => buildArm64Image(bases, build));
    return [built, await writeImage({ ...bases, debian }, other, `${file}-arm64`)];
  });
}

/** Writes an image of buildah's storage as files. @param file their names without the ending */
async function writeImage(
  { buildah, ...bases }: Bases,
  { name, version, reference }: { readonly name: string; readonly version: string; readonly reference: string },
  file: string,
): Promise<BuiltImage> {
  const [layout, archive, sbom] = [`${file}.oci`, `${file}.oci.tar`, `${file}.cdx.json`];
  await rm(layout, { recursive: true, force: true });
  await buildah(["push", "--quiet", reference, `oci:${layout}:${reference}`]);
  const { digest } = await readOciImage(layout);
  const bundled = JSON.parse(await readImageFile(layout, "app/packages.json"));
  const contents = imageSbom({ name, version, digest }, bundled, bases);
  await writeFile(sbom, `${JSON.stringify(contents, undefined, 2)}\n`);
  await packFiles(archive, bases.epochSeconds, ["--directory", layout, "."]);
  return { title: `${name}:${version}`, digest, layout, archive, sbom };
}

export async function packageVersion(root: string): Promise<string> {
  const { version } = JSON.parse(await readFile(path.join(root, "package.json"), "utf8")) as { version: string };
  return version;
}
