/** Checks that no output of the tests contains a secret. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type OutputMarks, searchOutputs } from "./search-outputs.ts";
import { noTests, type TierVerdict } from "./test-counts.ts";

/** A directory into which the tiers write the outputs of operators. */
export interface Outputs {
  readonly directory: string;
  /**
   * Judges all outputs as one test: none contains a key or a password. The directory is removed unless the test failed.
   * @param expected what each tier that ran must have written; if it is empty and nothing was written, this counts as
   *   no test.
   */
  judge(expected: readonly OutputMarks[]): Promise<TierVerdict>;
}

/** Makes an empty directory. */
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
