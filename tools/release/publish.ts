/** Publishes a verified release, and compares a registry with it. */
import path from "node:path";
import { type ProgressSink, withProgress } from "../assets/progress.ts";
import { CommandError } from "../assets/run-command.ts";
import { sha256Of } from "../image/oci-layout.ts";
import {
  attestReference,
  type Cosign,
  hasStatement,
  type Signing,
  type Statement,
  signReference,
  type Trust,
  verifyReference,
} from "./cosign.ts";
import type { Registry } from "./registry.ts";
import { imageDigest, imageName, type ReleaseFiles } from "./release-files.ts";

/** The registry of a release, and whose signatures count there. */
export interface Place {
  /** The address, for instance `ghcr.io/owner`. */
  readonly address: string;
  readonly registry: Registry;
  readonly cosign: Cosign;
  readonly trust: Trust;
}

/** One part of a published release. */
interface Part {
  readonly what: string;
  /** Reads the part from the registry. @returns what is wrong. @throws CommandError when it is not there */
  readonly problem: () => Promise<string | undefined>;
  readonly publish: (signing: Signing) => Promise<void>;
}

/** Publishing failed, or other content has this version. The message lists what is published and what to do. */
export class PublishError extends Error {
  override readonly name = "PublishError";
}

const imageAt = ({ address }: Place) => `${address}/${imageName}`;

const chartAt = ({ address }: Place, file: string, { version }: ReleaseFiles) =>
  `${address}/charts/${path.basename(file, `-${version}.tgz`)}`;

/** Returns the parts in order. The tag comes after the signatures, so an image with a version tag is always signed. */
async function partsOf(release: ReleaseFiles, place: Place): Promise<readonly Part[]> {
  const { registry, cosign, trust } = place;
  const { version, layout, charts, sbom, predicate: provenance } = release;
  const tagged = `${imageAt(place)}:${version}`;
  const digest = await imageDigest(release);
  const pinned = `${imageAt(place)}@${digest}`;
  const statement = ({ type, predicate }: Statement): Part => ({
    what: `the signed statement ${type} about ${pinned}`,
    async problem() {
      const isThere = await hasStatement(cosign, trust, { type, predicate, reference: pinned });
      return isThere ? undefined : `no signed statement is that of ${path.basename(predicate)}`;
    },
    publish: (signing) => attestReference(cosign, signing, { type, predicate, reference: pinned }),
  });
  return [
    {
      what: `${pinned}, without a tag`,
      problem: () => registry.validate(pinned),
      publish: () => registry.pushLayout(layout, pinned),
    },
    signature(place, pinned, async () => pinned),
    statement({ type: "cyclonedx", predicate: sbom }),
    statement({ type: "slsaprovenance1", predicate: provenance }),
    {
      what: `the tag ${tagged}`,
      async problem() {
        const found = await registry.digestOf(tagged);
        return found === digest ? undefined : `${tagged} is ${found ?? "missing"}, not ${digest}`;
      },
      publish: () => registry.tag(pinned, version),
    },
    ...charts.flatMap((file) => chartParts(release, place, file)),
  ];
}

function chartParts(release: ReleaseFiles, place: Place, file: string): readonly Part[] {
  const { version } = release;
  const { registry } = place;
  const chart = chartAt(place, file, release);
  const tagged = `${chart}:${version}`;
  const pinned = async () => `${chart}@${await registry.digestOf(tagged)}`;
  return [
    {
      what: `the chart ${tagged}`,
      async problem() {
        const sum = await registry.chartSum(chart, version);
        return sum === (await sha256Of(file))
          ? undefined
          : `Helm pulls ${sum ?? "nothing"}, not ${path.basename(file)}`;
      },
      publish: () => registry.pushChart(file, path.dirname(chart)),
    },
    signature(place, `the chart ${tagged}`, pinned),
  ];
}

function signature({ cosign, trust }: Place, name: string, pinned: () => Promise<string>): Part {
  return {
    what: `the signature of ${name}`,
    problem: async () => verifyReference(cosign, trust, await pinned()),
    publish: async (signing) => signReference(cosign, signing, await pinned()),
  };
}

async function problemOf({ problem }: Part): Promise<string | undefined> {
  try {
    return await problem();
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return error.message;
  }
}

/**
 * Compares a registry with the files of a release. It checks every layer of the image, its signature, SBOM and
 * provenance, and the charts as Helm pulls them.
 * @returns a line for each problem; empty if everything is right.
 */
export async function publishedProblems(release: ReleaseFiles, place: Place): Promise<readonly string[]> {
  const lineOf = async (part: Part) => {
    const problem = await problemOf(part);
    return problem === undefined ? [] : [`${part.what}: ${problem}`];
  };
  return (await Promise.all((await partsOf(release, place)).map(lineOf))).flat();
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
  await refuseOtherContent(release, place);
  const parts = await partsOf(release, place);
  for (const [index, part] of parts.entries()) {
    try {
      if ((await problemOf(part)) === undefined) continue;
      await withProgress(progress, `Publishing ${part.what}`, () => part.publish(signing));
    } catch (error) {
      const from = path.relative(process.cwd(), release.outDir);
      const keyed = `npm run release -- --registry ${place.address} --from ${from} --signing-key FILE`;
      const again = signing.kind === "Key" ? keyed : "run the workflow again; the same commit gives the same files";
      const names = parts.map(({ what }) => what);
      throw new PublishError(stopText(names.slice(0, index), names.slice(index), { error, again }), { cause: error });
    }
  }
}

/** @throws PublishError when this version is published with other content, or a chart with it */
async function refuseOtherContent(release: ReleaseFiles, place: Place): Promise<void> {
  const { version, charts } = release;
  const image = `${imageAt(place)}:${version}`;
  const refuse = (what: string) => {
    throw new PublishError(`${what}. Publish this release under a new version.\nNothing was published.`);
  };
  const digest = await place.registry.digestOf(image);
  if (digest !== undefined && digest !== (await imageDigest(release)))
    refuse(`${image} is published already, as ${digest}`);
  for (const file of charts) {
    const chart = chartAt(place, file, release);
    const sum = await place.registry.chartSum(chart, version);
    if (sum !== undefined && sum !== (await sha256Of(file)))
      refuse(`${chart}:${version} is published already with other content`);
  }
}

/** @param rest the remaining parts. The first of them failed. */
function stopText(
  done: readonly string[],
  rest: readonly string[],
  { error, again }: { readonly error: unknown; readonly again: string },
): string {
  const list = (lines: readonly string[]) => lines.map((line) => `\n  ${line}`).join("");
  return [
    `Publishing stopped at: ${rest[0]}`,
    error instanceof Error ? error.message : String(error),
    done.length === 0 ? "Nothing was published before it." : `Published:${list(done)}`,
    `Not published, or only begun:${list(rest)}`,
    `To go on with the same files after the cause is mended: ${again}`,
    "To give the release up: delete what is published from the registry, and use a new version.",
  ].join("\n");
}
