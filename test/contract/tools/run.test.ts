/** Tests the command `npm test`. */
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { startGuardedProcess } from "../../../tools/process/guarded-process.ts";

const runner = fileURLToPath(new URL("../../../tools/test/run.ts", import.meta.url));

/**
 * Runs `npm test` with these arguments, without a cache and without Go.
 * @returns its exit code and the lines of its output: of standard output and standard error in their order
 */
async function runTests(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<{ code: number | null; lines: string[] }> {
  const home = await mkdtemp(path.join(tmpdir(), "endpoint-operator-assets-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const bin = path.join(home, "bin");
  await mkdir(bin);
  const folders = { PATH: bin, HOME: home, XDG_CACHE_HOME: path.join(home, "cache") };
  const proxies = { HTTPS_PROXY: "http://127.0.0.1:1", https_proxy: "http://127.0.0.1:1" };
  const file = path.join(home, "output.txt");
  const child = await startGuardedProcess({
    command: process.execPath,
    args: [runner, ...args],
    env: { ...folders, ...proxies, ...env },
    output: { file },
  });
  const { code } = await child.exited;
  return { code, lines: (await readFile(file, "utf8")).trimEnd().split("\n") };
}

describe("npm test", () => {
  it("the tool of a tier cannot be had → skipped, with the reason and the way out; no failure", async () => {
    const { code, lines } = await runTests(["--tier", "integration"], {});
    expect(lines.at(-1)).toBe("0 passed, 0 failed, 1 skipped");
    expect(lines.join("\n")).toMatch(/integration: skipped[\s\S]*is missing/);
    expect(lines.join("\n")).toContain("npm run assets");
    expect(code).toBe(0);
  });

  it("the same with CI=true → a failure", async () => {
    const { code, lines } = await runTests(["--tier", "integration"], { CI: "true" });
    expect(lines.at(-1)).toBe("0 passed, 1 failed");
    expect(code).toBe(1);
  });

  it("two tiers of two queues → both are counted, and the output of the second queue stands in one piece", async () => {
    const args = ["--tier", "contract", "--tier", "unit", "unit/tools/search-outputs", "contract/tools/download"];
    const { code, lines } = await runTests(args, {});
    const headings = lines.filter((line) => line.startsWith("=="));
    expect(headings).toEqual(["== unit ==", "== contract, beside the others =="]);
    expect(lines.filter((line) => /Test Files .*1 passed/.test(line))).toHaveLength(2);
    expect(lines.at(-1)).toMatch(/^\d+ passed, 0 failed/);
    expect(code).toBe(0);
  });

  it.each([[["--tier", "nonsense"]], [["--nonsense"]]])("%o → exit code 2, and still a last line", async (args) => {
    const { code, lines } = await runTests(args, {});
    expect(lines.at(-1)).toBe("0 passed, 1 failed");
    expect(code).toBe(2);
  });
});
