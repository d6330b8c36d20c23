/** Tests the workflows for GitHub Actions. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { findAsset } from "../../../tools/assets/resolve-assets.ts";
import { runCommand } from "../../../tools/assets/run-command.ts";

const pathOf = (name: string) => fileURLToPath(new URL(`../../../.github/workflows/${name}.yaml`, import.meta.url));
const workflow = pathOf("release");
const workflows = [workflow, pathOf("test")];

test("the workflows → actionlint finds nothing", async (context) => {
  const actionlint = await findAsset("actionlint");
  if (actionlint === undefined) return context.skip("there is no actionlint; run: npm run assets -- --with actionlint");
  const args = ["-no-color", "-shellcheck=", "-pyflakes=", ...workflows];
  expect(await runCommand({ command: actionlint, args })).toBe("");
});

interface Step {
  readonly run?: string;
  readonly uses?: string;
}

async function stepsOf(file: string): Promise<readonly Step[]> {
  const { jobs } = parse(await readFile(file, "utf8")) as { jobs: Record<string, { steps: readonly Step[] }> };
  return Object.values(jobs).flatMap(({ steps }) => steps);
}

/** The commands of this repository in a workflow. */
async function npmCommands(file: string): Promise<readonly string[]> {
  const commands = (await stepsOf(file)).flatMap(({ run }) => run ?? []);
  return commands.filter((command) => /^npm (run|test)/.test(command));
}

test("the release workflow → makes everything by npm run release and npm run docs", async () => {
  expect(await npmCommands(workflow)).toEqual([
    expect.stringMatching(/^npm run release -- --registry /),
    "npm run docs",
  ]);
});

test("the workflow for pull requests → checks, tests and builds by commands that package.json has", async () => {
  const all = (await stepsOf(pathOf("test"))).flatMap(({ run }) => run ?? []);
  expect(all).toContain("bash .ci/run");
  const commands = await npmCommands(pathOf("test"));
  expect(commands).toEqual(expect.arrayContaining(["npm run check", "npm run docs", "npm run image"]));
  const { scripts } = JSON.parse(await readFile(new URL("../../../package.json", import.meta.url), "utf8"));
  const names = commands.map((command) => /^npm (?:run )?(\S+)/.exec(command)?.[1] ?? command);
  expect(names.filter((name) => !(name in scripts))).toEqual([]);
});

test("the actions of the workflows → named by commit, so that a moved tag changes nothing", async () => {
  const steps = (await Promise.all(workflows.map(stepsOf))).flat();
  const actions = steps.flatMap(({ uses }) => uses ?? []);
  expect(actions.length).toBeGreaterThan(0);
  expect(actions.filter((action) => !/^actions\/[\w-]+@[0-9a-f]{40}$/.test(action))).toEqual([]);
});
