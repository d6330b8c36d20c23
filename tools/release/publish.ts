/** Publishes a verified release. */
import path from "node:path";
import { type ProgressSink, withProgress } from "../assets/progress.ts";
import { undefinedIfFailed } from "../assets/run-command.ts";
import { sha256Of } from "../image/oci-layout.ts";
import { attestReference, hasStatement, type Signing, signReference, type Trust, verifyReference } from "./cosign.ts";
import { chartAt, imageAt, type Place, statementsAbout } from "./place.ts";
import { imageDigest, type ReleaseFiles } from "./release-files.ts";

/** How a release is signed, and how its signatures are recognized. */
export interface Signer {
  readonly signing: Signing;
  readonly trust: Trust;
}

/** One step of publishing. */
export interface PublishStep {
  /** What the registry has after the step. */
  readonly what: string;
  run(): Promise<void>;
}

/**
 * Publishing failed, or the registry does not hold what was pushed. The message lists what is published and what to do.
 */
export class PublishError extends Error {
  override readonly name = "PublishError";
}

/**
 * Publishes a verified release. It can be run again with the same files: after a failure it goes on.
 * @throws PublishError; before the first step it says that nothing was published.
 */
export async function publishRelease(
  release: ReleaseFiles,
  place: Place,
  signer: Signer,
  progress: ProgressSink,
): Promise<void> {
  const refusal = await overwriteRefusal(release, place);
  if (refusal !== undefined) throw new PublishError(`${refusal}\nNothing was published.`);
  const from = path.relative(process.cwd(), release.outDir);
  const { kind } = signer.signing;
  const again =
    kind === "Key"
      ? `npm run release -- --registry ${place.address} --from ${from} --signing-key FILE`
      : "run the workflow again. The same commit gives the same files while Debian publishes the same packages";
  await runSteps(await stepsOf(release, place, signer), again, progress);
}

/** Returns why publishing is refused: this version is published with other content. `undefined`: it may be published. */
async function overwriteRefusal(release: ReleaseFiles, place: Place): Promise<string | undefined> {
  const { registry } = place;
  const { version, charts } = release;
  const image = `${imageAt(place)}:${version}`;
  const digest = await registry.digestOf(image);
  if (digest !== undefined && digest !== (await imageDigest(release)))
    return `${image} is published already, as ${digest}. Publish this release under a new version.`;
  for (const file of charts) {
    const chart = chartAt(place, file, release);
    const sum = await registry.chartSum(chart, version);
    if (sum !== undefined && sum !== (await sha256Of(file)))
      return `${chart}:${version} is published already with other content. Publish this release under a new version.`;
  }
  return undefined;
}

/** Returns the steps. The tag comes after the signatures, so that an image with a version tag is always signed. */
async function stepsOf(release: ReleaseFiles, place: Place, signer: Signer): Promise<readonly PublishStep[]> {
  const { registry, cosign } = place;
  const { signing, trust } = signer;
  const { version, layout, charts } = release;
  const image = imageAt(place);
  const pinned = `${image}@${await imageDigest(release)}`;
  return [
    { what: `${pinned}, without a tag`, run: () => registry.pushLayout(layout, pinned) },
    { what: `signature of ${pinned}`, run: () => signOnce(place, signer, pinned) },
    ...statementsAbout(release).map(({ type, predicate }) => ({
      what: `signed statement ${type} about ${pinned}`,
      run: async () => {
        const isThere = await hasStatement(cosign, trust, pinned, { type, predicate });
        if (!isThere) await attestReference(cosign, signing, pinned, { type, predicate });
      },
    })),
    { what: `the tag ${image}:${version}`, run: () => registry.tag(pinned, version) },
    ...charts.flatMap((file) => {
      const reference = chartAt(place, file, release);
      return [
        { what: `the chart ${reference}:${version}`, run: () => registry.pushChart(file, path.dirname(reference)) },
        {
          what: `signature of the chart ${reference}:${version}`,
          run: async () => {
            const digest = await registry.digestOf(`${reference}:${version}`);
            if (digest === undefined) throw new PublishError(`the registry does not name ${reference}:${version}`);
            await signOnce(place, signer, `${reference}@${digest}`);
          },
        },
      ];
    }),
  ];
}

/** Signs an image unless it is signed already, so a second attempt adds no second signature. */
async function signOnce({ cosign }: Place, { signing, trust }: Signer, reference: string): Promise<void> {
  const isSigned = await verifyReference(cosign, trust, reference).then(() => true, undefinedIfFailed);
  if (isSigned !== true) await signReference(cosign, signing, reference);
}

/**
 * Runs the steps in order. @param again the command that goes on after a failure. @throws PublishError that says which
 * steps are done
 */
export async function runSteps(steps: readonly PublishStep[], again: string, progress: ProgressSink): Promise<void> {
  for (const [index, { what, run }] of steps.entries()) {
    try {
      await withProgress(progress, `Publishing ${what}`, run);
    } catch (error) {
      const names = steps.map((step) => step.what);
      const words = error instanceof Error ? error.message : String(error);
      throw new PublishError(partText({ done: names.slice(0, index), rest: names.slice(index), words, again }), {
        cause: error,
      });
    }
  }
}

interface Part {
  readonly done: readonly string[];
  /** The remaining steps. The first of them failed. */
  readonly rest: readonly string[];
  readonly words: string;
  readonly again: string;
}

function partText({ done, rest, words, again }: Part): string {
  const list = (lines: readonly string[]) => lines.map((line) => `\n  ${line}`).join("");
  return [
    `Publishing stopped at: ${rest[0]}`,
    words,
    done.length === 0 ? "Nothing was published before it." : `Published:${list(done)}`,
    `Not published, or only begun:${list(rest)}`,
    `To go on with the same files after the cause is mended: ${again}`,
    "To give the release up: delete what is published from the registry, and use a new version.",
  ].join("\n");
}
