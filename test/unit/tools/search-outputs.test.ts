import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type OutputKind, outputKinds, searchOutputs, secretsFolder } from "../../../tools/test/search-outputs.ts";

const key = "api-key-0f1e2d3c4b5a69788796a5b4c3d2e1f0";
const password = "p%ss/wörd+=";
const kinds = Object.keys(outputKinds) as readonly OutputKind[];

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "outputs-"));
  await put(secretsFolder, "1.txt", `${JSON.stringify(key)}\n${JSON.stringify(password)}\n`);
  for (const kind of kinds) await put(kind, "clean.txt", outputKinds[kind].join("\n"));
});

afterEach(() => rm(directory, { recursive: true, force: true }));

async function put(folder: string, file: string, text: string): Promise<void> {
  await mkdir(path.join(directory, folder), { recursive: true });
  await writeFile(path.join(directory, folder, file), text);
}

describe("searchOutputs", () => {
  test("everything there, and no secret in it → nothing found and nothing missing", async () => {
    expect(await searchOutputs(directory)).toEqual({ leaks: [], missing: [], files: kinds.length });
  });

  test.each(kinds)("a key in %s → found, by file and not by value", async (kind) => {
    await put(kind, "leak.txt", `{"message":"refused ${key}, try again"}`);
    const { leaks } = await searchOutputs(directory);
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
    expect((await searchOutputs(directory)).leaks).toHaveLength(1);
  });

  test.each(kinds)("nothing in %s, or not what must be there → missing", async (kind) => {
    await put(kind, "clean.txt", "something else");
    expect((await searchOutputs(directory)).missing).toEqual(
      outputKinds[kind].map((mark) => `nowhere in ${kind}: ${mark}`),
    );
    await rm(path.join(directory, kind), { recursive: true });
    expect((await searchOutputs(directory)).missing).toHaveLength(outputKinds[kind].length);
  });

  test("two secrets that begin alike, several times in one file → each named once", async () => {
    const other = `${key.slice(0, 30)}${"e".repeat(10)}`;
    await put(secretsFolder, "2.txt", `${JSON.stringify(other)}\n`);
    await put("events", "leak.txt", `${other}${key} ${other} ${key}`);
    expect((await searchOutputs(directory)).leaks).toHaveLength(2);
  });

  test("a secret too short to be told from a word → an error, and no silent pass", async () => {
    await put(secretsFolder, "2.txt", `"short"\n`);
    await expect(searchOutputs(directory)).rejects.toThrow("too short");
  });

  test("no secret was noted → missing: a search for nothing finds nothing", async () => {
    await rm(path.join(directory, secretsFolder), { recursive: true });
    expect(await searchOutputs(directory)).toMatchObject({ leaks: [], missing: ["no key and no password was noted"] });
  });
});
