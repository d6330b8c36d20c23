/** Verifies the files of a release. */
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { archivedDigest, sha256Of } from "../image/oci-layout.ts";
import { UsageError } from "../process/command-line.ts";
import { type Cosign, signatureProblem, type Trust } from "./cosign.ts";
import { listedFiles, type ReleaseFiles, releaseFiles, signedFiles } from "./release-files.ts";

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
 * image in the archive.
 * @returns a line for each problem; empty if everything is right.
 */
export async function releaseProblems(release: ReleaseFiles, cosign: Cosign, trust: Trust): Promise<readonly string[]> {
  const signatures = signedFiles(release).map((file) => signatureProblem(cosign, trust, file));
  const problems = [
    ...(await checksumProblems(release)),
    ...(await Promise.all(signatures)),
    await sbomProblem(release),
  ];
  return problems.filter((problem) => problem !== undefined);
}

async function checksumProblems(release: ReleaseFiles): Promise<readonly (string | undefined)[]> {
  const lines = (await readFile(release.checksums, "utf8").catch(() => "")).trimEnd().split("\n");
  const stated = new Map(lines.map((line) => line.split("  ").reverse() as [string, string]));
  return await Promise.all(
    listedFiles(release).map(async (file) => {
      const name = path.basename(file);
      const found = await sha256Of(file).catch(() => "missing");
      const wanted = stated.get(name) ?? "nothing about it";
      return found === wanted ? undefined : `${name}: its SHA-256 is ${found}, and SHA256SUMS says ${wanted}`;
    }),
  );
}

/** The SBOM must describe the image in the archive. */
async function sbomProblem({ archive, sbom }: ReleaseFiles): Promise<string | undefined> {
  const held = await archivedDigest(archive).catch((error: Error) => error.message);
  const described = await readFile(sbom, "utf8")
    .then((text) => `sha256:${JSON.parse(text).metadata?.component?.hashes?.[0]?.content}`)
    .catch(() => "nothing that can be read");
  const name = path.basename(sbom);
  return held === described ? undefined : `${name}: it describes ${described}, and the archive holds ${held}`;
}
