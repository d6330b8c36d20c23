import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { searchOutputs } from "./search-outputs.ts";
import { noTests, type TierVerdict } from "./test-counts.ts";

/** A directory in which the tiers leave what operators have said. */
export interface Outputs {
  readonly directory: string;
  /**
   * The one test over all tiers: no key and no password stands in what was left. Nothing left counts as no test, unless a
   * tier ran that always leaves something. The directory goes, unless the test failed.
   */
  judge(isExpected: boolean): Promise<TierVerdict>;
}

/** An empty one. */
export async function collectOutputs(): Promise<Outputs> {
  const directory = await mkdtemp(path.join(tmpdir(), "endpoint-operator-outputs-"));
  return {
    directory,
    async judge(isExpected) {
      const verdict = await judgeDirectory(directory, isExpected);
      if (verdict.counts.failed === 0) await rm(directory, { recursive: true, force: true });
      return verdict;
    },
  };
}

async function judgeDirectory(directory: string, isExpected: boolean): Promise<TierVerdict> {
  const { leaks, missing, files } = await searchOutputs(directory);
  const problems = [...leaks, ...(isExpected ? missing : [])];
  if (problems.length > 0) return { counts: { ...noTests, failed: 1 }, problems };
  return { counts: files === 0 ? noTests : { ...noTests, passed: 1 }, problems };
}
