import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { createSecretFinder } from "./secret-finder.ts";

/** Name of the environment variable with the directory in which tests leave what operators have said. */
export const outputsVariable = "TEST_OUTPUTS_DIRECTORY";

/** Folder of that directory with the keys and passwords that tests use: files of JSON strings, a line each. */
export const secretsFolder = "secrets";

/** The folders with the outputs of operators, and with outputs that repeat them. */
export const outputKinds = ["logs", "metrics", "status", "events", "traces", "alerts"] as const;

/** A folder of the outputs. */
export type OutputKind = (typeof outputKinds)[number];

/** What must stand somewhere in a folder: else nothing was collected, and the search proves nothing. */
export type OutputMarks = Readonly<Partial<Record<OutputKind, readonly string[]>>>;

/** What a search came to. Nothing in both: all is well. */
export interface SearchResult {
  /** Where a secret stands, in a form of it; never the secret itself. */
  readonly leaks: readonly string[];
  /** What should be there and is not. */
  readonly missing: readonly string[];
  /** How many files were searched. */
  readonly files: number;
}

/** Searches everything that the tests left for the keys and passwords they used. @param expected what must be in it */
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
