/** Runs everything that must hold before a commit: `npm run check`. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** One check. */
interface Step {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** The command with which a person sees or repairs the problem. */
  readonly remedy: string;
}

interface StepResult {
  readonly step: Step;
  readonly isWell: boolean;
  readonly seconds: number;
  readonly output: string;
}

const root = fileURLToPath(new URL("..", import.meta.url));
const tool = (name: string) => join(root, "node_modules/.bin", name);
const node = process.execPath;

/** The architecture test is one of the unit tests. */
const steps: readonly Step[] = [
  // With several threads, tsc checks shared types once in each. Here other checks need the other cores.
  { name: "types", command: tool("tsc"), args: ["--singleThreaded"], remedy: "npm run types" },
  { name: "lint", command: tool("biome"), args: ["check", "--error-on-warnings"], remedy: "npm run lint -- --write" },
  { name: "generated files", command: node, args: ["tools/generate.ts", "--check"], remedy: "npm run generate" },
  {
    name: "unit tests",
    command: node,
    args: [join("node_modules", "vitest", "vitest.mjs"), "run", "--project", "unit", "--reporter=dot"],
    remedy: "npm test -- --tier unit",
  },
];

/** Runs all checks at the same time, so the duration is that of the slowest one. */
async function check(): Promise<readonly StepResult[]> {
  return Promise.all(
    steps.map(async (step) => {
      const result = await run(step);
      const word = result.isWell ? "ok    " : "FAILED";
      console.log(`${word} ${step.name} (${result.seconds.toFixed(1)} s)`);
      return result;
    }),
  );
}

function run(step: Step): Promise<StepResult> {
  const startedMs = performance.now();
  const { promise, resolve } = Promise.withResolvers<StepResult>();
  const child = spawn(step.command, step.args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  const chunks: Buffer[] = [];
  const end = (isWell: boolean, more = "") => {
    const output = `${Buffer.concat(chunks).toString("utf8")}${more}`;
    resolve({ step, isWell, seconds: (performance.now() - startedMs) / 1000, output });
  };
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => chunks.push(chunk));
  child.on("error", (error) => end(false, error.message));
  child.on("close", (code) => end(code === 0));
  return promise;
}

if (!existsSync(tool("tsc"))) {
  console.error("node_modules is missing; run: npm ci");
  process.exit(1);
}
const failed = (await check()).filter((result) => !result.isWell);
for (const { step, output } of failed) {
  console.log(`\n--- ${step.name} failed; alone: ${step.remedy} ---\n${output.trim()}`);
}
if (failed.length > 0) {
  console.log(`\nfailed: ${failed.map(({ step }) => step.name).join(", ")}`);
  process.exitCode = 1;
}
