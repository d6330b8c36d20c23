/** Tests the bundle of a program. */
import { execFile } from "node:child_process";
import { access, cp, mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { buildBundle } from "../../../tools/build.ts";

const run = promisify(execFile);
let folder: string;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "bundle-")));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

/** A program of two parts. One of them needs a CommonJS package. */
const program: Readonly<Record<string, string>> = {
  "main.ts": `
    declare const ENDPOINT_OPERATOR_VERSION: string;
    if (process.argv[2] === "part") {
      const { part } = await import("./part.ts");
      console.log(part());
    } else {
      console.log(ENDPOINT_OPERATOR_VERSION as string);
    }`,
  "part.ts": `
    import place from "old-style";
    export const part = (): string => place();`,
  "node_modules/old-style/package.json": '{"name": "old-style", "version": "1.0.1", "license": "MIT"}',
  "node_modules/old-style/LICENSE": "Do as you like.",
  "node_modules/old-style/index.js": `
    const name = "node:" + "path";
    module.exports = () => "basename of the folder: " + require(name).basename(__dirname);`,
  "node_modules/never-used/package.json": '{"name": "never-used", "version": "1.0.0", "license": "MIT"}',
};

async function buildProgram(files = program, out = "out") {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return buildBundle({ entry: join(folder, "main.ts"), outDir: join(folder, out), version: "7.8.9" });
}

async function contents(path: string): Promise<Readonly<Record<string, string>>> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(
    await Promise.all(files.map(async (file) => [file.slice(path.length), await readFile(file, "utf8")] as const)),
  );
}

describe("buildBundle", () => {
  test("the bundle alone in an empty folder → runs, old-style packages too", async () => {
    const bundle = await buildProgram();
    const alone = join(folder, "alone");
    await cp(dirname(bundle.program), alone, { recursive: true });
    await rm(join(folder, "node_modules"), { recursive: true });
    const start = join(alone, "endpoint-operator.js");
    expect((await run(process.execPath, [start], { cwd: "/" })).stdout).toBe("7.8.9\n");
    expect((await run(process.execPath, [start, "part"], { cwd: "/" })).stdout).toBe(
      "basename of the folder: chunks\n",
    );
  });

  test("the file to run → executable, with a shebang, and without the part it loads later", async () => {
    const bundle = await buildProgram();
    await access(bundle.program, 1);
    const text = await readFile(bundle.program, "utf8");
    expect(text.startsWith("#!/usr/bin/env node\n")).toBe(true);
    expect(text).not.toContain("basename of the folder");
  });

  test("built twice → the same bytes, and nothing left of what was there", async () => {
    await buildProgram();
    const first = await contents(join(folder, "out"));
    await writeFile(join(folder, "out", "stale.js"), "");
    await buildProgram();
    expect(await contents(join(folder, "out"))).toEqual(first);
  });

  test("packages inside → in the notices with their licence, others not", async () => {
    const bundle = await buildProgram();
    expect([...bundle.licences]).toEqual([["old-style@1.0.1", "MIT"]]);
    const notices = await readFile(join(folder, "out", "THIRD-PARTY-NOTICES.txt"), "utf8");
    expect(notices).toContain("old-style@1.0.1 (MIT)\n\nDo as you like.\n");
  });

  test("a source that cannot be bundled → throws, and the last bundle stays", async () => {
    const { program: built } = await buildProgram();
    await expect(buildProgram({ "main.ts": 'import "./missing.ts";' })).rejects.toThrow("missing.ts");
    await access(built);
  });
});
