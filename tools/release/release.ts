/** Makes a release. */
import { copyFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { withProgress } from "../assets/progress.ts";
import { runCommand } from "../assets/run-command.ts";
import { type BuiltImage, buildImage, type ImageOptions } from "../image/build-image.ts";
import { sha256Of } from "../image/oci-layout.ts";
import { type Cosign, type Signing, signFile } from "./cosign.ts";
import { packCharts, writeInstallFile, writePlugin } from "./manifests.ts";
import { imageName, listedFiles, type ReleaseFiles, signedFiles } from "./release-files.ts";

export interface ReleaseOptions extends Omit<ImageOptions, "outDir"> {
  /** Where to. The folder is emptied. */
  readonly files: ReleaseFiles;
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
  const images = await buildImage({ ...options, outDir, arm64: true });
  await packCharts(root, files.charts, epochSeconds);
  const image = `${registry === undefined ? "" : `${registry}/`}${imageName}:${version}`;
  await writeInstallFile(files.install, image, options);
  await writePlugin(files.plugin, options);
  const sumOf = async (file: string) => `${await sha256Of(file)}  ${path.basename(file)}\n`;
  await writeFile(files.checksums, (await Promise.all(listedFiles(files).map(sumOf))).join(""));
  const commit = (await runCommand({ command: "git", args: ["-C", root, "rev-parse", "HEAD"] })).trim();
  await writeFile(files.predicate, `${JSON.stringify(provenanceOf(version, commit, images), undefined, 2)}\n`);
  await withProgress(progress, "Signing the files", () => signRelease(files, cosign, signing));
}

/** Signs each file and a statement of provenance about it. A public key is written beside them. @throws CommandError */
export async function signRelease(files: ReleaseFiles, cosign: Cosign, signing: Signing): Promise<void> {
  if (signing !== "Keyless") await copyFile(signing.publicKey, path.join(files.outDir, "cosign.pub"));
  for (const file of signedFiles(files)) await signFile(cosign, signing, [file, files.predicate]);
}

/**
 * Returns the predicate of a SLSA provenance statement. The environment names the GitHub workflow that builds the
 * release. Without a workflow the build is a local one.
 * @see https://slsa.dev/spec/v1.0/provenance
 */
function provenanceOf(version: string, commit: string, images: readonly BuiltImage[]): object {
  const { env } = process;
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository, GITHUB_WORKFLOW_REF: workflow } = env;
  const isLocal = server === undefined || repository === undefined || workflow === undefined;
  const address = `${server}/${repository}`;
  const invocationId = `${address}/actions/runs/${env.GITHUB_RUN_ID}/attempts/${env.GITHUB_RUN_ATTEMPT}`;
  const uri = isLocal ? "git+file:///local" : `git+${address}`;
  return {
    buildDefinition: {
      buildType: "https://endpoint-operator.dev/build/npm-run-release/v1",
      externalParameters: { version },
      internalParameters: { imageDigests: images.map(({ digest }) => digest) },
      resolvedDependencies: [{ uri, digest: { gitCommit: commit } }],
    },
    runDetails: {
      builder: { id: isLocal ? "https://endpoint-operator.dev/build/local" : `${server}/${workflow}` },
      ...(isLocal ? {} : { metadata: { invocationId } }),
    },
  };
}
