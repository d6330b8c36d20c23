/** Searches the outputs of operators for secrets. */
import { readdir, readFile, rm } from "node:fs/promises";
import path from "node:path";
import { createSecretFinder } from "./secret-finder.ts";
import { noTests, type TierVerdict } from "./test-counts.ts";

/** The environment variable with the directory into which tests write the outputs of operators. */
export const outputsVariable = "TEST_OUTPUTS_DIRECTORY";

/** The folder in it with the keys and passwords of the tests: files of JSON strings, one a line. */
export const secretsFolder = "secrets";

/** The folders with outputs of operators, and with outputs that repeat them. */
export const outputKinds = ["logs", "metrics", "status", "events", "traces", "alerts"] as const;

/** A folder with outputs. */
export type OutputKind = (typeof outputKinds)[number];

/** Texts that a folder must contain. Otherwise nothing was collected, and the search proves nothing. */
export type OutputMarks = Readonly<Partial<Record<OutputKind, readonly string[]>>>;

/** The result of a search. If both lists are empty, all is well. */
export interface SearchResult {
  /** The places of secrets, with the form of each; never the secret itself. */
  readonly leaks: readonly string[];
  /** The expected texts that were not found. */
  readonly missing: readonly string[];
  /** The number of searched files. */
  readonly files: number;
}

/** Searches all outputs for the keys and passwords of the tests. @param expected texts that the outputs must contain */
export async function searchOutputs(directory: string, expected: readonly OutputMarks[]): Promise<SearchResult> {
  const secrets = await readSecrets(directory);
  const findSecrets = createSecretFinder(secrets);
  const leaks: string[] = [];
  let files = 0;
  const missing: string[] = secrets.size === 0 ? ["no key and no password was noted"] : [];
  for (const kind of outputKinds) {
    const unseen = new Set(expected.flatMap((marks) => marks[kind] ?? []));
    for (const file of await filesIn(path.join(directory, kind))) {
      const text = await readFile(file, "utf8");
      files += 1;
      for (const mark of [...unseen]) if (text.includes(mark)) unseen.delete(mark);
      leaks.push(
        ...[...findSecrets(text)].map((secret) => `a secret that begins with ${secret.slice(0, 4)} is in ${file}`),
      );
    }
    missing.push(...[...unseen].map((mark) => `nowhere in ${kind}: ${mark}`));
  }
  return { leaks, missing, files };
}

/**
 * Judges all outputs as one test: none contains a key or a password. The directory is removed unless the test failed.
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

async function readSecrets(directory: string): Promise<ReadonlySet<string>> {
  const texts = await Promise.all(
    (await filesIn(path.join(directory, secretsFolder))).map((file) => readFile(file, "utf8")),
  );
  const lines = texts.flatMap((text) => text.split("\n")).filter((line) => line !== "");
  return new Set(lines.map((line) => JSON.parse(line) as string));
}

async function filesIn(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).map((name) => path.join(folder, name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
