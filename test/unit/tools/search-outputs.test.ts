/** Tests the search for secrets. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { outputKinds, searchOutputs, secretsFolder } from "../../../tools/test/search-outputs.ts";

const key = "api-key-0f1e2d3c4b5a69788796a5b4c3d2e1f0";
const password = "p%ss/wörd+=";
const marksOf = (kind: string) => [`a mark of ${kind}`, `another one of ${kind}`];
/** What two tiers leave. */
const expected = [0, 1].map((tier) =>
  Object.fromEntries(outputKinds.map((kind) => [kind, [marksOf(kind)[tier] ?? ""]])),
);

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "outputs-"));
  await put(secretsFolder, "1.txt", `${JSON.stringify(key)}\n${JSON.stringify(password)}\n`);
  for (const kind of outputKinds) await put(kind, "clean.txt", marksOf(kind).join("\n"));
});

afterEach(() => rm(directory, { recursive: true, force: true }));

async function put(folder: string, file: string, text: string): Promise<void> {
  await mkdir(path.join(directory, folder), { recursive: true });
  await writeFile(path.join(directory, folder, file), text);
}

describe("searchOutputs", () => {
  test("everything there, and no secret in it → nothing found and nothing missing", async () => {
    expect(await searchOutputs(directory, expected)).toEqual({ leaks: [], missing: [], files: outputKinds.length });
  });

  test.each(outputKinds)("a key in %s → found, by file and not by value", async (kind) => {
    await put(kind, "leak.txt", `{"message":"refused ${key}, try again"}`);
    const { leaks } = await searchOutputs(directory, expected);
    expect(leaks).toEqual([expect.stringContaining(path.join(kind, "leak.txt"))]);
    expect(leaks.join()).not.toContain(key);
  });

  test.each([
    ["as it is", password],
    ["escaped for a URL", `postgres://app:${encodeURIComponent(password)}@host/db`],
    ["the beginning, cut", `refused ${key.slice(0, 30)}`],
    ["the end, cut", `…${key.slice(-25)} refused`],
    ["Base64 from the first byte", Buffer.from(key).toString("base64")],
    ["Base64 after one byte", Buffer.from(`:${key}`).toString("base64")],
    ["Base64 after two bytes", Buffer.from(`a:${password}:b`).toString("base64")],
    ["Base64 for URLs", Buffer.from(`>?${password}?>`).toString("base64url")],
  ])("%s → found", async (_, text) => {
    await put("status", "leak.txt", `before ${text} after`);
    expect((await searchOutputs(directory, expected)).leaks).toHaveLength(1);
  });

  test.each(outputKinds)("nothing in %s, or not what must be there → missing", async (kind) => {
    await put(kind, "clean.txt", "something else");
    expect((await searchOutputs(directory, expected)).missing).toEqual(
      marksOf(kind).map((mark) => `nowhere in ${kind}: ${mark}`),
    );
    await rm(path.join(directory, kind), { recursive: true });
    expect((await searchOutputs(directory, expected)).missing).toHaveLength(2);
  });

  test("two secrets that begin alike, several times in one file → each named once", async () => {
    const other = `${key.slice(0, 30)}${"e".repeat(10)}`;
    await put(secretsFolder, "2.txt", `${JSON.stringify(other)}\n`);
    await put("events", "leak.txt", `${other}${key} ${other} ${key}`);
    expect((await searchOutputs(directory, expected)).leaks).toHaveLength(2);
  });

  test("a secret that is as short as a word → an error, never a pass", async () => {
    await put(secretsFolder, "2.txt", `"short"\n`);
    await expect(searchOutputs(directory, expected)).rejects.toThrow("too short");
  });

  test("no secret was noted → missing: a search for nothing finds nothing", async () => {
    await rm(path.join(directory, secretsFolder), { recursive: true });
    expect(await searchOutputs(directory, expected)).toMatchObject({
      leaks: [],
      missing: ["no key and no password was noted"],
    });
  });
});
