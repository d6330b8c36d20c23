import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type OutputMarks, searchOutputs } from "./search-outputs.ts";
import { noTests, type TierVerdict } from "./test-counts.ts";

/** A directory in which the tiers leave what operators have said. */
export interface Outputs {
  readonly directory: string;
  /**
   * The one test over all tiers: no output of them contains a key or a password. The directory goes, unless the test
   * failed.
   *
   * @param expected what each tier that ran must have left; with none of them, nothing left counts as no test.
   */
  judge(expected: readonly OutputMarks[]): Promise<TierVerdict>;
}

/** An empty one. */
export async function collectOutputs(): Promise<Outputs> {
  const directory = await mkdtemp(path.join(tmpdir(), "endpoint-operator-outputs-"));
  return {
    directory,
    async judge(expected) {
      const verdict = await judgeDirectory(directory, expected);
      if (verdict.counts.failed === 0) await rm(directory, { recursive: true, force: true });
      return verdict;
    },
  };
}

async function judgeDirectory(directory: string, expected: readonly OutputMarks[]): Promise<TierVerdict> {
  const { leaks, missing, files } = await searchOutputs(directory, expected);
  const problems = [...leaks, ...(expected.length > 0 ? missing : [])];
  if (problems.length > 0) return { counts: { ...noTests, failed: 1 }, problems };
  return { counts: files === 0 ? noTests : { ...noTests, passed: 1 }, problems };
}
