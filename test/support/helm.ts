/** Runs Helm in tests. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";
import { findAsset } from "../../tools/assets/resolve-assets.ts";
import { CommandError, runCommand } from "../../tools/assets/run-command.ts";

/**
 * Helm with its own settings. It returns its standard output.
 * @throws CommandError with its last lines
 */
export type Helm = (args: readonly string[], env?: NodeJS.ProcessEnv) => Promise<string>;

/**
 * Makes a Helm with its own settings, which are removed when the test ends. Without Helm the test is skipped, with the
 * reason.
 * @param context the context of the running test
 */
export async function helmOf(context: { skip(note: string): never | undefined }): Promise<Helm> {
  const command = await findAsset("helm");
  if (command === undefined) {
    context.skip("there is no helm; run: npm run assets -- --with helm");
    throw new Error("a skipped test goes no further");
  }
  const home = await mkdtemp(path.join(tmpdir(), "endpoint-operator-helm-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const own = { HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home, HELM_DATA_HOME: home };
  return (args, env = {}) => runCommand({ command, args, env: { ...process.env, ...own, ...env } });
}

/** Returns the text with which Helm refuses the values; empty if it accepts them. */
export async function refusalOf(run: Promise<unknown>): Promise<string> {
  try {
    await run;
    return "";
  } catch (error) {
    if (error instanceof CommandError) return error.message;
    throw error;
  }
}
