/** Tests the command line of the bundled program. */
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import type { ProcessExit } from "../../tools/process/guarded-process.ts";
import { bareEnvironment, bundledProgram, startProgram } from "../support/e2e-program.ts";
import { newApiKey } from "../support/e2e-sandbox.ts";
import { saveOutput } from "../support/outputs.ts";

interface Ended extends ProcessExit {
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the bundled program to its end. */
async function run(args: readonly string[], settings: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const program = await startProgram({ ...bundledProgram(...args), env: { ...bareEnvironment, ...settings } });
  const exit = await program.exited;
  saveOutput("logs", program.stdout() + program.stderr());
  return { ...exit, stdout: program.stdout(), stderr: program.stderr() };
}

describe("wrong or missing settings", () => {
  test("run without any setting → exit code 2, one message that names each missing one", async () => {
    const { code, stdout, stderr } = await run(["run"]);
    expect(code).toBe(2);
    expect(stdout).toBe("");
    for (const name of ["CONTROL_PLANE_URL", "CONTROL_PLANE_API_KEY_FILE", "CONTROL_PLANE_API_KEY"]) {
      expect(stderr).toContain(name);
    }
    expect(stderr.match(/bad configuration/g)).toHaveLength(1);
  });

  test.each([
    ["no kubeconfig and no pod around", {}],
    ["a kubeconfig that is not there", { KUBECONFIG: "/nonexistent/kubeconfig" }],
  ])("run with %s → exit code 2 and why", async (_, settings) => {
    const { code, stderr } = await run(["run"], {
      CONTROL_PLANE_URL: "http://127.0.0.1:9/api/v2",
      CONTROL_PLANE_API_KEY: newApiKey(),
      ...settings,
    });
    expect(stderr).toMatch(/kubeconfig/i);
    expect(code).toBe(2);
  });

  test.each([[["nonsense"]], [["run", "--wrong"]], [[]]])(
    "%j, which means nothing → exit code 2 and a hint",
    async (args) => {
      const { code, stderr } = await run(args);
      expect(code).toBe(2);
      expect(stderr).not.toBe("");
    },
  );
});

test("an older Node → exit code 2, and one line that says what to do", async () => {
  const preload = 'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.19.0" } })';
  const { code, stderr } = await run(["run"], {
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(preload)}`,
  });
  expect({ code, lines: stderr.trimEnd().split("\n").length }).toEqual({ code: 2, lines: 1 });
  expect(stderr).toMatch(/needs Node 22\.19 or later, and this is Node 20\.19\.0\. Install a newer Node/);
});

describe("questions", () => {
  test.each([[["--help"]], [["run", "--help"]], [["sandbox", "--help"]]])(
    "%j → exit code 0 and the usage",
    async (args) => {
      const { code, stdout, stderr } = await run(args);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toContain("Usage: endpoint-operator");
    },
  );

  test("--version → exit code 0 and the version of the package", async () => {
    const { version } = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8"));
    expect(await run(["--version"])).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: "" });
  });
});
