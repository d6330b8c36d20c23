/** Tests the release workflow. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { findAsset } from "../../../tools/assets/resolve-assets.ts";
import { runCommand } from "../../../tools/assets/run-command.ts";

const workflow = fileURLToPath(new URL("../../../.github/workflows/release.yaml", import.meta.url));

test("the release workflow → actionlint finds nothing", async (context) => {
  const actionlint = await findAsset("actionlint");
  if (actionlint === undefined) return context.skip("there is no actionlint; run: npm run assets -- --with actionlint");
  const args = ["-no-color", "-shellcheck=", "-pyflakes=", workflow];
  expect(await runCommand({ command: actionlint, args })).toBe("");
});

interface Step {
  readonly run?: string;
  readonly uses?: string;
}

async function stepsOfWorkflow(): Promise<readonly Step[]> {
  const { jobs } = parse(await readFile(workflow, "utf8")) as { jobs: Record<string, { steps: readonly Step[] }> };
  return Object.values(jobs).flatMap(({ steps }) => steps);
}

test("the release workflow → makes everything by npm run release", async () => {
  const commands = (await stepsOfWorkflow()).flatMap(({ run }) => run ?? []);
  const making = commands.filter((command) => !/^(sudo apt-get|npm ci|docker login)/.test(command));
  expect(making).toEqual([expect.stringMatching(/^npm run release -- --registry /)]);
});

test("the actions of the release workflow → named by commit, so that a moved tag changes nothing", async () => {
  const actions = (await stepsOfWorkflow()).flatMap(({ uses }) => uses ?? []);
  expect(actions.length).toBeGreaterThan(0);
  expect(actions.filter((action) => !/^actions\/[\w-]+@[0-9a-f]{40}$/.test(action))).toEqual([]);
});
