/** Checks that no output of the tests contains a secret. */
import { rm } from "node:fs/promises";
import { type OutputMarks, searchOutputs } from "./search-outputs.ts";
import { noTests, type TierVerdict } from "./test-counts.ts";

/**
 * Judges all outputs of operators as one test: none contains a key or a password. The directory is removed unless the
 * test failed.
 * @param directory the tiers have written the outputs into it
 * @param expected what each tier that ran must have written; if it is empty and nothing was written, this counts as
 *   no test.
 */
export async function judgeOutputs(directory: string, expected: readonly OutputMarks[]): Promise<TierVerdict> {
  const { leaks, missing, files } = await searchOutputs(directory, expected);
  const problems = [...leaks, ...(expected.length > 0 ? missing : [])];
  if (problems.length > 0) return { counts: { ...noTests, failed: 1 }, problems };
  await rm(directory, { recursive: true, force: true });
  return { counts: files === 0 ? noTests : { ...noTests, passed: 1 }, problems };
}
