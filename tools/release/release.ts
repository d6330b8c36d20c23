/** Makes a release. */
import { copyFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { withProgress } from "../assets/progress.ts";
import { runCommand } from "../assets/run-command.ts";
import { buildImage, type ImageOptions } from "../image/build-image.ts";
import { sha256Of } from "../image/oci-layout.ts";
import { type Cosign, type Signing, signFile } from "./cosign.ts";
import { packCharts, writeInstallFile } from "./manifests.ts";
import { provenancePredicate } from "./provenance.ts";
import { imageName, listedFiles, type ReleaseFiles, signedFiles } from "./release-files.ts";

/** The options of a release. */
export interface ReleaseOptions extends Omit<ImageOptions, "outDir"> {
  /** Where to. The folder is emptied. */
  readonly files: ReleaseFiles;
  /** The registry in which the release is published. @default none */
  readonly registry?: string | undefined;
  readonly cosign: Cosign;
  readonly signing: Signing;
}

/**
 * Makes all parts of a release: image, SBOM, charts, checksums, provenance and signatures. It publishes nothing.
 * @throws CommandError, AssetError; the finished parts stay in the folder.
 */
export async function makeRelease(options: ReleaseOptions): Promise<void> {
  const { root, files, registry, cosign, signing, epochSeconds, progress } = options;
  const { outDir, version } = files;
  await rm(outDir, { recursive: true, force: true });
  const [{ digest }] = await buildImage({ ...options, outDir, arm64: true });
  await packCharts(root, files.charts, epochSeconds);
  const image = registry === undefined ? `${imageName}:${version}` : `${registry}/${imageName}@${digest}`;
  await writeInstallFile(files.install, image, options);
  const sumOf = async (file: string) => `${await sha256Of(file)}  ${path.basename(file)}\n`;
  await writeFile(files.checksums, (await Promise.all(listedFiles(files).map(sumOf))).join(""));
  const commit = (await runCommand({ command: "git", args: ["-C", root, "rev-parse", "HEAD"] })).trim();
  const predicate = provenancePredicate({ commit, version, imageDigest: digest }, process.env);
  await writeFile(files.predicate, `${JSON.stringify(predicate, undefined, 2)}\n`);
  await withProgress(progress, "Signing the files", () => signRelease(files, cosign, signing));
}

/** Signs each file and a statement of provenance about it. A public key is written beside them. @throws CommandError */
export async function signRelease(files: ReleaseFiles, cosign: Cosign, signing: Signing): Promise<void> {
  if (signing !== "Keyless") await copyFile(signing.publicKey, path.join(files.outDir, "cosign.pub"));
  for (const file of signedFiles(files)) await signFile(cosign, signing, [file, files.predicate]);
}
