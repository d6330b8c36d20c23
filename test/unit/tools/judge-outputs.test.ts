/** Tests the check of the outputs of tests. */
import { mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { judgeOutputs } from "../../../tools/test/judge-outputs.ts";
import { outputKinds, secretsFolder } from "../../../tools/test/search-outputs.ts";

const key = "api-key-0f1e2d3c4b5a69788796a5b4c3d2e1f0";

const marksOfAll = Object.fromEntries(outputKinds.map((kind) => [kind, [`a mark of ${kind}`]]));
let outputs: string;

beforeEach(async () => {
  outputs = await mkdtemp(path.join(tmpdir(), "judge-outputs-"));
});

afterEach(() => rm(outputs, { recursive: true, force: true }));

async function put(folder: string, text: string): Promise<void> {
  await mkdir(path.join(outputs, folder), { recursive: true });
  await writeFile(path.join(outputs, folder, "1.txt"), text);
}

async function putAll(): Promise<void> {
  await put(secretsFolder, `${JSON.stringify(key)}\n`);
  for (const [kind, marks] of Object.entries(marksOfAll)) await put(kind, marks.join("\n"));
}

const isThere = () =>
  stat(outputs).then(
    () => true,
    () => false,
  );

test("all there and clean → one test passed, and nothing left behind", async () => {
  await putAll();
  expect(await judgeOutputs(outputs, [marksOfAll])).toEqual({
    counts: { passed: 1, failed: 0, skipped: 0 },
    problems: [],
  });
  expect(await isThere()).toBe(false);
});

test("a key in it → one test failed, and the directory stays to be looked at", async () => {
  await putAll();
  await put("logs", key);
  const { counts, problems } = await judgeOutputs(outputs, []);
  expect(counts).toEqual({ passed: 0, failed: 1, skipped: 0 });
  expect(problems[0]).toContain(outputs);
  expect(await isThere()).toBe(true);
});

test("a part is missing → failed where everything was to be there, else not", async () => {
  await putAll();
  await rm(path.join(outputs, "traces"), { recursive: true });
  expect((await judgeOutputs(outputs, [marksOfAll])).counts.failed).toBe(1);
  expect((await judgeOutputs(outputs, [])).counts.passed).toBe(1);
});

test("no output was left → no test, unless it was to be there", async () => {
  expect((await judgeOutputs(outputs, [marksOfAll])).counts.failed).toBe(1);
  expect(await judgeOutputs(outputs, [])).toEqual({ counts: { passed: 0, failed: 0, skipped: 0 }, problems: [] });
});
