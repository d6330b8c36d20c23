/** Publishes a verified release, and compares a registry with it. */
import path from "node:path";
import { type ProgressSink, withProgress } from "../assets/progress.ts";
import { CommandError } from "../assets/run-command.ts";
import { archivedDigest, sha256Of } from "../image/oci-layout.ts";
import { type Cosign, hasStatement, type Signing, type Statement, sign, type Trust } from "./cosign.ts";
import type { Registry } from "./registry.ts";
import { imageName, type ReleaseFiles } from "./release-files.ts";

export interface Place {
  readonly registry: Registry;
  readonly cosign: Cosign;
  readonly trust: Trust;
}

interface Part {
  readonly what: string;
  /** Reads the part from the registry. @returns what is wrong */
  readonly problem: () => Promise<string | undefined>;
  /** Whether the name keeps its first content for ever. @default false */
  readonly isFinal?: boolean;
  readonly publish: (signing: Signing) => Promise<unknown>;
}

/** Publishing failed, or other content has this version. The message lists what is published and what to do. */
export class PublishError extends Error {
  override readonly name = "PublishError";
}

/** Returns the parts in order. The tag comes after the signatures of the images that it names. */
async function partsOf(release: ReleaseFiles, place: Place): Promise<readonly Part[]> {
  const { registry } = place;
  const { version, archive, sbom, arm64, charts, predicate } = release;
  const image = `${registry.address}/${imageName}`;
  const tagged = `${image}:${version}`;
  const digests = await Promise.all([archive, arm64[0]].map(archivedDigest));
  const references = digests.map((digest) => `${image}@${digest}`);
  const files = [[archive, sbom] as const, arm64];
  return [
    ...references.flatMap((reference, index) => imageParts(place, reference, [...(files[index] ?? []), predicate])),
    {
      what: `the tag ${tagged}, for both platforms`,
      isFinal: true,
      problem: async () => difference(await registry.platformsOf(tagged), digests.join()),
      publish: () => registry.tagPlatforms(references, tagged),
    },
    signature(place, `the tag ${tagged}`, async () => `${image}@${await registry.digestOf(tagged)}`),
    ...charts.flatMap((file) => chartParts(version, place, file)),
  ];
}

/** The image of one platform, without a tag. */
function imageParts(place: Place, reference: string, files: readonly string[]): readonly Part[] {
  const [archive = "", sbom = "", provenance = ""] = files;
  const { registry, cosign, trust } = place;
  const statement = (type: Statement["type"], predicate: string): Part => ({
    what: `the signed statement ${type} about ${reference}`,
    async problem() {
      const isThere = await hasStatement(cosign, trust, { type, predicate, reference });
      return isThere ? undefined : `no signed statement is that of ${path.basename(predicate)}`;
    },
    publish: (signing) => sign(cosign, signing, ["attest", `--type=${type}`, `--predicate=${predicate}`, reference]),
  });
  return [
    {
      what: `${reference}, without a tag`,
      problem: () => failureOf(registry.validate(reference)),
      publish: () => registry.pushImage(archive, reference),
    },
    signature(place, reference, async () => reference),
    statement("cyclonedx", sbom),
    statement("slsaprovenance1", provenance),
  ];
}

function chartParts(version: string, place: Place, file: string): readonly Part[] {
  const { registry } = place;
  const chart = `${registry.address}/charts/${path.basename(file, `-${version}.tgz`)}`;
  const tagged = `${chart}:${version}`;
  return [
    {
      what: `the chart ${tagged}`,
      isFinal: true,
      problem: async () => difference(await registry.chartSum(chart, version), await sha256Of(file)),
      publish: () => registry.pushChart(file, path.dirname(chart)),
    },
    signature(place, `the chart ${tagged}`, async () => `${chart}@${await registry.digestOf(tagged)}`),
  ];
}

const missing = "it is not there";

function difference(found: string | undefined, wanted: string): string | undefined {
  return found === wanted ? undefined : found === undefined ? missing : `it is ${found}, not ${wanted}`;
}

function signature({ cosign, trust }: Place, name: string, pinned: () => Promise<string>): Part {
  return {
    what: `the signature of ${name}`,
    problem: async () => failureOf(cosign(["verify", ...trust, await pinned()])),
    publish: async (signing) => sign(cosign, signing, ["sign", await pinned()]),
  };
}

function failureOf(command: Promise<unknown>): Promise<string | undefined> {
  return command.then(
    () => undefined,
    (error: unknown) => {
      if (!(error instanceof CommandError)) throw error;
      return error.message;
    },
  );
}

/**
 * Compares a registry with the files of a release. It checks every layer of the image, its signature, SBOM and
 * provenance, and the charts as Helm pulls them.
 * @returns a line for each problem; empty if everything is right.
 */
export async function publishedProblems(release: ReleaseFiles, place: Place): Promise<readonly string[]> {
  const lines = (await partsOf(release, place)).map(async ({ what, problem }) => {
    const found = await problem();
    return found === undefined ? [] : [`${what}: ${found}`];
  });
  return (await Promise.all(lines)).flat();
}

/**
 * Publishes a verified release: each part that the registry does not have. After a failure, the same call goes on.
 * @throws PublishError
 */
export async function publishRelease(
  release: ReleaseFiles,
  place: Place,
  { signing, progress }: { readonly signing: Signing; readonly progress: ProgressSink },
): Promise<void> {
  const parts = await partsOf(release, place);
  for (const { what, problem } of parts.filter(({ isFinal }) => isFinal)) {
    const found = (await problem()) ?? missing;
    const remedy = "Publish this release under a new version.\nNothing was published.";
    if (found !== missing) throw new PublishError(`${what} is published already: ${found}. ${remedy}`);
  }
  const from = path.relative(process.cwd(), release.outDir);
  const keyed = `npm run release -- --registry ${place.registry.address} --from ${from} --signing-key FILE`;
  const again = signing === "Keyless" ? "run the workflow again; the same commit gives the same files" : keyed;
  const names = parts.map(({ what }) => `\n  ${what}`);
  for (const [index, { what, problem, publish }] of parts.entries()) {
    try {
      if ((await problem()) === undefined) continue;
      await withProgress(progress, `Publishing ${what}`, () => publish(signing));
    } catch (error) {
      const text = [
        `Publishing stopped at: ${what}`,
        (error as Error).message,
        index === 0 ? "Nothing was published before it." : `Published:${names.slice(0, index).join("")}`,
        `Not published, or only begun:${names.slice(index).join("")}`,
        `To go on with the same files after the cause is mended: ${again}`,
        "To give the release up: delete what is published from the registry, and use a new version.",
      ];
      throw new PublishError(text.join("\n"), { cause: error });
    }
  }
}
