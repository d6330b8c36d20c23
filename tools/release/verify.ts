/** Verifies the files of a release. */
import { readdir, readFile, stat } from "node:fs/promises";
import path from "node:path";
import { runCommand } from "../assets/run-command.ts";
import { brokenBlobs, sha256Of } from "../image/oci-layout.ts";
import { UsageError } from "../process/command-line.ts";
import { type Cosign, signatureProblem, type Trust } from "./cosign.ts";
import { imageDigest, listedFiles, type ReleaseFiles, releaseFiles, signedFiles } from "./release-files.ts";

/**
 * Finds the files of a release in a folder, by its SBOM.
 * @throws UsageError when the folder does not hold exactly one release.
 */
export async function releaseIn(outDir: string): Promise<ReleaseFiles> {
  const names = await readdir(outDir).catch(() => []);
  const versions = names.flatMap((name) => /^endpoint-operator-(.+(?<!-arm64))\.cdx\.json$/.exec(name)?.[1] ?? []);
  const [version, ...others] = versions;
  if (version === undefined || others.length > 0) throw new UsageError(`${outDir} does not hold exactly one release.`);
  return releaseFiles(outDir, version);
}

/**
 * Verifies each file by its checksum, its signature and its statement of provenance. The SBOM is compared with the
 * image in the archive. The image's layout, if it exists, is compared with its own digests and the SBOM.
 * @returns a line for each problem; empty if everything is right.
 */
export async function releaseProblems(release: ReleaseFiles, cosign: Cosign, trust: Trust): Promise<readonly string[]> {
  const signatures = await Promise.all(signedFiles(release).map((file) => signatureProblem(cosign, trust, file)));
  return [
    ...(await checksumProblems(release)),
    ...signatures.filter((problem) => problem !== undefined),
    ...(await sbomProblems(release)),
    ...(await layoutProblems(release)),
  ];
}

async function checksumProblems(release: ReleaseFiles): Promise<readonly string[]> {
  const lines = (await readFile(release.checksums, "utf8").catch(() => "")).trimEnd().split("\n");
  const stated = new Map(lines.map((line) => line.split("  ").reverse() as [string, string]));
  const problems = await Promise.all(
    listedFiles(release).map(async (file) => {
      const name = path.basename(file);
      const found = await sha256Of(file).catch(() => "missing");
      const wanted = stated.get(name) ?? "nothing about it";
      return found === wanted ? [] : [`${name}: its SHA-256 is ${found}, and SHA256SUMS says ${wanted}`];
    }),
  );
  return problems.flat();
}

/** The SBOM must describe the image in the archive. */
async function sbomProblems({ archive, sbom }: ReleaseFiles): Promise<readonly string[]> {
  const digest = await archivedDigest(archive).catch((error: Error) => error.message);
  const described = await describedDigest(sbom);
  return digest === described
    ? []
    : [`${path.basename(sbom)}: it describes ${described}, and the archive holds ${digest}`];
}

/** The layout is pushed to the registry. A downloaded release has none. */
async function layoutProblems(release: ReleaseFiles): Promise<readonly string[]> {
  const { layout, sbom } = release;
  const isThere = await stat(layout).then(Boolean, () => false);
  if (!isThere) return [];
  const name = path.basename(layout);
  try {
    const [digest, described] = [await imageDigest(release), await describedDigest(sbom)];
    const differs = digest === described ? [] : [`${name}: it holds ${digest}, and the SBOM describes ${described}`];
    return [...differs, ...(await brokenBlobs(layout)).map((line) => `${name}: ${line}`)];
  } catch (error) {
    return [`${name}: it cannot be read: ${error instanceof Error ? error.message : String(error)}`];
  }
}

async function archivedDigest(archive: string): Promise<string | undefined> {
  const index = await runCommand({ command: "tar", args: ["-xOf", archive, "./index.json"] });
  return (JSON.parse(index) as { manifests: readonly { digest: string }[] }).manifests[0]?.digest;
}

async function describedDigest(sbom: string): Promise<string> {
  try {
    return `sha256:${JSON.parse(await readFile(sbom, "utf8")).metadata?.component?.hashes?.[0]?.content}`;
  } catch {
    return "nothing, because it is no JSON file";
  }
}
