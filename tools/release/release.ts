/** Makes a release. */
import { copyFile, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { type ProgressSink, withProgress } from "../assets/progress.ts";
import { runCommand } from "../assets/run-command.ts";
import { buildArm64Image } from "../image/arm64-image.ts";
import { buildImage } from "../image/build-image.ts";
import { sha256Of } from "../image/oci-layout.ts";
import { sourceDateSeconds } from "../image/source-date.ts";
import { packCharts } from "./charts.ts";
import { type Cosign, type Signing, signFile } from "./cosign.ts";
import { writeInstallFile } from "./install-file.ts";
import { builderOf, provenancePredicate } from "./provenance.ts";
import { imageName, listedFiles, type ReleaseFiles, releaseFiles, signedFiles } from "./release-files.ts";

/** The options of a release. */
export interface ReleaseOptions {
  readonly root: string;
  /** The output folder. It is emptied. */
  readonly outDir: string;
  readonly version: string;
  /** The registry in which the release is published. @default none */
  readonly registry?: string | undefined;
  readonly cosign: Cosign;
  readonly signing: Signing;
  /** The folder that keeps base images and npm packages for the next build. @default none: everything is made again */
  readonly cache?: string | undefined;
  readonly progress: ProgressSink;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Makes all parts of a release: image, SBOM, charts, checksums, provenance and signatures. It publishes nothing.
 * @throws CommandError, ImageToolsMissing, AssetError; the finished parts stay in `outDir`.
 */
export async function makeRelease(options: ReleaseOptions): Promise<ReleaseFiles> {
  const { root, outDir, version, registry, cosign, signing, cache, progress, signal } = options;
  const files = releaseFiles(outDir, version);
  await rm(outDir, { recursive: true, force: true });
  const epochSeconds = await sourceDateSeconds(root, process.env);
  const image = await buildImage({ root, outDir, epochSeconds, cache, progress, signal });
  await buildArm64Image({ root, outDir, image, target: "operator", epochSeconds, progress, signal });
  await packCharts(root, outDir, epochSeconds);
  const { digest } = image;
  const reference = registry === undefined ? `${imageName}:${version}` : `${registry}/${imageName}@${digest}`;
  await writeInstallFile({ root, file: files.install, image: reference, progress, signal });
  await writeChecksums(files);
  await writeFile(files.predicate, `${JSON.stringify(await predicateOf(root, version, digest), undefined, 2)}\n`);
  await withProgress(progress, "Signing the files", () => signRelease(files, cosign, signing));
  return files;
}

/** Signs each file and a statement of provenance about it. A public key is written beside them. @throws CommandError */
export async function signRelease(files: ReleaseFiles, cosign: Cosign, signing: Signing): Promise<void> {
  if (signing.kind === "Key") await copyFile(signing.publicKey, path.join(files.outDir, "cosign.pub"));
  for (const file of signedFiles(files)) await signFile(cosign, signing, [file, files.predicate]);
}

async function predicateOf(root: string, version: string, imageDigest: string): Promise<object> {
  const commit = (await runCommand({ command: "git", args: ["-C", root, "rev-parse", "HEAD"] })).trim();
  return provenancePredicate({ ...builderOf(process.env), commit, version, imageDigest });
}

async function writeChecksums(files: ReleaseFiles): Promise<void> {
  const sumOf = async (file: string) => `${await sha256Of(file)}  ${path.basename(file)}\n`;
  await writeFile(files.checksums, (await Promise.all(listedFiles(files).map(sumOf))).join(""));
}

/** Returns the version in package.json. */
export async function packageVersion(root: string): Promise<string> {
  const { version } = JSON.parse(await readFile(path.join(root, "package.json"), "utf8")) as { version: string };
  return version;
}
