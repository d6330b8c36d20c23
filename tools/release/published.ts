/** Compares a registry with a release. */
import path from "node:path";
import { CommandError } from "../assets/run-command.ts";
import { sha256Of } from "../image/oci-layout.ts";
import { hasStatement, type Trust, verifyReference } from "./cosign.ts";
import { chartAt, imageAt, type Place, statementsAbout } from "./place.ts";
import { imageDigest, type ReleaseFiles } from "./release-files.ts";

/** The registry and the release differ. */
class Difference extends Error {
  override readonly name = "Difference";
}

interface Check {
  readonly what: string;
  run(): Promise<void>;
}

/**
 * Compares a registry with the files of a release. It checks every layer of the image, its signature, SBOM and
 * provenance, and the charts as Helm pulls them.
 * @returns a line for each problem; empty if everything is right.
 */
export async function publishedProblems(release: ReleaseFiles, place: Place, trust: Trust): Promise<readonly string[]> {
  const { registry, cosign } = place;
  const { version, charts } = release;
  const image = imageAt(place);
  const wanted = await imageDigest(release);
  const pinned = `${image}@${wanted}`;
  const found = await registry.digestOf(`${image}:${version}`);
  const checks: readonly Check[] = [
    { what: pinned, run: () => registry.validate(pinned) },
    { what: `signature of ${pinned}`, run: () => verifyReference(cosign, trust, pinned) },
    ...statementsAbout(release).map(({ type, predicate }) => ({
      what: `statement ${type} about ${pinned}`,
      run: async () => {
        if (!(await hasStatement(cosign, trust, pinned, { type, predicate })))
          throw new Difference(`no signed statement is that of ${path.basename(predicate)}`);
      },
    })),
    ...charts.map((file) => {
      const reference = chartAt(place, file, release);
      return { what: `${reference}:${version}`, run: () => verifyChart(reference, file) };
    }),
  ];
  async function verifyChart(reference: string, file: string): Promise<void> {
    const sum = await registry.chartSum(reference, version);
    if (sum !== (await sha256Of(file)))
      throw new Difference(`Helm pulls ${sum ?? "nothing"}, not ${path.basename(file)}`);
    await verifyReference(cosign, trust, `${reference}@${await registry.digestOf(`${reference}:${version}`)}`);
  }
  const tagProblem = found === wanted ? [] : [`${image}:${version} is ${found ?? "missing"}, not ${wanted}`];
  const problems = await Promise.all(checks.map(problemOf));
  return [...tagProblem, ...problems.flat()];
}

async function problemOf({ what, run }: Check): Promise<readonly string[]> {
  try {
    await run();
    return [];
  } catch (error) {
    if (!(error instanceof CommandError || error instanceof Difference)) throw error;
    return [`${what}: ${error.message}`];
  }
}
