import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";

const root = new URL("../../../", import.meta.url);

/** The rows of the table of docs/sandbox.md: what the seed says, and the cell that names tests. */
async function rows(): Promise<readonly (readonly [string, string])[]> {
  const text = await readFile(new URL("docs/sandbox.md", root), "utf8");
  const [, table = ""] = text.split("| row of the seed | test |\n|---|---|\n");
  return (table.split("\n\n")[0] ?? "").split("\n").map((line) => {
    const [, row = "", tests = ""] = line.split("|").map((cell) => cell.trim());
    return [row, tests] as const;
  });
}

/** Which of the tests that a cell names are not there. */
async function missing(tests: string): Promise<readonly string[]> {
  const names = [...tests.matchAll(/`([\w/-]+)`((?:,? ?"[^"]+")*)/g)];
  if (names.length === 0) return ["names no test"];
  const found = await Promise.all(names.map(([, file = "", words = ""]) => missingIn(file, words)));
  return found.flat();
}

async function missingIn(file: string, words: string): Promise<readonly string[]> {
  const folder = file.startsWith("test/") ? "" : file.startsWith("unit/") ? "test/" : "test/contract/sandbox/";
  const path = `${folder}${file}.test.ts`;
  const source = await readFile(new URL(path, root), "utf8").catch(() => undefined);
  if (source === undefined) return [`${path} is not there`];
  const titles = [...source.matchAll(/(?:test|describe)(?:\.each[^"]*?\]\))?\(\s*"([^"]+)"/g)].map(
    ([, title]) => title,
  );
  const named = [...words.matchAll(/"([^"]+)"/g)].map(([, word = ""]) => word);
  const isThere = (word: string) => titles.some((title) => title?.includes(word)) || source.includes(`"${word}`);
  return named.filter((word) => !isThere(word)).map((word) => `${path} has no test "${word}"`);
}

test("the table of the seed's rows → every test it names is there, by file and by words of its name", async () => {
  const all = await rows();
  const wrong = await Promise.all(
    all.map(async ([row, tests]) => (await missing(tests)).map((why) => `${row}: ${why}`)),
  );
  expect(wrong.flat()).toEqual([]);
  expect(all.length).toBeGreaterThan(35);
});
