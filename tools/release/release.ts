import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type ProgressSink, withProgress } from "../assets/progress.ts";
import { runCommand } from "../assets/run-command.ts";
import { type BuiltImage, buildImage } from "../image/build-image.ts";
import { sha256Of } from "../image/oci-layout.ts";
import { sourceDateSeconds } from "../image/source-date.ts";
import { packCharts } from "./charts.ts";
import {
  attestFile,
  type Cosign,
  findCosign,
  makeKeyPair,
  type Signing,
  signatureProblem,
  signFile,
  type Trust,
} from "./cosign.ts";
import { builderOf, provenancePredicate } from "./provenance.ts";

/** What to release, and where to. */
export interface ReleaseOptions {
  readonly root: string;
  /** It is emptied. */
  readonly outDir: string;
  readonly signing: "Key" | "Keyless";
  /** Registry for image and charts, for instance `ghcr.io/owner`. @default nothing is published */
  readonly registry?: string | undefined;
  /** Keeps base images and npm packages for the next build. @default all of it is made anew */
  readonly cache?: string | undefined;
  readonly progress: ProgressSink;
  readonly signal?: AbortSignal | undefined;
}

/** A release as files. */
export interface Release {
  readonly image: BuiltImage;
  /** Every file that is signed. */
  readonly artifacts: readonly string[];
  readonly signing: Signing;
}

const checksumFile = "SHA256SUMS";

/**
 * Makes everything that a release consists of: image, SBOM, charts, checksums, provenance and signatures.
 *
 * @throws CommandError, ImageToolsMissing, AssetError; what was made until then stays in `outDir`.
 */
export async function makeRelease(options: ReleaseOptions): Promise<Release> {
  const { root, outDir, progress, signal, registry, cache } = options;
  const { version } = JSON.parse(await readFile(path.join(root, "package.json"), "utf8")) as { version: string };
  await rm(outDir, { recursive: true, force: true });
  const cosign = await findCosign(progress, signal);
  const pushTo = registry === undefined ? undefined : `${registry}/endpoint-operator:${version}`;
  const image = await buildImage({ root, outDir, pushTo, cache, progress, signal });
  const charts = await packCharts(root, outDir, await sourceDateSeconds(root, process.env));
  const files = [image.archive, image.sbom, ...charts];
  const artifacts = [...files, await writeChecksums(outDir, files)];
  const keys = await mkdtemp(path.join(tmpdir(), "endpoint-operator-key-"));
  try {
    const signing = await signingOf(options.signing, cosign, keys, outDir);
    const predicate = path.join(outDir, "provenance.json");
    await writeFile(predicate, `${JSON.stringify(await predicateOf(root, image), undefined, 2)}\n`);
    await withProgress(progress, `Signing ${artifacts.length} files`, async () => {
      for (const file of artifacts)
        await Promise.all([signFile(cosign, signing, file), attestFile(cosign, signing, file, predicate)]);
    });
    return { image, artifacts, signing };
  } finally {
    await rm(keys, { recursive: true, force: true });
  }
}

async function signingOf(kind: "Key" | "Keyless", cosign: Cosign, keys: string, outDir: string): Promise<Signing> {
  if (kind === "Keyless") return { kind };
  const signing = await makeKeyPair(cosign, keys, outDir);
  if (signing.kind === "Key") await writeFile(signing.publicKey, await readFile(path.join(keys, "cosign.pub")));
  return signing;
}

async function predicateOf(root: string, image: BuiltImage): Promise<object> {
  const commit = (await runCommand({ command: "git", args: ["-C", root, "rev-parse", "HEAD"] })).trim();
  const { version, digest: imageDigest } = image;
  return provenancePredicate({ ...builderOf(process.env), commit, version, imageDigest });
}

async function writeChecksums(outDir: string, files: readonly string[]): Promise<string> {
  const lines = await Promise.all(files.map(async (file) => `${await sha256Of(file)}  ${path.basename(file)}\n`));
  const target = path.join(outDir, checksumFile);
  await writeFile(target, lines.join(""));
  return target;
}

/**
 * Verifies a release: each file against its checksum, its signature and its statement of provenance, and the SBOM against the image.
 *
 * @returns a line for each problem; empty when everything is right.
 */
export async function releaseProblems(
  outDir: string,
  trust: Trust,
  progress: ProgressSink,
): Promise<readonly string[]> {
  const cosign = await findCosign(progress);
  const checksums = await readFile(path.join(outDir, checksumFile), "utf8");
  const problems: string[] = [];
  for (const line of checksums.trimEnd().split("\n")) {
    const [digest = "", name = ""] = line.split("  ");
    const found = await sha256Of(path.join(outDir, name)).catch(() => "missing");
    if (found !== digest) problems.push(`${name}: its SHA-256 is ${found}, and ${checksumFile} says ${digest}`);
  }
  const signed = await signedFiles(outDir);
  const signatures = await Promise.all(signed.map((file) => signatureProblem(cosign, trust, file)));
  return [...problems, ...signatures.filter((problem) => problem !== undefined), ...(await sbomProblems(outDir))];
}

async function signedFiles(outDir: string): Promise<readonly string[]> {
  const names = (await readFile(path.join(outDir, checksumFile), "utf8")).matchAll(/ {2}(\S+)$/gm);
  return [...[...names].map(([, name = ""]) => name), checksumFile].map((name) => path.join(outDir, name));
}

/** The SBOM must speak of the very image in the archive. */
async function sbomProblems(outDir: string): Promise<readonly string[]> {
  const sboms = (await readdir(outDir)).filter((name) => name.endsWith(".cdx.json"));
  const problems = await Promise.all(
    sboms.map(async (name) => {
      const archive = path.join(outDir, name.replace(".cdx.json", ".oci.tar"));
      const digest = await archivedDigest(archive).catch((error: Error) => error.message);
      const described = describedDigest(await readFile(path.join(outDir, name), "utf8"));
      return digest === described ? [] : [`${name}: it describes ${described}, and the archive holds ${digest}`];
    }),
  );
  return problems.flat();
}

async function archivedDigest(archive: string): Promise<string | undefined> {
  const index = await runCommand({ command: "tar", args: ["-xOf", archive, "./index.json"] });
  return (JSON.parse(index) as { manifests: readonly { digest: string }[] }).manifests[0]?.digest;
}

function describedDigest(text: string): string {
  try {
    return `sha256:${JSON.parse(text).metadata?.component?.hashes?.[0]?.content}`;
  } catch {
    return "nothing, because it is not JSON";
  }
}
